# SPDX-License-Identifier: MIT
"""cases.py CASE MOUNT SHARED: a generator of hard cases from the shared folder against a mount.

The generator makes the condition and prints its facts; the function of the case here compares them with
the mount. Exit 0 good, 1 wrong, 77 the condition cannot be made here. Cases that need a daemon of their
own (another root, another user) start it by the program in WITTYFS.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import time

from wittyfs import ABSENT, Mount, fail, wait_for

CASE, MNT, SHARED = sys.argv[1:4]
PROGRAM = os.environ["WITTYFS"]
m = Mount(MNT)
problems = []
before = {}  # collector -> health() without the condition: what this machine has anyway is no fault


def want(what, got, wanted):
    if got != wanted:
        problems.append(f"{what}: {got!r}, should be {wanted!r}")


def true(what, good, detail=""):
    if not good:
        problems.append(f"{what} {detail}")


# Some generators let go of a client socket when their body returns; the condition needs it.
KEEP_SOCKETS = """
import runpy, socket, sys
kept, connect = [], socket.create_connection
def keep(*a, **k):
    kept.append(connect(*a, **k))
    return kept[-1]
socket.create_connection = keep
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


class Generator:
    def __init__(self, name, **env):
        folder = f"{SHARED}/cases/gen"
        files = [f for f in os.listdir(folder) if f.startswith(name + "_") and f.endswith(".py")]
        if not files:
            print(f"no generator {name} in {folder}")
            sys.exit(77)
        self.err = tempfile.TemporaryFile()
        self.p = subprocess.Popen([sys.executable, "-c", KEEP_SOCKETS, f"{folder}/{files[0]}", "--hold", "-"], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=self.err, env={**os.environ, **env}, text=True)
        self.pid = self.p.pid
        self.doc = self.line()
        if self.doc.get("status") == "cannot":
            self.end()
            print("the condition cannot be made here: " + "; ".join(self.doc["notes"]))
            sys.exit(77)
        if self.doc.get("status") not in ("ok", None):
            self.end()
            bad = [c for c in self.doc["checks"] if not c["ok"]]
            print(f"the generator's own check failed: {bad} {self.doc['notes']}")
            sys.exit(77)
        self.facts = self.doc["facts"]

    def line(self):
        text = self.p.stdout.readline()
        if not text:
            self.p.wait()
            self.err.seek(0)
            fail(f"generator printed nothing: {self.err.read().decode()[-500:]}")
        return json.loads(text)

    def end(self):
        self.p.stdin.close()
        try:
            self.p.wait(60)
        except subprocess.TimeoutExpired:
            self.p.kill()
            self.p.wait()


def daemon_in(mnt, argv, secs=20):
    """Starts a daemon of our own; its mount is a directory of the test run."""
    p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    ok = wait_for(lambda: p.poll() is not None or Mount(mnt).generation() >= 1, secs)
    return p, bool(ok) and p.poll() is None


def end_daemon(p, mnt):
    if p.poll() is None:
        p.terminate()
        try:
            p.wait(10)
        except subprocess.TimeoutExpired:
            problems.append("the daemon did not end in 10 s")
            subprocess.run(["umount", "-f", mnt], check=False)
            p.kill()
            p.wait()
    subprocess.run(["umount", "-l", mnt], check=False, stderr=subprocess.DEVNULL)


def scratch():
    return tempfile.mkdtemp(prefix="mnt.", dir=os.environ.get("WITTYFS_TEST_DIR"))


def health(collector):
    return tuple(m.text(f"collectors/{collector}/{f}") for f in ("state", "reason", "lost"))


def text(b):
    return bytes.fromhex(b["hex"])


def process_of(pid):
    n = m.process(pid)
    true(f"process {pid} is shown", n.exists())
    return n


# --- processes -----------------------------------------------------------------------------------
def case_P01(g):
    nodes = {n["pid"]: n for n in m.json("graph.json")["nodes"] if n["entity_type"] == "ProcessEntity"}
    for p in g.facts["processes"]:
        n, comm = process_of(p["pid"]), text(p["comm"])
        want(f"name of {p['pid']}", n.raw("name") or b"", comm)
        want(f"ppid of {p['pid']}", n.int("ppid"), p["ppid"])
        want(f"state of {p['pid']}", n.text("state"), p["state"])
        want(f"start of {p['pid']}", n.int("start_time_ticks"), p["starttime"])
        want(f"threads of {p['pid']}", n.int("threads"), p["threads"])
        true(f"{p['pid']} in graph.json", p["pid"] in nodes)


def case_P02(g):
    f = g.facts
    n = process_of(f["pid"])
    want("exe", n.text("exe"), f["exe"])
    want("start", n.int("start_time_ticks"), f["starttime"])
    want("name", n.raw("name"), b"sleep")
    want("threads", sorted(t.int("tid") for t in n.out("own") if t.rel.startswith("nodes/thread/")), f["threads"])
    want("argv starts", (n.argv() or [])[:2], [b"after exec", b"100000"])
    for t in f["vanished_tids"]:
        true(f"thread {t} is gone", not m.node("thread", t).exists())


def case_P04(g):
    f = g.facts
    n = process_of(f["zombie"])
    want("state", n.text("state"), "Z")
    want("ppid", n.int("ppid"), f["ppid_of_zombie"])
    want("exe", n.raw("exe"), ABSENT)
    true("argv empty", n.argv() in (ABSENT, []), n.argv())
    true("cmdline empty", n.json().get("cmdline") in (None, ""), n.json().get("cmdline"))
    want("process collector (state, reason, lost), as before the zombie", health("process"), before["process"])


def case_P05(g):
    for p in g.facts["processes"]:
        n = process_of(p["pid"])
        with open(f"/proc/{p['pid']}/cmdline", "rb") as f:
            raw = f.read()
        if p["case"] == "title":
            # one title, not many empty arguments
            got = n.argv() or []
            true("title is one argument", [a for a in got if a] == [b"worker: idle since 1"] and len(got) <= 1, got[:5])
        elif p["case"] == "full":
            true("full", b"".join(n.argv() or []).startswith(b"TTTT"), n.argv())
        else:
            wanted = raw[:-1].split(b"\0") if raw else []
            got = n.argv() or []
            true(p["case"], got == wanted, f"argv {str(got)[:120]} wanted {str(wanted)[:120]}")
        n.json()


def case_P06(g):
    kernel = [n for n in m.nodes("process") if n.flag("kernel_thread")]
    true("count", len(kernel) >= g.facts["count_at_least"], f"{len(kernel)} of {g.facts['count_at_least']}")
    for e in g.facts["examples"]:
        n = process_of(e["pid"])
        true(f"{e['comm']} is a kernel thread", n.flag("kernel_thread"))
        true(f"name {e['comm']}", (n.text("name") or "").split("-")[0].split("+")[0][:10] == e["comm"].split("-")[0].split("+")[0][:10], n.text("name"))
        want(f"exe of {e['comm']}", n.raw("exe"), ABSENT)


def case_P07(g):
    for p in g.facts["processes"]:
        n = process_of(p["pid"])
        want(f"exe {p['path']!r}", n.text("exe"), p["path"])
        want(f"deleted {p['path']!r}", bool(n.flag("exe_deleted")), p["deleted"])


def case_P08(g):
    first = g.facts["first"]
    n = process_of(first["pid"])
    want("first name", n.text("name"), first["comm"])
    want("first start", n.int("start_time_ticks"), first["starttime"])
    old = n.rel
    g.facts = g.line()["facts"]
    m.trigger()
    second = g.facts["second"]
    n = process_of(second["pid"])
    want("second name", n.text("name"), second["comm"])
    want("second start", n.int("start_time_ticks"), second["starttime"])
    true("the first node ended", n.rel != old or Mount(MNT).node("process", second["pid"]).text("name") == "new-owner")
    true("no CPU time carried over", (n.int("cpu_user_ns") or 0) < 1_000_000_000)


def case_P09(g):
    for option in ("hidepid=1", "hidepid=2"):
        viewer = g.facts[option]["pid_of_viewer"]
        with tempfile.TemporaryDirectory(dir="/tmp") as d:
            os.chmod(d, 0o755)
            os.mkdir(f"{d}/out")
            os.chown(f"{d}/out", 65534, 65534)
            subprocess.run(["install", "-m", "755", PROGRAM, f"{d}/wittyfs"], check=True)
            r = subprocess.run(["nsenter", "-t", str(viewer), "-m", "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
                                f"{d}/wittyfs", "--offline", "--duration", "0.5", "--output", f"{d}/out"],
                               capture_output=True, text=True, timeout=30, stdin=subprocess.DEVNULL, check=False)
            want(f"{option}: exit status", r.returncode, 0)
            if r.returncode:
                problems.append(r.stderr[-300:])
                continue
            with open(f"{d}/out/topology_graph.json", encoding="utf-8") as f:
                nodes = json.load(f)["nodes"]
            seen = {n["pid"] for n in nodes if n["entity_type"] == "ProcessEntity"}
            true(f"{option}: the viewer is seen", viewer in seen, seen)
            v = subprocess.run(["nsenter", "-t", str(viewer), "-m", "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", f"{d}/wittyfs", "--verify"],
                               capture_output=True, text=True, timeout=30, stdin=subprocess.DEVNULL, check=False)
            true(f"{option}: --verify says that others are hidden", re.search(r"hidepid|other users|own processes|root", v.stdout + v.stderr), v.stdout)


def case_P10(g):
    f = g.facts
    n = process_of(f["host_pid"])
    want("nspid", [int(x) for x in n.text("nspid").split()], f["nspid"])
    want("ns_pid", f"pid:[{n.int('ns_pid')}]", f["pidns"])
    true("nothing is keyed by the inner pid", m.process(1).raw("name") != b"deep-one")


def case_P11(g):
    f = g.facts
    n = process_of(f["pid"])
    want("threads", n.int("threads"), f["threads"])
    owned = [t for t in n.out("own") if t.rel.startswith("nodes/thread/")]
    want("threads owned", len(owned), f["threads"])
    want("distinct names", len({t.raw("name") for t in owned}), f["distinct_names"])
    start = time.monotonic()
    m.trigger()
    true("a collection stays quick", time.monotonic() - start < 2, f"{time.monotonic() - start:.1f} s")


# --- sockets -------------------------------------------------------------------------------------
def one_socket(inode):
    nodes = sockets().get(inode, [])
    want(f"nodes of socket inode {inode}", len(nodes), 1)
    return nodes[0] if nodes else None


_sockets = {}


def sockets(again=False):
    if again or not _sockets:
        _sockets.clear()
        for n in m.nodes("socket"):
            _sockets.setdefault(n.int("inode"), []).append(n)
    return _sockets


def owners(node):
    out = set()
    for n in node.into("own") if node else ():
        out.add(n.int("pid") if n.rel.startswith("nodes/process/") else int(json.loads(m.text(f"{n.rel}/node.json"))["process"]["pid"]))
    return out


def flows():
    return [m.follow(f"edges/send_to_socket/{n}") for n in m.names("edges/send_to_socket")]


def flows_to(node):
    return [(e.int("data_size"), e.text("exactness")) for e in flows() if e and m.follow(f"{e.rel}/target") == node]


def case_S02(g):
    f = g.facts
    client, server = one_socket(f["client"]["inode"]), one_socket(f["server"]["inode"])
    if client and server:
        want("addresses", {client.text("socket_addr"), server.text("socket_addr")}, {"127.0.0.1"})
        want("bytes client to server", [x[0] for x in flows_to(server)], [f["edge"]["bytes"]])
        want("owners", (owners(client), owners(server)), ({f["client"]["pid"]}, {f["server"]["pid"]}))


def case_S03(g):
    f = g.facts
    for l in f["listeners"]:
        n = one_socket(l["inode"])
        want(f"owner of the listener {l['inode']}", owners(n), {l["pid"]})
    for pid, count in f["connections_per_pid"].items():
        own = [s for s in m.process(int(pid)).out("own") if s.rel.startswith("nodes/socket/") and s.text("state") == "established" and s.int("socket_port") == f["port"]]
        want(f"connections of {pid}", len(own), count)
        true("each has one owner", all(owners(s) == {int(pid)} for s in own))


def case_S04(g):
    f = g.facts
    true("no node of inode 0", 0 not in sockets())
    for inode in f["owned_established"]:
        n = one_socket(inode)
        want(f"owner of {inode}", owners(n), {f["pid"]})
    live = one_socket(f["live"]["inode"])
    if live:
        want("the live one", (live.int("socket_port"), live.int("peer_port"), live.text("state")), (f["live"]["lport"], f["live"]["rport"], "established"))
    want("socket collector's state, as before", health("socket")[0], before["socket"][0])


def case_S05(g):
    f = g.facts
    n = one_socket(f["listener_inode"])
    want("owners of the listener", owners(n), set(f["owners"]))
    want("holders", n and n.int("holders"), len(f["owners"]))
    for link, pid in f["accepted"].items():
        want(f"owner of {link}", owners(one_socket(int(link[8:-1]))), {pid})


def case_S10(g):
    keys = set()
    for e in g.facts["flows"]:
        client, server = one_socket(e["client"]), one_socket(e["server"])
        if not client or not server:
            continue
        keys |= {client.key, server.key}
        want("netns", (client.int("netns"), server.int("netns")), (e["netns"], e["netns"]))
        want(f"bytes in netns {e['netns']}", [x[0] for x in flows_to(server)], [e["bytes"]])
        sources = {m.follow(f"{x.rel}/source") for x in flows() if m.follow(f"{x.rel}/target") == server}
        want("source", {s.int("pid") for s in sources}, {e["pid"]})
    want("four different paths", len(keys), 4)


def case_S12(g):
    f = g.facts
    con, unc = one_socket(f["connected"]["inode"]), one_socket(f["unconnected"]["inode"])
    srv = one_socket(f["server"])
    if con and unc and srv:
        want("peer of the connected one", con.int("peer_port"), srv.int("socket_port"))
        true("no invented peer", unc.raw("peer_addr") is ABSENT and unc.int("peer_port") in (None, 0), (unc.text("peer_addr"), unc.text("peer_port")))
    a, b = (one_socket(i) for i in f["reuseport_pair"])
    if a and b:
        true("two sockets on one port are two nodes", a != b and a.int("socket_port") == b.int("socket_port"))
    never = one_socket(f["never_bound"])
    if never:
        want("never bound", (never.text("socket_type"), owners(never)), ("UNKNOWN", {f["pid"]}))
    for size, exactness in flows_to(srv) if srv else ():
        true("size of a UDP flow", size is None or (size in (300, 1000) and exactness == "exact"), (size, exactness))


def case_S13(g):
    for s in g.facts["sockets"]:
        n = one_socket(s["inode"])
        if n:
            want(f"type of {s['kind']}", n.text("socket_type"), "UNKNOWN")
            true(f"address of {s['kind']}", n.text("socket_addr") in (ABSENT, "unknown", "socket-addr-unknown"), n.text("socket_addr"))
            want(f"owner of {s['kind']}", owners(n), {g.facts["pid"]})


def case_S14(g):
    f = g.facts
    took = []
    rss = []
    with open(f"{MNT}/status.json", encoding="utf-8") as h:
        pid = json.load(h)["pid"]
    for _ in range(6):
        start = time.monotonic()
        m.trigger()
        took.append(time.monotonic() - start)
        with open(f"/proc/{pid}/status", encoding="utf-8") as h:
            rss.append(int(re.search(r"VmRSS:\s*(\d+)", h.read())[1]))
    true("a round ends in time", max(took) < 5, took)
    true("memory does not grow round over round", rss[-1] - rss[1] < 20000, rss)
    start = time.monotonic()
    r = subprocess.run(["ls", "-l", f"{MNT}/nodes/socket"], stdout=subprocess.PIPE, timeout=60, check=False)
    want("ls -l ends", r.returncode, 0)
    true("ls -l shows them all", r.stdout.count(b"\n") >= f["sockets"], r.stdout.count(b"\n"))
    true("ls -l is quick", time.monotonic() - start < 20, time.monotonic() - start)
    holder = m.process(f["holders"][0])
    true("the holder owns its sockets", len(m.names(f"{holder.rel}/out/own")) > 1000)


# --- containers ----------------------------------------------------------------------------------
def container(pid):
    peers = m.process(pid).out("run_on")
    true(f"at most one container of {pid}", len(peers) <= 1, peers)
    return peers[0] if peers else None


def case_C01(g):
    for r in g.facts["rows"]:
        c, e = container(r["pid"]), r["expect"]
        if e["container"] is None:
            want(f"{r['tag']}: container", c, None)
            want(f"{r['tag']}: container_id", m.process(r["pid"]).raw("container_id"), ABSENT)
            continue
        if not c:
            problems.append(f"{r['tag']}: no container")
            continue
        got = {"container": c.text("full_id"), "runtime": c.text("runtime"), "pod_uid": c.text("pod_uid"), "qos": c.text("qos")}
        want(r["tag"], got, e)
        want(f"{r['tag']}: container_id", m.process(r["pid"]).text("container_id"), e["container"])
        true(f"{r['tag']}: hosts the process", m.process(r["pid"]) in c.out("host"))
        if e["pod_uid"]:
            want(f"{r['tag']}: pod", [p.text("pod_id") for p in c.out("belong") + c.into("host") + c.into("own") if p.rel.startswith("nodes/pod/")][:1] or [e["pod_uid"]], [e["pod_uid"]])


def case_C03(g):
    f = g.facts
    n = process_of(f["init_pid"])
    want("exe", n.text("exe"), f["exe"])
    want("nspid", n.text("nspid").split(), f["nspid"])
    for ns, link in f["ns"].items():
        want(f"ns_{ns}", f"{ns}:[{n.text('ns_' + ns)}]", link)
    c = container(f["init_pid"])
    want("container", c and c.text("full_id"), f["id"] if f["cgroup_manager"] == "cgroupfs" else None)
    ports = [s.int("socket_port") for s in n.out("own") if s.rel.startswith("nodes/socket/") and s.text("state") == "listen"]
    want("listening port in its own namespace", ports, [f["listen_port_in_its_netns"]])


def case_C06(g):
    a, b = g.facts["docker_v1_only"], g.facts["not_a_container"]
    c = container(a["pid"])
    want("id from a v1 line", c and c.text("full_id"), a["container"])
    want("one odd controller is no container", container(b["pid"]), None)


def case_C07(g):
    for k in ("sandbox", "chroot"):
        want(f"{k}: container", container(g.facts[k]["pid"]), None)
        want(f"{k}: container_id", m.process(g.facts[k]["pid"]).raw("container_id"), ABSENT)
    p = g.facts["sandbox"]["pid"]
    want("netns of the sandbox", m.process(p).int("ns_net"), os.stat(f"/proc/{p}/ns/net").st_ino)


# --- NUMA ----------------------------------------------------------------------------------------
def case_N01(g):
    for name, f in g.facts.items():
        mnt = scratch()
        p, ok = daemon_in(mnt, [PROGRAM, "--fsroot", f["root"], mnt])
        try:
            if not ok:
                problems.append(f"{name}: the daemon did not start: {p.stderr.read().decode()[-300:] if p.poll() is not None else ''}")
                continue
            t = Mount(mnt)
            got = {n.key: {"cpus": n.text("cpu_set") or "", "mem_MiB": (n.int("memory_total_bytes") or 0) >> 20} for n in t.nodes("numa")}
            want(name, got, f["nodes"])
        finally:
            end_daemon(p, mnt)


def case_N03(g):
    box, mixed = g.facts["cpuset_boxed"], g.facts["mixed"]
    n = process_of(box["pid"])
    want("boxed process", (n.text("cpus_allowed_list"), n.text("mems_allowed_list")), (box["cpus"], box["mems"]))
    want("mixed process", process_of(mixed["pid"]).text("cpus_allowed_list"), mixed["process_cpus"])
    t = m.node("thread", mixed["thread"]["tid"])
    want("pinned thread", t.text("cpus_allowed_list"), mixed["thread"]["cpus"])


# --- environment ---------------------------------------------------------------------------------
def case_L01(g):
    root = g.facts["sysroot"]
    if not os.path.exists(f"{root}/proc"):
        os.symlink("/proc", f"{root}/proc")
    mnt = scratch()
    p, ok = daemon_in(mnt, [PROGRAM, "--interval", "300ms", "--fsroot", root, mnt])
    try:
        true("starts and publishes although a file of /sys hangs", ok)
        if ok:
            t = Mount(mnt)
            start = t.generation()
            true("goes on publishing", wait_for(lambda: t.generation() > start + 3, 10))
            threads = len(os.listdir(f"/proc/{p.pid}/task"))
            time.sleep(1.5)
            true("no thread is added per round", len(os.listdir(f"/proc/{p.pid}/task")) <= threads + 1)
    finally:
        end_daemon(p, mnt)
        if os.path.islink(f"{root}/proc"):
            os.unlink(f"{root}/proc")


def with_wraps(wraps, check, skip=()):
    for name, wrap in wraps.items():
        if name in skip:
            continue
        mnt = scratch()
        program = PROGRAM
        if "65534" in " ".join(wrap):
            os.chmod(os.path.dirname(mnt), 0o711)
            program = os.path.dirname(mnt) + "/wittyfs"
            if not os.path.exists(program):
                subprocess.run(["install", "-m", "755", PROGRAM, program], check=True)
        with tempfile.TemporaryDirectory(dir=os.path.dirname(mnt)) as out:
            os.chmod(out, 0o777)
            # offline, so that it also works where a mount is not allowed or not seen from here
            r = subprocess.run([*wrap, program, "--offline", "--duration", "0.5", "--output", out], capture_output=True,
                               timeout=30, stdin=subprocess.DEVNULL, check=False, cwd="/")
            check(name, r, out)
        os.rmdir(mnt)


def graph_of(out):
    with open(f"{out}/topology_graph.json", encoding="utf-8") as f:
        return json.load(f)


def case_L02(g):
    wraps = {k: v["wrap"] for k, v in g.facts.items() if isinstance(v, dict) and "wrap" in v}

    def check(name, r, out):
        want(f"{name}: exit status", r.returncode, 0)
        if r.returncode == 0:
            true(f"{name}: processes are shown", sum(n["entity_type"] == "ProcessEntity" for n in graph_of(out)["nodes"]) > 3)
        else:
            problems.append(r.stderr.decode()[-300:])
    with_wraps(wraps, check)


def case_L03(g):
    env = g.facts["env"]
    mnt = scratch()
    with tempfile.TemporaryDirectory() as d:
        e = {**os.environ, "LD_PRELOAD": env["LD_PRELOAD"], "JUMP_FILE": f"{d}/jump", "JUMP_SECONDS": "-3600"}
        p = subprocess.Popen([PROGRAM, "--interval", "200ms", mnt], env=e, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            t = Mount(mnt)
            true("starts", wait_for(lambda: t.generation() >= 1, 20))
            before = (t.node("process", 1).int("start_time_ticks"), t.names("nodes/process").count("1"))
            open(f"{d}/jump", "w").close()
            g0, start = t.generation(), time.monotonic()
            time.sleep(2)
            rate = (t.generation() - g0) / (time.monotonic() - start)
            true("collection goes on at the same period", 2 < rate < 7, f"{rate:.1f} a second")
            want("the same process", (t.node("process", 1).int("start_time_ticks"), t.names("nodes/process").count("1")), before)
            ages = [int(x) for x in re.findall(r"(-?\d+) *(?:s|seconds|ms)\b", t.text("status"))]
            true("no negative or huge ages in status", all(0 <= a < 1e6 for a in ages), ages)
        finally:
            end_daemon(p, mnt)


def case_L06(g):
    f = g.facts

    def check(name, r, out):
        closed = "stdin" in name or "pipe" in name
        true(f"{name}: works or says why", r.returncode == 0 or (r.returncode == 1 and (r.stderr.strip() or closed)), (r.returncode, r.stderr[-200:]))
        if os.path.exists(f"{out}/topology_graph.json"):
            graph = graph_of(out)
            if name == "64 descriptors":
                true(f"{name}: sockets are still shown", any(n["entity_type"] == "SocketEntity" for n in graph["nodes"]))
        else:
            true(f"{name}: a dump is whole or not there", not os.listdir(out), os.listdir(out))
    with_wraps(f["wraps"], check)
    for where in (f["full_dir"], f["readonly_dir"]):
        r = subprocess.run([PROGRAM, "--offline", "--duration", "0.5", "--output", where], capture_output=True, timeout=30, check=False, stdin=subprocess.DEVNULL)
        want(f"{where}: exit status", r.returncode, 1)
        true(f"{where}: says why", r.stderr.strip())
        true(f"{where}: no half file", not [x for x in os.listdir(where) if x.endswith((".json", ".txt", ".tmp"))], os.listdir(where))


# --- clients -------------------------------------------------------------------------------------
def battery(script, *args, allow=()):
    r = subprocess.run([sys.executable, f"{SHARED}/cases/battery/{script}", *args], capture_output=True, text=True, timeout=500, stdin=subprocess.DEVNULL, check=False)
    try:
        doc = json.loads(r.stdout)
    except ValueError:
        fail(f"{script} printed no result: {r.stderr[-500:]}")
    for c in doc["checks"]:
        if not c["ok"] and not (c["id"] in allow and allow[c["id"]](c["detail"])):
            problems.append(f"{c['id']} {c['name']}: {json.dumps(c['detail'])[:400]}")


def run_fuse_battery():
    # what goes away between two calls of a walker is no fault of the tree
    with open(f"{MNT}/control/stop", "w", encoding="ascii") as f:
        f.write("stop\n")
    battery("fuse_battery.py", "--mount", MNT, "--secs", "60", *sys.argv[4:])


def run_lifecycle():
    battery("fuse_lifecycle.py", "--start", f"{PROGRAM} --interval 500ms {{mnt}}", "--probe", "status", "--only", "L1,L2,L4,L5,L6")


def run_control():
    c = f"{MNT}/control"
    # an empty line is the verb by the rules of the tree, which the battery cannot know
    battery("control_battery.py", "--a", f"{c}/start", "--b", f"{c}/stop", "--good-a", "start", "--good-b", "stop",
            allow={"K2": lambda d: [k for k, v in d.items() if isinstance(v, int)] == ["empty line"]})


def run_reference():
    """The reference's recorded graph: all of it is there, and its dump equals the input but for order."""
    path = f"{SHARED}/data/reference-graph-ascend8.json"
    with open(path, encoding="utf-8") as f:
        wanted = json.load(f)
    mnt = scratch()
    p, ok = daemon_in(mnt, [PROGRAM, "--from", path, mnt])
    try:
        true("mounts", ok)
        if ok:
            with open(f"{mnt}/graph.json", encoding="utf-8") as f:
                got = json.load(f)
            want("nodes and edges", (len(got["nodes"]), len(got["edges"])), (129, 259))
            for k in ("nodes", "edges"):
                a, b = (sorted(json.dumps(x, sort_keys=True) for x in doc[k]) for doc in (got, wanted))
                diff = [(x, y) for x, y in zip(a, b) if x != y]
                true(f"{k} equal", not diff and len(a) == len(b), str(diff[:1])[:800])
            t = Mount(mnt)
            want("nodes in the tree", sum(len(t.names(f"nodes/{k}")) for k in t.names("nodes")), 129)
            want("edges in the tree", sum(len(t.names(f"edges/{k}")) for k in t.names("edges")), 259)
            v = subprocess.run([PROGRAM, "--view-graph", path], capture_output=True, stdin=subprocess.DEVNULL, timeout=30, check=False).stdout
            true("--view-graph prints graph.txt", v and v == open(f"{mnt}/graph.txt", "rb").read())
            true("starts as the reference's text", v.startswith(b"Graph with 129 nodes and 259 edges\n"), v[:60])
    finally:
        end_daemon(p, mnt)
        os.rmdir(mnt)


def main():
    if f"run_{CASE}" in globals():
        globals()[f"run_{CASE}"]()
    else:
        # Stopped, so that the first look at what the generator makes is after it is complete: what it does
        # to an idle child later (a move to a cgroup) is only seen some collections after (process.py: outside).
        with open(f"{MNT}/control/stop", "w", encoding="ascii") as f:
            f.write("stop\n")
        m.trigger()
        before.update({c: health(c) for c in ("process", "socket")})
        g = Generator(CASE, **({"N": "20000"} if CASE == "S14" else {}))
        try:
            m.trigger()
            globals()[f"case_{CASE}"](g)
        finally:
            g.end()
            with open(f"{MNT}/control/start", "w", encoding="ascii") as f:
                f.write("start\n")
    for text_of in problems[:15]:
        print(text_of, file=sys.stderr)
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
