#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Generates tables, documentation and expectations from fs-layout/*.toml.

    mklayout.py LAYOUT_DIR KIND OUTPUT

KIND: schema.h schema.c tree.h tree.c config.h config.c man1 man5 readme expected sample
An entry without `doc`, with an unknown key or a wrong type stops the build with the file's name.
"""
import pathlib
import re
import sys

sys.dont_write_bytecode = True

import mklayout_config
from mklayout_util import HEAD, c_str, check, fail, ident, load, roff

LAYOUT = pathlib.Path()
ATTR_KEYS = {"name", "type", "doc", "reference", "default", "json", "json_as", "fs"}
ENTITY_KEYS = {"name", "short", "order", "doc", "key", "unique", "text", "identity", "attr", "index",
               "sticky_key"}
EDGE_KEYS = {"name", "short", "order", "family", "doc", "describe", "directed", "attr"}
ENTRY_KEYS = {"path", "doc", "render", "cache", "listing", "entity", "control"}
TYPES = {"s64": "VALUE_S64", "u64": "VALUE_U64", "f64": "VALUE_F64", "bool": "VALUE_BOOL",
         "bytes": "VALUE_BYTES", "json": "VALUE_JSON", "ref": "VALUE_REF"}
COMMON_ENTITY = [
    {"name": "entity_namespace", "type": "bytes", "reference": True, "default": "local", "fs": "builtin",
     "doc": "local, or the host that reported it"},
    {"name": "details", "type": "json", "reference": True, "default": "{}", "fs": "builtin",
     "doc": "further details that a source gave"},
    {"name": "extra", "type": "json", "json": "splice", "fs": "hidden",
     "doc": "members of a loaded file that the schema does not know"},
]
COMMON_EDGE = [
    {"name": "weight", "type": "f64", "reference": True, "default": "null", "doc": "weight of the edge"},
    {"name": "extra", "type": "json", "json": "splice", "fs": "hidden",
     "doc": "members of a loaded file that the schema does not know"},
]


def load_types(folder, allowed, common):
    out = []
    for p in sorted((LAYOUT / folder).glob("*.toml")):
        t = load(p)
        check(p, t, allowed, ("name", "short", "order", "doc"))
        t["attr"] = common + t.get("attr", [])
        seen = set()
        for a in t["attr"]:
            where = f"{p}: attribute '{a.get('name')}'"
            check(where, a, ATTR_KEYS, ("name", "type", "doc"))
            if a["type"] not in TYPES:
                fail(where, f"unknown type '{a['type']}'")
            if a["name"] in seen:
                fail(where, "twice")
            seen.add(a["name"])
        if len(t["attr"]) > 64:
            fail(p, "more than 64 attributes")
        out.append(t)
    out.sort(key=lambda t: t["order"])
    for what in ("name", "short", "order"):
        if len({t[what] for t in out}) != len(out):
            fail(folder, f"two types share a '{what}'")
    return out


def entities():
    return load_types("entities", ENTITY_KEYS, COMMON_ENTITY)


def edges():
    return load_types("edges", EDGE_KEYS, COMMON_EDGE)


def entries():
    out = []
    for p in ("root", "nodes", "control", "collectors"):
        path = LAYOUT / "dirs" / f"{p}.toml"
        for e in load(path)["entry"]:
            check(f"{path}: {e.get('path')}", e, ENTRY_KEYS, ("path", "doc"))
            out.append(e)
    return out


def default_value(a):
    """(kind, C initialiser of the default) of a reference attribute; None without one."""
    if "default" not in a:
        return None
    d = a["default"]
    if d == "null":
        return "VALUE_NULL", ""
    if a["type"] in ("bytes", "json"):
        return TYPES[a["type"]], f".default_text = {c_str(str(d))}"
    if a["type"] == "f64":
        return "VALUE_F64", f".default_number = {float(d)}"
    return TYPES[a["type"]], f".default_number = {d}"


def json_path(a):
    p = a.get("json", a["name"])
    return [] if p in ("hidden", "splice") else p.split(".")


def attr_rows(attrs):
    rows = []
    for a in attrs:
        flags = []
        if a.get("reference"):
            flags.append("ATTR_REFERENCE")
        if a.get("json") == "splice":
            flags.append("ATTR_JSON_SPLICE")
        if a.get("json_as") == "strings":
            flags.append("ATTR_JSON_STRINGS")
        if a.get("fs") in ("hidden", "builtin"):
            flags.append("ATTR_FS_HIDDEN")
        path = json_path(a)
        if len(path) > 4:
            fail(a["name"], "JSON path deeper than 4")
        f = [f".name = {c_str(a['name'])}", f".kind = {TYPES[a['type']]}",
             f".json_depth = {len(path)}",
             ".json_path = {" + ", ".join(c_str(x) for x in path) + "}" if path else "",
             f".flags = {' | '.join(flags) or '0'}", f".doc = {c_str(a['doc'])}"]
        d = default_value(a)
        if d:
            f += [f".default_kind = {d[0]}", d[1]]
        rows.append("\t{" + ", ".join(x for x in f if x) + "},")
    return "\n".join(rows)


def schema_h():
    out = [HEAD, "#pragma once\n"]
    for kind, types in (("ENTITY", entities()), ("EDGE", edges())):
        out.append(f"enum {kind.lower()}_type {{")
        out += [f"\t{kind}_{ident(t['short'])}," for t in types]
        out.append(f"\t{kind}_TYPE_COUNT,\n}};\n")
        out.append(f"enum {kind.lower()}_common_attr {{")
        out += [f"\t{kind}_{ident(a['name'])}_ATTR," for a in (COMMON_ENTITY if kind == "ENTITY" else COMMON_EDGE)]
        out.append("};\n")
        for t in types:
            common = COMMON_ENTITY if kind == "ENTITY" else COMMON_EDGE
            own = t["attr"][len(common):]
            if not own:
                continue
            pre = ident(t["short"]) if kind == "ENTITY" else "EDGE_" + ident(t["short"])
            out.append(f"enum {pre.lower()}_attr {{")
            for i, a in enumerate(own):
                out.append(f"\t{pre}_{ident(a['name'])}" + (f" = {len(common)}," if i == 0 else ","))
            out.append("};\n")
    return "\n".join(out)


def identity_rows(t):
    names = [a["name"] for a in t["attr"]]
    rows = []
    for group in t["identity"]:
        for n in group:
            if n not in names:
                fail(t["name"], f"identity names the unknown attribute '{n}'")
        rows.append("{" + ", ".join(str(names.index(n)) for n in group) + f"}}")
    lens = ", ".join(str(len(g)) for g in t["identity"])
    return "{" + ", ".join(rows) + "}", "{" + lens + "}", len(t["identity"])


def schema_c():
    out = [HEAD, '#include "graph/schema.h"\n']
    for kind, types in (("entity", entities()), ("edge", edges())):
        for t in types:
            out.append(f"static const struct attr_schema {kind}_{t['short']}_attrs[] = {{")
            out.append(attr_rows(t["attr"]))
            out.append("};\n")
        out.append(f"const struct type_schema {kind}_types[] = {{")
        for i, t in enumerate(types):
            f = [f".name = {c_str(t['name'])}", f".short_name = {c_str(t['short'])}", f".index = {i}",
                 f".doc = {c_str(t['doc'])}", f".attrs = {kind}_{t['short']}_attrs",
                 f".n_attrs = {len(t['attr'])}"]
            if kind == "entity":
                ids, lens, n = identity_rows(t)
                names = [a["name"] for a in t["attr"]]
                f += [f".abbr = {c_str(re.sub('Entity$', '', t['name']))}",
                      ".key = {" + ", ".join(c_str(k) for k in t["key"]) + "}",
                      ".unique = {" + ", ".join(c_str(k) for k in t["unique"]) + "}",
                      f".identity = {ids}", f".identity_len = {lens}", f".n_identity = {n}"]
                if "text" in t:
                    f.append(f".text = {c_str(t['text'])}")
                f.append(f".index_attr = {names.index(t['index'][0]) if 'index' in t else -1}")
                f.append(f".sticky_attr = {names.index(t['sticky_key']) if 'sticky_key' in t else -1}")
            else:
                f += [f".abbr = {c_str(re.sub('Edge$', '', t['name']))}",
                      f".directed = {str(t.get('directed', True)).lower()}",
                      f".described = {str(t.get('describe', True)).lower()}", ".is_edge = true",
                      ".index_attr = -1", ".sticky_attr = -1"]
            out.append("\t{" + ",\n\t ".join(f) + "},")
        out.append("};\n")
    return "\n".join(out)


# --- the fixed tree ----------------------------------------------------------------------------
def fixed(e):
    """Entries that stand as they are: no part of the path is a placeholder."""
    return "<" not in e["path"]


def collector_files():
    return [e for e in entries() if e["path"].startswith("collectors/<name>/")]


def tree_h():
    out = [HEAD, "#pragma once\n", "enum tree_entry_id {", "\tTREE_ROOT,"]
    out += [f"\tTREE_{ident(e['path'])}," for e in entries() if fixed(e)]
    out += ["\tTREE_ENTRY_COUNT,\n};\n", "enum tree_collector_file {"]
    out += [f"\tTREE_COLLECTOR_{ident(e['path'].split('/')[-1])}," for e in collector_files()]
    out += ["\tTREE_COLLECTOR_FILE_COUNT,\n};\n", "enum tree_control {"]
    out += [f"\tCONTROL_{ident(e['path'].split('/')[-1])}," for e in entries() if "control" in e]
    out += ["\tCONTROL_COUNT,\n};"]
    return "\n".join(out) + "\n"


def tree_c():
    out = [HEAD, '#include "fs/tree.h"\n#include "fs/render.h"\n']
    paths = {"": "TREE_ROOT"}
    out.append("const struct tree_entry tree_entries[TREE_ENTRY_COUNT] = {")
    out.append('\t[TREE_ROOT] = {.name = "", .parent = TREE_ROOT, .kind = TREE_KIND_DIR, .doc = "top"},')
    for e in entries():
        if not fixed(e):
            continue
        parent, _, name = e["path"].rpartition("/")
        if parent not in paths:
            fail(e["path"], "its directory has no entry")
        paths[e["path"]] = f"TREE_{ident(e['path'])}"
        f = [f".name = {c_str(name)}", f".parent = {paths[parent]}", f".doc = {c_str(e['doc'])}"]
        if "render" in e:
            if e.get("cache") not in ("kernel", "generation", "never"):
                fail(e["path"], "cache must be kernel, generation or never")
            f += [".kind = TREE_KIND_FILE", f".cache = TREE_CACHE_{e['cache'].upper()}",
                  f".render = &render_{e['render']}"]
        elif "control" in e:
            f += [f".kind = TREE_KIND_CONTROL", f".control = CONTROL_{ident(name)}",
                  f".control_kind = TREE_{e['control'].upper()}"]
        else:
            f += [".kind = TREE_KIND_DIR", f".listing = TREE_LIST_{e.get('listing', 'entries').upper()}"]
            if "entity" in e:
                f.append(f".entity = ENTITY_{ident(e['entity'])}")
        out.append(f"\t[{paths[e['path']]}] = {{" + ", ".join(f) + "},")
    out.append("};\n")
    out.append("const struct tree_collector_entry tree_collector_entries[TREE_COLLECTOR_FILE_COUNT] = {")
    for e in collector_files():
        n = e["path"].split("/")[-1]
        out.append(f"\t[TREE_COLLECTOR_{ident(n)}] = {{.name = {c_str(n)}, .render = render_{e['render']}, .doc = {c_str(e['doc'])}}},")
    out.append("};")
    return "\n".join(out) + "\n"


# --- documents ---------------------------------------------------------------------------------
def readme_text():
    o = ["wittyfs: the live topology of this machine as a directory tree", "",
         "A node is a directory nodes/<type>/<key>, an edge is edges/<type>/<source>--<target>.",
         "Follow the links in out/ and in/ from node to node; by/ finds a node by number.",
         "A value that cannot be known has no file, or reads 'unknown'; collectors/*/reason says why.", "",
         "Files", ""]
    o += [f"  {e['path']:<34} {e['doc']}" for e in entries()]
    for kind, types in (("Nodes", entities()), ("Edges", edges())):
        o += ["", kind, ""]
        for t in types:
            o.append(f"  {t['short']} ({t['name']}): {t['doc']}")
            for a in t["attr"]:
                if a.get("fs") not in ("hidden", "builtin"):
                    o.append(f"    {a['name']:<32} {a['doc']}")
    return "\n".join(o) + "\n"


def readme():
    lines = readme_text().splitlines()
    return HEAD + '#include "fs/render.h"\n\nconst char tree_readme[] =\n' + "\n".join(
        "\t" + c_str(line + "\n").replace('"\n"', "") for line in lines) + ";\n"


def man5():
    o = ['.\\" SPDX-License-Identifier: MIT', '.\\" Generated by scripts/mklayout.py from fs-layout',
         '.TH WITTYFS 5 "" "wittyfs" "File Formats"', ".SH NAME", "wittyfs \\- the tree of a wittyfs mount",
         ".SH DESCRIPTION", roff("The live topology of a machine as a directory tree. Every path below is relative to the mount point."),
         ".SH FILES"]
    for e in entries():
        o += [".TP", f"\\fB{roff(e['path'])}\\fR", roff(e["doc"])]
    for kind, types in (("NODES", entities()), ("EDGES", edges())):
        o.append(f".SH {kind}")
        for t in types:
            o += [f".SS {roff(t['short'])} ({roff(t['name'])})", roff(t["doc"])]
            for a in t["attr"]:
                if a.get("fs") not in ("hidden", "builtin"):
                    o += [".TP", f"\\fB{roff(a['name'])}\\fR ({a['type']})", roff(a["doc"])]
    o += [".SH SEE ALSO", ".BR wittyfs (1)"]
    return "\n".join(o) + "\n"


def expected():
    """Paths that a fresh mount must show, and attribute files that each node type may show."""
    o = [f"{'dir' if not ('render' in e or 'control' in e) else 'file'} {e['path']}" for e in entries() if fixed(e)]
    o += [f"dir nodes/{t['short']}" for t in entities()] + [f"dir edges/{t['short']}" for t in edges()]
    o += [f"collector {e['path'].split('/')[-1]}" for e in collector_files()]
    for kind, types in (("node", entities()), ("edge", edges())):
        o += [f"{kind} {t['short']} {a['name']}" for t in types for a in t["attr"] if a.get("fs") not in ("hidden", "builtin")]
    return "\n".join(o) + "\n"


KINDS = {"schema.h": schema_h, "schema.c": schema_c, "tree.h": tree_h, "tree.c": tree_c, "man5": man5,
         "readme": readme, "expected": expected,
         **{kind: lambda make=make: make(LAYOUT) for kind, make in (
             ("config.h", mklayout_config.config_h), ("config.c", mklayout_config.config_c),
             ("man1", mklayout_config.man1), ("sample", mklayout_config.sample))}}

if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[2] not in KINDS:
        sys.exit(f"usage: mklayout.py LAYOUT_DIR {{{','.join(KINDS)}}} OUTPUT")
    LAYOUT = pathlib.Path(sys.argv[1])
    pathlib.Path(sys.argv[3]).write_text(KINDS[sys.argv[2]](), encoding="utf-8")
