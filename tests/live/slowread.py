# SPDX-License-Identifier: MIT
"""slowread.py MOUNT N: reads graph.json and graph.txt in N + 1 pieces with a trigger after each piece."""
import json
import os
import re
import sys

from wittyfs import Mount, fail

m, rounds = Mount(sys.argv[1]), int(sys.argv[2])


def read_slowly(name):
    fd = os.open(f"{m.path}/{name}", os.O_RDONLY)
    size, first, out = os.fstat(fd).st_size, m.generation(), []
    step = size // rounds // 4096 * 4096 + 4096
    while True:
        left = step
        while left > 0:
            b = os.read(fd, min(left, 1 << 20))
            if not b:
                break
            out.append(b)
            left -= len(b)
        if left:
            break
        m.trigger()
    for _ in range(max(0, first + rounds - m.generation())):
        m.trigger()
    head = os.pread(fd, 65536, 0)
    if os.fstat(fd).st_size != size:
        fail(f"{name}: st_size went from {size} to {os.fstat(fd).st_size} under the reader")
    os.close(fd)
    data = b"".join(out)
    if m.generation() < first + rounds:
        fail(f"only {m.generation() - first} generations passed")
    if len(data) != size or data[:65536] != head:
        fail(f"{name}: {len(data)} bytes read, st_size {size}, same head: {data[:65536] == head}")
    return data


graph = json.loads(read_slowly("graph.json").decode())
ids = {json.dumps(n, sort_keys=True) for n in graph["nodes"]}
if len(ids) != len(graph["nodes"]) or len(ids) < 100:
    fail(f"{len(graph['nodes'])} nodes, {len(ids)} different ones")
text = read_slowly("graph.txt").decode()
n, e = map(int, re.match(r"Graph with (\d+) nodes and (\d+) edges\n", text).groups())
nodes = text.split("\nNodes:\n", 1)[1].split("\nEdges:\n", 1)[0].splitlines() if n else []
if len(nodes) != n:
    fail(f"graph.txt says {n} nodes and lists {len(nodes)}")
