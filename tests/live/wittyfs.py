# SPDX-License-Identifier: MIT
"""Reading a wittyfs mount from the tests: nodes, attributes, edges, and small tools of test programs."""
import ctypes
import json
import os
import signal
import sys
import time

libc = ctypes.CDLL(None, use_errno=True)
ABSENT = None


class Mount:
    def __init__(self, path):
        self.path = path.rstrip("/")

    def raw(self, rel):
        """Bytes of a file without the ending newline; None when it is not there."""
        try:
            with open(f"{self.path}/{rel}", "rb") as f:
                b = f.read()
        except FileNotFoundError:
            return ABSENT
        return b[:-1] if b.endswith(b"\n") else b

    def text(self, rel):
        b = self.raw(rel)
        return b if b is ABSENT else b.decode("utf-8", "surrogateescape")

    def json(self, rel):
        with open(f"{self.path}/{rel}", "rb") as f:
            return json.loads(f.read().decode("utf-8"))

    def names(self, rel):
        try:
            return sorted(os.listdir(f"{self.path}/{rel}"))
        except FileNotFoundError:
            return []

    def generation(self):
        """Number of the newest generation; -1 while nothing is mounted."""
        text = self.text("generation")
        return -1 if text is ABSENT else int(text)

    def trigger(self):
        fd = os.open(f"{self.path}/control/trigger", os.O_WRONLY)
        try:
            os.write(fd, b"trigger\n")
        finally:
            os.close(fd)
        return self.generation()

    def node(self, kind, key):
        return Node(self, f"nodes/{kind}/{key}")

    def nodes(self, kind):
        return [Node(self, f"nodes/{kind}/{k}") for k in self.names(f"nodes/{kind}")]

    def process(self, pid):
        n = self.node("process", pid)
        if n.exists() or not self.by("pid", pid):
            return n
        return self.by("pid", pid)

    def by(self, what, key):
        return self.follow(f"by/{what}/{key}")

    def follow(self, link):
        real = os.path.realpath(f"{self.path}/{link}")
        if not os.path.isdir(real) or not real.startswith(self.path + "/"):
            return None
        return Node(self, real[len(self.path) + 1:])

    def socket_by_inode(self, inode):
        """The socket node(s) of a kernel object."""
        return [n for n in self.nodes("socket") if n.int("inode") == inode]


class Node:
    def __init__(self, mount, rel):
        self.mount, self.rel = mount, rel
        self.key = rel.split("/")[-1]

    def __repr__(self):
        return self.rel

    def __eq__(self, other):
        return isinstance(other, Node) and self.rel == other.rel

    def __hash__(self):
        return hash(self.rel)

    def exists(self):
        return os.path.isdir(f"{self.mount.path}/{self.rel}")

    def raw(self, attr):
        return self.mount.raw(f"{self.rel}/{attr}")

    def text(self, attr):
        return self.mount.text(f"{self.rel}/{attr}")

    def int(self, attr):
        t = self.text(attr)
        return None if t in (ABSENT, "unknown") else int(t)

    def flag(self, attr):
        t = self.text(attr)
        return None if t in (ABSENT, "unknown") else t in ("true", "1", "yes")

    def argv(self):
        """Exact arguments as a list of bytes."""
        try:
            with open(f"{self.mount.path}/{self.rel}/argv", "rb") as f:
                b = f.read()
        except FileNotFoundError:
            return ABSENT
        if b.endswith(b"\0\n"):
            b = b[:-1]
        if b in (b"", b"\n"):
            return []
        return b[:-1].split(b"\0") if b.endswith(b"\0") else b.split(b"\0")

    def json(self):
        return self.mount.json(f"{self.rel}/node.json")

    def peers(self, direction, edge):
        base = f"{self.rel}/{direction}/{edge}"
        return [self.mount.follow(f"{base}/{n}") for n in self.mount.names(base)]

    def out(self, edge):
        return self.peers("out", edge)

    def into(self, edge):
        return self.peers("in", edge)

    def name_as_peer(self):
        _, kind, key = self.rel.split("/")
        return f"{kind}:{key}"

    def edge_to(self, edge, target):
        """Directory of the edge of that type to the target."""
        return Node(self.mount, f"edges/{edge}/{self.name_as_peer()}--{target.name_as_peer()}")


def fail(*what):
    print(*what, file=sys.stderr)
    sys.exit(1)


def wait_for(fn, seconds=5.0):
    end = time.monotonic() + seconds
    while True:
        try:
            v = fn()
        except (OSError, AssertionError, ValueError):
            v = None
        if v or time.monotonic() > end:
            return v
        time.sleep(0.05)


# --- programs under observation ------------------------------------------------------------------
def die_with_parent():
    libc.prctl(1, signal.SIGKILL, 0, 0, 0)


def set_comm(name):
    libc.prctl(15, ctypes.create_string_buffer(name + b"\0"), 0, 0, 0)


def fork_with_pid(pid):
    """fork() with a chosen pid: clone3 with set_tid. Raises OSError where that is not allowed."""
    tid = (ctypes.c_int * 1)(pid)
    args = (ctypes.c_uint64 * 11)()
    args[4] = signal.SIGCHLD
    args[8] = ctypes.addressof(tid)
    args[9] = 1
    libc.syscall.restype = ctypes.c_long
    r = libc.syscall(ctypes.c_long(435), ctypes.byref(args), ctypes.c_size_t(88))
    if r < 0:
        e = ctypes.get_errno()
        raise OSError(e, os.strerror(e))
    return r


def spawn(fn, *args):
    """Forks a child that runs fn(write_line, ...) and then sleeps; returns (pid, its first line)."""
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        die_with_parent()
        os.close(r)
        try:
            fn(lambda line: os.write(w, line.encode() + b"\n"), *args)
            while True:
                signal.pause()
        finally:
            os._exit(1)
    os.close(w)
    with os.fdopen(r) as f:
        return pid, f.readline().strip()


def hold(facts):
    """Prints the facts as one JSON line and waits for the end of stdin."""
    print(json.dumps(facts), flush=True)
    sys.stdin.read()


def net_up_loopback():
    import fcntl
    import socket
    import struct
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        ifr = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(s, 0x8913, ifr))[1]
        fcntl.ioctl(s, 0x8914, struct.pack("16sh14x", b"lo", flags | 1))


def unshare_net():
    if libc.unshare(0x40000000) != 0:
        e = ctypes.get_errno()
        raise OSError(e, "unshare: " + os.strerror(e))
    net_up_loopback()
