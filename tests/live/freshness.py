# SPDX-License-Identifier: MIT
"""freshness.py MOUNT: after a trigger returns, cached files show the new state at once.

A process changes its name and number of threads between triggers; name, node.json, the listing and a
descriptor that was opened before are read every time, so that the kernel has all of it cached.
"""
import os
import sys
import threading

from wittyfs import Mount, fail, set_comm

m = Mount(sys.argv[1])
pid = os.getpid()
node = f"nodes/process/{pid}"
stop = threading.Event()
m.trigger()
for i in range(30):
    name = b"fresh-%d" % i
    set_comm(name)
    if i % 3 == 0:
        threading.Thread(target=stop.wait, daemon=True).start()
    threads = len(os.listdir("/proc/self/task"))
    before = m.generation()
    if m.trigger() <= before:
        fail("trigger did not publish a generation")
    if m.raw(f"{node}/name") != name:
        fail(f"round {i}: name reads {m.raw(node + '/name')}, is {name}")
    if os.stat(f"{m.path}/{node}/name").st_size != len(name) + 1:
        fail(f"round {i}: st_size of name is old")
    if m.json(f"{node}/node.json")["name"] != name.decode():
        fail(f"round {i}: node.json is old")
    owned = [n for n in m.names(f"{node}/out/own") if n.startswith("thread:")]
    if len(owned) != threads:
        fail(f"round {i}: {len(owned)} threads listed, {threads} exist")
    for n in m.json("graph.json")["nodes"]:
        if n["entity_type"] == "ProcessEntity" and n["pid"] == pid and n["name"] != name.decode():
            fail(f"round {i}: graph.json is old")
