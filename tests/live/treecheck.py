# SPDX-License-Identifier: MIT
"""Compares a mount with the schema: treecheck.py CHECK MOUNT [EXPECTED_TREE]

fixed   the fixed part shows just the entries of the expected tree
attrs   nodes and edges show no file that the schema does not know, and the ones that each must have
text    every file ends in a newline and st_size is what reading gives (collection must be stopped)
links   symbolic links are relative and lead to a node or edge of the mount (collection stopped)
modes   owner and mode bits
names   directory names are safe and short
"""
import os
import re
import stat
import sys

NODE_BUILTIN = {"entity_type", "entity_namespace", "global_id", "node.json", "details", "out", "in", "edges"}
NODE_MUST = {"entity_type", "entity_namespace", "global_id", "node.json"}
EDGE_BUILTIN = {"edge_type", "weight", "edge.json", "source", "target", "nodes"}
EDGE_MUST = {"edge_type", "edge.json"}
ATTR_MUST = {"process": {"pid", "ppid", "name", "state", "start_time_ticks"}, "thread": {"tid", "name"},
             "socket": {"socket_type", "socket_addr", "socket_port"}, "numa": {"numa_id"}}
RAW = {"argv"}  # exact bytes, not text


def expected(path):
    fixed, collector, attrs = {}, set(), {}
    for line in open(path, encoding="utf-8"):
        kind, *rest = line.split()
        if kind in ("dir", "file"):
            fixed[rest[0]] = kind
        elif kind == "collector":
            collector.add(rest[0])
        else:
            attrs.setdefault((kind, rest[0]), set()).add(rest[1])
    return fixed, collector, attrs


def children(fixed, parent):
    return {p.rpartition("/")[2] for p in fixed if p.rpartition("/")[0] == parent}


def check_fixed(mnt, tree):
    fixed, collector, _ = tree
    listed = {"nodes", "edges", "by", "control", "", "collectors"}
    for p, kind in fixed.items():
        full = f"{mnt}/{p}"
        if not os.path.lexists(full):
            yield f"{p}: missing"
        elif os.path.isdir(full) != (kind == "dir"):
            yield f"{p}: is not a {kind}"
    for d in listed - {"collectors"}:
        for extra in set(os.listdir(f"{mnt}/{d}")) - children(fixed, d):
            yield f"{d}/{extra}: not in the schema"
    names = os.listdir(f"{mnt}/collectors")
    if not {"process", "socket"} <= set(names):
        yield f"collectors: {names}"
    for n in names:
        if set(os.listdir(f"{mnt}/collectors/{n}")) != collector:
            yield f"collectors/{n}: shows {sorted(os.listdir(f'{mnt}/collectors/{n}'))}"


def check_attrs(mnt, tree):
    seen = 0
    for top, kind, builtin, must in (("nodes", "node", NODE_BUILTIN, NODE_MUST), ("edges", "edge", EDGE_BUILTIN, EDGE_MUST)):
        for t in os.listdir(f"{mnt}/{top}"):
            known = tree[2].get((kind, t), set()) | builtin
            need = must | (ATTR_MUST.get(t, set()) if kind == "node" else set())
            for key in os.listdir(f"{mnt}/{top}/{t}"):
                try:
                    names = set(os.listdir(f"{mnt}/{top}/{t}/{key}"))
                except FileNotFoundError:
                    continue
                seen += 1
                if names - known:
                    yield f"{top}/{t}/{key}: unknown {sorted(names - known)}"
                if need - names:
                    yield f"{top}/{t}/{key}: lacks {sorted(need - names)}"
                if kind == "edge" and not ({"source", "target"} <= names or "nodes" in names):
                    yield f"{top}/{t}/{key}: no ends"
    if seen < 50:
        yield f"only {seen} nodes and edges"


def walk(mnt, limit):
    """Entries (path, lstat), at most `limit` below each directory of the second level."""
    for base, dirs, files in os.walk(mnt):
        rel = base[len(mnt) + 1:]
        if re.fullmatch(r"(nodes|edges|by)/[^/]*", rel):
            dirs.sort()
            del dirs[limit:]
        for n in dirs + files:
            p = f"{base}/{n}"
            yield p, os.lstat(p)


def check_text(mnt, _tree):
    seen = 0
    for p, st in walk(mnt, 60):
        if not stat.S_ISREG(st.st_mode):
            continue
        with open(p, "rb") as f:
            data = f.read()
        seen += 1
        rel, name = p[len(mnt) + 1:], p.rpartition("/")[2]
        if not rel.startswith("control/") or name == "last_result":
            if os.lstat(p).st_size != len(data):
                yield f"{rel}: st_size {os.lstat(p).st_size}, has {len(data)} bytes"
        if name not in RAW and data and not data.endswith(b"\n"):
            yield f"{rel}: does not end in a newline: {data[-20:]!r}"
        if name not in RAW and not data and name != "lost":
            yield f"{rel}: empty (an unknown value has no file)"
    if seen < 500:
        yield f"only {seen} files"


def check_links(mnt, _tree):
    seen = 0
    for p, st in walk(mnt, 200):
        if not stat.S_ISLNK(st.st_mode):
            continue
        seen += 1
        target, real = os.readlink(p), os.path.realpath(p)
        rel = p[len(mnt) + 1:]
        if target.startswith("/"):
            yield f"{rel}: absolute link {target}"
        elif not re.match(re.escape(mnt) + "/(nodes|edges)/[^/]+/[^/]+$", real) or not os.path.isdir(real):
            yield f"{rel}: leads to {target}, which is no node"
        if st.st_size != len(os.fsencode(target)):
            yield f"{rel}: st_size {st.st_size} of a link of {len(target)} bytes"
    if seen < 100:
        yield f"only {seen} links"


def check_modes(mnt, _tree):
    for p, st in walk(mnt, 20):
        mode, rel = stat.S_IMODE(st.st_mode), p[len(mnt) + 1:]
        if stat.S_ISLNK(st.st_mode):
            continue
        want = 0o550 if stat.S_ISDIR(st.st_mode) else 0o660 if rel.startswith("control/") and rel != "control/last_result" else 0o440
        if mode != want or st.st_uid != 0:
            yield f"{rel}: mode {mode:o} owner {st.st_uid}, wanted {want:o} of root"


def check_names(mnt, _tree):
    safe = re.compile(r"[A-Za-z0-9._,:%@+-]+")
    for top in ("nodes", "edges"):
        for t in os.listdir(f"{mnt}/{top}"):
            for key in os.listdir(f"{mnt}/{top}/{t}"):
                if not safe.fullmatch(key) or len(key) > (200 if top == "nodes" else 255):
                    yield f"{top}/{t}/{key}: bad name of {len(key)} bytes"


def main():
    check, mnt = sys.argv[1], sys.argv[2].rstrip("/")
    tree = expected(sys.argv[3]) if len(sys.argv) > 3 else None
    bad = list(globals()["check_" + check](mnt, tree))
    for line in bad[:20]:
        print(line)
    if len(bad) > 20:
        print(f"... and {len(bad) - 20} more")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
