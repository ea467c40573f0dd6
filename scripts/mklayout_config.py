# SPDX-License-Identifier: MIT
"""Generators of the configuration and the command line, from fs-layout/config.toml."""
import json

from mklayout_util import HEAD, c_str, check, fail, ident, load, roff

KEY_KEYS = {"name", "type", "default", "min", "max", "values", "nullable", "effect", "doc"}
OPTION_KEYS = {"name", "short", "alias", "arg", "key", "with", "doc"}
TYPES = {"bool": bool, "int": int, "float": float, "string": str, "duration": (int, float), "enum": str,
         "strings": list, "objects": list, "list": list}
ACTIONS = ("run", "offline", "view", "from", "dump", "verify")
NO_EFFECT = "Accepted, without effect."


def keys(layout):
    path = layout / "config.toml"
    out = load(path)["key"]
    seen, sections, last = set(), set(), None
    for k in out:
        where = f"{path}: key '{k.get('name')}'"
        check(where, k, KEY_KEYS, ("name", "type", "doc"))
        if k["name"] in seen:
            fail(where, "twice")
        seen.add(k["name"])
        # a section is written as one JSON object: its keys have to stand together
        section = k["name"].rpartition(".")[0]
        if section != last and section in sections:
            fail(where, f"does not stand with the other keys of '{section}'")
        sections.add(section)
        last = section
        check_key(where, k)
    return out


def check_key(where, k):
    if k["type"] not in TYPES:
        fail(where, f"unknown type '{k['type']}'")
    if "default" not in k:
        if not k.get("nullable"):
            fail(where, "no default and not nullable")
    elif not isinstance(k["default"], TYPES[k["type"]]):
        fail(where, "the default is of another type")
    if (k["type"] == "enum") != ("values" in k):
        fail(where, "an enum, and only an enum, has 'values'")


def options(layout):
    path = layout / "config.toml"
    names = {k["name"] for k in keys(layout)}
    out, seen = load(path)["option"], set()
    for o in out:
        where = f"{path}: option '{o.get('name')}'"
        check(where, o, OPTION_KEYS, ("name", "doc"))
        if "key" in o and (o["key"] not in names or "arg" not in o):
            fail(where, "its key is unknown, or it has no arg")
        for n in (o["name"], o.get("short"), o.get("alias")):
            if n and n in seen:
                fail(where, f"'{n}' twice")
            seen.add(n)
        for a in o.get("with", []):
            if a not in ACTIONS:
                fail(where, f"unknown action '{a}' (known: {', '.join(ACTIONS)})")
    return out


def key_id(name):
    return "CONFIG_" + ident(name.replace("_config", ""))


def config_h(layout):
    o = [HEAD, "#pragma once\n", "enum config_key {"]
    ids = [key_id(k["name"]) for k in keys(layout)]
    if len(set(ids)) != len(ids):
        fail("config.toml", "two keys share a C name")
    o += [f"\t{i}," for i in ids]
    o += ["\tCONFIG_KEY_COUNT,\n};\n"]
    o += ["enum config_type {"] + [f"\tCONFIG_TYPE_{t.upper()}," for t in TYPES] + ["\tCONFIG_TYPE_COUNT,\n};\n"]
    o += ["enum option_action {"] + [f"\tOPTION_ACTION_{a.upper()}," for a in ACTIONS]
    o += ["\tOPTION_ACTION_HELP,\n\tOPTION_ACTION_VERSION,\n\tOPTION_ACTION_COUNT,\n};\n"]
    o += ["enum option_id {"] + [f"\tOPTION_{ident(x['name'])}," for x in options(layout)]
    o += ["\tOPTION_COUNT,\n};"]
    return "\n".join(o) + "\n"


def bounds(k):
    scale = 1e9 if k["type"] == "duration" else 1
    return [repr(float(k[n]) * scale) if n in k else f"{sign}HUGE_VAL" for n, sign in (("min", "-"), ("max", ""))]


def config_c(layout):
    o = [HEAD, '#include "daemon/config.h"\n#include "daemon/options.h"\n\n#include <math.h>\n']
    rows = []
    for k in keys(layout):
        i = key_id(k["name"])
        f = [f".name = {c_str(k['name'])}", f".type = CONFIG_TYPE_{k['type'].upper()}",
             f".fallback = {c_str(json.dumps(k.get('default')))}",
             ".min = {}, .max = {}".format(*bounds(k)), f".doc = {c_str(k['doc'])}"]
        if k.get("nullable"):
            f.append(".nullable = true")
        if k.get("effect", True):
            f.append(".effect = true")
        if "values" in k:
            var = f"values_{i.lower()}"
            o.append(f"static const char *const {var}[] = {{" + ", ".join(c_str(v) for v in k["values"]) + "};")
            f.append(f".choices = {var}, .n_choices = {len(k['values'])}")
        rows.append(f"\t[{i}] = {{" + ",\n\t\t".join(f) + "},")
    o += ["\nconst struct config_key_row config_keys[CONFIG_KEY_COUNT] = {"] + rows + ["};\n"]
    o.append("const struct option_row option_rows[OPTION_COUNT] = {")
    for x in options(layout):
        f = [f".name = {c_str(x['name'])}", f".key = {key_id(x['key']) if 'key' in x else 'CONFIG_KEY_COUNT'}",
             f".doc = {c_str(x['doc'])}"]
        f += [f".{n} = {c_str(x[n])}" for n in ("alias", "arg") if n in x]
        if "short" in x:
            f.append(f".short_name = '{x['short']}'")
        if x.get("arg", "").startswith("["):
            f.append(".arg_optional = true")
        f.append(".actions = " + (" | ".join(f"1u << OPTION_ACTION_{a.upper()}" for a in x.get("with", [])) or "~0u"))
        o.append(f"\t[OPTION_{ident(x['name'])}] = {{" + ",\n\t\t".join(f) + "},")
    o.append("};")
    return "\n".join(o) + "\n"


# --- documents ---------------------------------------------------------------------------------
def number(v):
    return str(int(v)) if float(v).is_integer() else str(v)


def kind_text(k):
    """What may stand there, as in the error messages of the parser."""
    lo, hi = k.get("min"), k.get("max")
    span = f" from {number(lo)} to {number(hi)}" if lo is not None and hi is not None else \
        f", at least {number(lo)}" if lo is not None else ""
    text = {"bool": "true or false", "int": "whole number" + span, "float": "number" + span,
            "string": "string", "duration": "duration, seconds" + span + ', or text such as "500ms"',
            "enum": " or ".join(k.get("values", [])), "strings": "list of strings",
            "objects": "list of objects", "list": "list"}[k["type"]]
    return text + (", or null" if k.get("nullable") else "")


def option_head(x):
    arg = x.get("arg", "")
    opt = arg[1:-1] if arg.startswith("[") else arg
    tail = "" if not arg else f"[=\\fI{roff(opt)}\\fR]" if opt != arg else f" \\fI{roff(arg)}\\fR"
    names = ([f"\\fB\\-{x['short']}\\fR"] if "short" in x else []) + [f"\\fB\\-\\-{roff(x['name'])}\\fR"]
    names += [f"\\fB\\-\\-{roff(x['alias'])}\\fR"] if "alias" in x else []
    return ", ".join(names) + tail


def man1_options(layout):
    o = [".SH OPTIONS", "Long options take their value as \\-\\-option=value or \\-\\-option value."]
    for x in options(layout):
        o += [".TP", option_head(x), roff(x["doc"][0].upper() + x["doc"][1:] + ".")]
        if "key" in x:
            o.append(f"Overrides \\fB{roff(x['key'])}\\fR.")
    return o


def man1_keys(layout):
    o = [".SH CONFIGURATION",
         "The file given by \\-\\-config is JSON, YAML or TOML and at most 1 MiB. An unknown key, a value of",
         "another type or out of its range ends the program with a line that names the file, the line and the",
         "mend. Defaults are overridden by the file, the file by the command line. YAML anchors, aliases and",
         "tags are not supported.",
         "Keys marked \"without effect\" are those of witty\\-profiler that have no meaning here (yet): they are",
         "accepted, so that its files load."]
    section = None
    for k in keys(layout):
        head, _, leaf = k["name"].rpartition(".")
        if head != section:
            o.append(f".SS {roff(head) if head else 'Top level'}")
            section = head
        doc = k["doc"][0].upper() + k["doc"][1:] + "." + ("" if k.get("effect", True) else " " + NO_EFFECT)
        o += [".TP", f"\\fB{roff(leaf)}\\fR ({roff(kind_text(k))})", roff(doc),
              ".br", f"Default: {roff(json.dumps(k.get('default')))}"]
        o += [f".br\nOption: \\-\\-{roff(x['name'])}" for x in options(layout) if x.get("key") == k["name"]]
    return o


def man1(layout):
    o = ['.\\" SPDX-License-Identifier: MIT', '.\\" Generated by scripts/mklayout.py from fs-layout',
         '.TH WITTYFS 1 "" "wittyfs" "User Commands"', ".SH NAME",
         "wittyfs \\- mount the live topology of this machine as a directory tree",
         ".SH SYNOPSIS", "\\fBwittyfs\\fR [\\fIoptions\\fR] [\\fImountpoint\\fR]",
         ".SH DESCRIPTION",
         "Shows which process and thread talks to which, through which socket, on which CPU and NUMA node, in",
         "which container, as a tree of small files, read with ls, cat, find, grep and jq and steered with echo.",
         "The tree is described in",
         ".BR wittyfs (5).",
         "Without options it mounts on mount_config.mountpoint and stays in the foreground; SIGTERM and SIGINT",
         "unmount and leave nothing behind."]
    o += man1_options(layout) + man1_keys(layout)
    o += [".SH ENVIRONMENT", ".TP", "\\fBWITTY_PROFILER_ROOT_LOGGER_LEVEL\\fR",
          "Log level, overridden by log_level of the configuration file and by \\-\\-log\\-level.",
          ".SH EXIT STATUS", "0 on success, 1 on an error, which is told in one line on stderr.",
          ".SH EXAMPLES", ".nf",
          "wittyfs \\-\\-daemon /run/wittyfs",
          "wittyfs \\-\\-pid 1234,1250 \\-\\-interval 500ms ~/topology",
          "wittyfs \\-\\-offline \\-\\-duration 30 \\-\\-output /tmp/graph",
          "wittyfs \\-\\-from topology_graph.json ~/topology",
          "wittyfs \\-\\-config site.yaml \\-\\-dump\\-config", ".fi",
          ".SH SEE ALSO", ".BR wittyfs (5)"]
    return "\n".join(o) + "\n"


def sample(layout):
    """The keys that do something, with their defaults."""
    tree = {}
    for k in keys(layout):
        if not k.get("effect", True):
            continue
        *path, leaf = k["name"].split(".")
        at = tree
        for p in path:
            at = at.setdefault(p, {})
        at[leaf] = k.get("default")
    return json.dumps(tree, indent=2) + "\n"
