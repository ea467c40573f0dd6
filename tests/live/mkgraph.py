# SPDX-License-Identifier: MIT
"""mkgraph.py PROCESSES THREADS SOCKETS [PAD]: a recorded graph of known size on stdout.

Nodes: PROCESSES * (1 + THREADS + SOCKETS). Edges: an Own edge per thread and socket, a Belong edge per
socket, and a SendToSocket edge per process. PAD: bytes added to each command line.
4000 2 1 gives 16,000 nodes and 20,000 edges.
"""
import json
import sys

processes, threads, sockets = map(int, sys.argv[1:4])
pad = "x" * int(sys.argv[4]) if len(sys.argv) > 4 else ""
out = sys.stdout
common = {"entity_namespace": "local"}


def process(i):
    return {**common, "entity_type": "ProcessEntity", "details": {}, "pid": 1000 + i, "ppid": 1, "name": f"worker-{i % 100}",
            "cmdline": f"/usr/bin/worker --rank {i} {pad}"}


def thread(i, k):
    return {**common, "entity_type": "ThreadEntity", "details": {}, "tid": 100000 + i * threads + k, "process": process(i), "name": f"thread-{k}"}


def sock(i, k):
    n = i * sockets + k
    return {**common, "entity_type": "SocketEntity", "details": {}, "socket_type": "TCP",
            "socket_addr": f"10.{n >> 16}.{n >> 8 & 255}.{n & 255}", "socket_port": 1024 + n % 60000, "socket_thread": None, "socket_process": None}


def nodes():
    for i in range(processes):
        yield process(i)
        yield from (thread(i, k) for k in range(threads))
        yield from (sock(i, k) for k in range(sockets))


def edge(kind, source, target, **more):
    return {"edge_type": kind, "weight": None, "source_node": source, "target_node": target, **more}


def edges():
    for i in range(processes):
        p = process(i)
        yield from (edge("OwnEdge", p, thread(i, k)) for k in range(threads))
        for k in range(sockets):
            yield edge("OwnEdge", p, sock(i, k))
            yield edge("BelongEdge", sock(i, k), p)
        yield edge("SendToSocketEdge", p, sock((i + 1) % processes, 0), connection_type="TCP",
                   data_flow={"start_time": 1, "end_time": 2, "data_size": i, "packets_cnt": 1})


def put(items):
    for n, item in enumerate(items):
        out.write(("," if n else "") + "\n" + json.dumps(item))


out.write('{"nodes": [')
put(nodes())
out.write('], "edges": [')
put(edges())
out.write("]}\n")
