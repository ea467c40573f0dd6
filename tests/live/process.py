# SPDX-License-Identifier: MIT
"""process.py CHECK MOUNT: processes with odd properties, made here and looked up in the mount."""
import errno
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

from wittyfs import ABSENT, Mount, die_with_parent, fail, fork_with_pid, libc, set_comm, spawn, wait_for

m = Mount(sys.argv[2])
NAMES = [b"a b", b"x) S 1 (y", b")) R 99 99 (", b"line1\nline2", b"\xff\xfe\x80bad", "é🚀🔥".encode(), b"", b"tab\there",
         b"..", b".", b"a/b", b"back\\n", b"  lead", b"trail  ", b"\x01\x1b[31m", b'{"a":1}', b"kworker/0:0", b"0123456789abcde"]


def idle(tell, name=None):
    if name is not None:
        set_comm(name)
    tell("x")


def start_ticks(pid):
    with open(f"/proc/{pid}/stat", "rb") as f:
        return int(f.read().rpartition(b")")[2].split()[19])


def check_names():
    pids = {spawn(idle, n)[0]: n for n in NAMES}
    # a child has told its name a moment before it sleeps
    if not wait_for(lambda: all(open(f"/proc/{p}/stat", "rb").read().rpartition(b")")[2].split()[0] == b"S" for p in pids)):
        fail("the children do not sleep")
    m.trigger()
    nodes = {n["pid"]: n for n in m.json("graph.json")["nodes"] if n["entity_type"] == "ProcessEntity"}
    for pid, name in pids.items():
        n = m.process(pid)
        if n.raw("name") != name and not (name == b"" and n.raw("name") is ABSENT):
            fail(f"{name!r}: name reads {n.raw('name')!r}")
        got = (n.int("ppid"), n.text("state"), n.int("start_time_ticks"))
        if got != (os.getpid(), "S", start_ticks(pid)):
            fail(f"{name!r}: ppid, state, start are {got}")
        j = nodes.get(pid) or fail(f"{name!r}: not in graph.json")
        try:
            if j["name"] != name.decode():
                fail(f"{name!r}: JSON has {j['name']!r}")
        except UnicodeDecodeError:
            if "\ufffd" not in j["name"] or bytes.fromhex(j.get("name_hex", "")) != name:
                fail(f"{name!r}: JSON has {j['name']!r}, name_hex {j.get('name_hex')}")
        if j != n.json():
            fail(f"{name!r}: node.json and graph.json differ")
    lines = m.raw("graph.txt").split(b"\n")
    counts = [len(nodes), sum(b"- ProcessEntity(" in x for x in lines)]
    if counts[0] != counts[1]:
        fail(f"graph.txt has {counts[1]} processes, graph.json {counts[0]}")


def check_cmdline():
    cases = [[b"sleep", b"1000", b"", b""], [b"a b", b"1000"], [b"sleep", b"1000\nx", b"\xc3\x28\xff"],
             [b"big"] + [b"%06d" % i + b"z" * 1000 for i in range(70)], [b"one", b"q" * 131071], [b"huge"] + [b"y" * 100000] * 4]
    for argv in cases:
        pid = os.fork()
        if pid == 0:
            die_with_parent()
            os.execv("/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable,
                     [argv[0], b"-c", b"import signal; signal.pause()", *argv[1:]])
        wait_for(lambda: open(f"/proc/{pid}/cmdline", "rb").read().startswith(argv[0] + b"\0-c\0"))
        m.trigger()
        want = open(f"/proc/{pid}/cmdline", "rb").read().split(b"\0")[:-1]
        n = m.process(pid)
        got, cut = n.argv(), n.int("argv_cut_bytes")
        total = sum(len(a) + 1 for a in want)
        if total <= 256 * 1024:
            if got != want or cut not in (None, 0):
                fail(f"argv of {total} bytes: {str(got)[:100]}, cut {cut}")
        else:
            kept = sum(len(a) + 1 for a in got)
            if not cut or abs(kept + cut - total) > 1:
                fail(f"argv of {total} bytes: kept {kept}, cut {cut}")
        m.json(f"{n.rel}/node.json")
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def check_zombie():
    def parent(tell):
        z = os.fork()
        if z == 0:
            os._exit(7)
        tell(str(z))
    pid, line = spawn(parent)
    z = int(line)
    wait_for(lambda: b") Z " in open(f"/proc/{z}/stat", "rb").read())
    m.trigger()
    n = m.process(z)
    if n.text("state") != "Z" or n.int("ppid") != pid or n.argv() not in (ABSENT, []) or n.raw("exe") is not ABSENT:
        fail(f"zombie: state {n.text('state')} ppid {n.int('ppid')} argv {n.argv()} exe {n.raw('exe')}")
    if n.json().get("cmdline") not in (None, ""):
        fail(f"zombie: cmdline in JSON is {n.json()['cmdline']!r}")


def check_exec():
    def child(tell):
        tell("x")
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
        signal.sigwait({signal.SIGUSR1})
        os.execv("/bin/sleep", ["after exec", "1000"])
    pid, _ = spawn(child)
    m.trigger()
    n = m.process(pid)
    before = (n.int("start_time_ticks"), n.raw("name"), n.argv())
    time.sleep(0.1)
    os.kill(pid, signal.SIGUSR1)
    wait_for(lambda: open(f"/proc/{pid}/comm").read() == "sleep\n")
    m.trigger()
    n = m.process(pid)
    after = (n.int("start_time_ticks"), n.raw("name"), n.argv())
    if after != (before[0], b"sleep", [b"after exec", b"1000"]):
        fail(f"exec: before {before}, after {after}")
    if os.path.realpath("/bin/sleep") != n.text("exe") or n.flag("exe_deleted"):
        fail(f"exec: exe {n.text('exe')} deleted {n.text('exe_deleted')}")


def check_deleted():
    with tempfile.TemporaryDirectory() as d:
        for name, gone in (("gone", True), ("live (deleted)", False), ("new\nline", False)):
            subprocess.run(["cp", "/bin/sleep", f"{d}/{name}"], check=True)
            p = subprocess.Popen([f"{d}/{name}", "1000"], preexec_fn=die_with_parent)
            wait_for(lambda: os.readlink(f"/proc/{p.pid}/exe").startswith(d))
            if gone:
                os.unlink(f"{d}/{name}")
            m.trigger()
            n = m.process(p.pid)
            if n.text("exe") != f"{d}/{name}" or n.flag("exe_deleted") is not gone:
                fail(f"{name!r}: exe {n.text('exe')!r} deleted {n.text('exe_deleted')}")
            p.kill()
            p.wait()


def check_kernel():
    want = set()
    for p in os.listdir("/proc"):
        if p.isdigit():
            try:
                f = open(f"/proc/{p}/stat", "rb").read()
            except OSError:
                continue
            if int(f.rpartition(b")")[2].split()[6]) & 0x200000:
                want.add((int(p), f[f.index(b"(") + 1:f.rindex(b")")]))
    m.trigger()
    bad, seen = [], 0
    for pid, name in want:
        n = m.process(pid)
        if not n.exists() and not os.path.isdir(f"/proc/{pid}"):
            continue
        seen += 1
        if not n.flag("kernel_thread") or n.argv() not in (ABSENT, []) or n.raw("exe") is not ABSENT:
            bad.append((pid, name, n.text("kernel_thread"), n.argv(), n.raw("exe")))
    if m.process(os.getpid()).flag("kernel_thread"):
        bad.append("this process is shown as a kernel thread")
    if bad or seen < 5:
        fail(f"{seen} kernel threads seen, wrong: {bad[:5]}")


def check_gone():
    """Appears within an interval (500 ms here), is gone within one after its end; nothing else changes."""
    pid, _ = spawn(idle, b"short-lived")
    if not wait_for(lambda: m.process(pid).exists() and m.process(pid).raw("name") == b"short-lived", 2):
        fail("a new process did not appear within 2 s at an interval of 0.5 s")
    rel = m.process(pid).rel
    fd = os.open(f"{m.path}/{rel}/name", os.O_RDONLY)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    if not wait_for(lambda: not os.path.exists(f"{m.path}/{rel}") and not os.path.lexists(f"{m.path}/by/pid/{pid}")
                    and str(pid) not in m.names("nodes/process") and str(pid) not in m.names("nodes/thread"), 2):
        fail("an ended process is still there after 2 s at an interval of 0.5 s")
    if read_gone(fd) not in (b"short-lived\n", b""):
        fail("the descriptor shows something else than the ended process")
    os.close(fd)


def read_gone(fd):
    """What a descriptor of something gone still reads; an error of its own is as good as nothing."""
    try:
        return os.pread(fd, 100, 0)
    except OSError as e:
        if e.errno != errno.ESTALE:
            fail(f"reading a gone node gives {errno.errorcode[e.errno]}")
        return b""


def check_reuse():
    pid = next(p for p in range(30000, 20000, -7) if not os.path.exists(f"/proc/{p}"))

    def make(name):
        try:
            r = fork_with_pid(pid)
        except OSError as e:
            print(f"cannot choose a pid here: {e}")
            sys.exit(77)
        if r == 0:
            die_with_parent()
            set_comm(name)
            while True:
                signal.pause()
        wait_for(lambda: open(f"/proc/{r}/comm", "rb").read() == name + b"\n")
        return r
    make(b"old-owner")
    m.trigger()
    old = m.process(pid)
    ticks, rel = old.int("start_time_ticks"), old.rel
    dirfd = os.open(f"{m.path}/{rel}", os.O_RDONLY | os.O_DIRECTORY)
    filefd = os.open(f"{m.path}/{rel}/name", os.O_RDONLY)
    if os.pread(filefd, 100, 0) != b"old-owner\n":
        fail("the first owner is not shown")
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    time.sleep(0.05)
    make(b"new-owner")
    m.trigger()
    try:
        new = m.process(pid)
        if new.raw("name") != b"new-owner" or new.int("start_time_ticks") == ticks:
            fail(f"after reuse: {new.raw('name')}, start {new.int('start_time_ticks')} (old {ticks})")
        if read_gone(filefd) == b"new-owner\n":
            fail("the descriptor of the old process shows the new one")
        try:
            fd = os.open("name", os.O_RDONLY, dir_fd=dirfd)
            if os.read(fd, 100) == b"new-owner\n":
                fail("the directory of the old process leads to the new one")
        except OSError:
            pass
        if len(new.out("own")) != 1:
            fail(f"the new process owns {new.out('own')}")
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def check_threads():
    import threading
    stop = threading.Event()

    def work(name):
        libc.prctl(15, name + b"\0", 0, 0, 0)
        stop.wait()
    for i in range(50):
        threading.Thread(target=work, args=(b"worker-%d" % i,), daemon=True).start()
    time.sleep(0.2)
    m.trigger()
    n = m.process(os.getpid())
    owned = [t for t in n.out("own") if t and t.rel.startswith("nodes/thread/")]
    want = {int(t) for t in os.listdir("/proc/self/task")}
    if {t.int("tid") for t in owned} != want or n.int("threads") != len(want):
        fail(f"{len(owned)} threads owned, threads says {n.int('threads')}, there are {len(want)}")
    if {t.raw("name") for t in owned if t.raw("name").startswith(b"worker")} != {b"worker-%d" % i for i in range(50)}:
        fail("names of threads are wrong")
    t = owned[0].json()
    if t["process"]["pid"] != os.getpid() or t["process"]["entity_type"] != "ProcessEntity":
        fail(f"the process in a thread's JSON is {t['process']}")


def check_namespaces():
    def inner(tell):
        libc.unshare(0x20000000)  # CLONE_NEWPID
        p = os.fork()
        if p == 0:
            die_with_parent()
            while True:
                signal.pause()
        tell(str(p))
    _, line = spawn(inner)
    pid = int(line)
    m.trigger()
    n = m.process(pid)
    if n.text("nspid").split() != [str(pid), "1"]:
        fail(f"nspid is {n.text('nspid')}")
    if n.int("ns_pid") != os.stat(f"/proc/{pid}/ns/pid").st_ino or n.int("ns_net") != os.stat("/proc/self/ns/net").st_ino:
        fail(f"ns_pid {n.text('ns_pid')} ns_net {n.text('ns_net')}")


def check_attributes():
    """Plain values against /proc."""
    os.sched_setaffinity(0, {0})
    m.trigger()
    n = m.process(os.getpid())
    status = dict(x.split(":\t", 1) for x in open("/proc/self/status").read().splitlines() if ":\t" in x)
    want = {"ppid": os.getppid(), "uid": 0, "gid": 0, "cpus_allowed_list": "0", "exe": os.readlink("/proc/self/exe"),
            "mems_allowed_list": status["Mems_allowed_list"].strip(), "start_time_ticks": start_ticks(os.getpid()),
            "threads": 1, "argv": [os.fsencode(a) for a in open("/proc/self/cmdline").read().split("\0")[:-1]]}
    for k, v in want.items():
        got = n.argv() if k == "argv" else n.int(k) if isinstance(v, int) else n.text(k)
        if got != v:
            fail(f"{k} is {got!r}, should be {v!r}")
    rss = int(status["VmRSS"].split()[0]) * 1024
    if not rss / 2 < n.int("rss_bytes") < rss * 2:
        fail(f"rss_bytes {n.int('rss_bytes')}, /proc says {rss}")
    before = n.int("cpu_user_ns") + n.int("cpu_system_ns")
    burn = time.process_time() + 0.3
    while time.process_time() < burn:
        pass
    m.trigger()
    n = m.process(os.getpid())
    spent = n.int("cpu_user_ns") + n.int("cpu_system_ns") - before
    if not 200_000_000 <= spent <= 2_000_000_000:
        fail(f"0.3 s of CPU time shows as {spent} ns")
    json.dumps(n.json())


def check_outside():
    """What others change of a process that does not run: within the 12 collections of PROCTABLE_REREAD."""
    bound = 12
    pid, _ = spawn(idle)
    time.sleep(0.3)
    for _ in range(3):
        m.trigger()
    os.sched_setaffinity(pid, {0})
    need = next((i for i in range(1, 2 * bound) if m.trigger() and m.process(pid).text("cpus_allowed_list") == "0"), None)
    print(f"affinity set from outside is seen after {need} collections")
    if need is None or need > bound:
        fail(f"affinity set from outside is seen after {need} collections, not within {bound}")


globals()["check_" + sys.argv[1]]()
