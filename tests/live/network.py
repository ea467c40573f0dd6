# SPDX-License-Identifier: MIT
"""network.py CHECK MOUNT: a server with two clients, looked up in the mount.

CHECK: ipv4 ipv6 mapped netns udp shared other
"""
import os
import signal
import socket
import sys

from wittyfs import Mount, fail, spawn, unshare_net, wait_for

m = Mount(sys.argv[2])
SENT = (1000, 50000)  # by each client
REPLY = 77


def server(tell, family, host, netns):
    if netns:
        unshare_net()
    s = socket.socket(family, socket.SOCK_STREAM)
    if family == socket.AF_INET6:
        s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    s.bind((host, 0))
    s.listen(5)
    tell(f"{s.getsockname()[1]} {os.fstat(s.fileno()).st_ino}")
    keep = [s]
    for _ in SENT:
        a, _ = s.accept()
        keep.append(a)
        want = int(a.recv(8))
        while want > 0:
            want -= len(a.recv(65536))
        a.sendall(b"r" * REPLY)
    while True:
        signal.pause()


def client(tell, family, host, port, n, netns_of):
    if netns_of:
        os_setns(netns_of)
    c = socket.socket(family, socket.SOCK_STREAM)
    c.connect((host, port))
    c.sendall(b"%08d" % (n - 8) + b"x" * (n - 8))
    got = 0
    while got < REPLY:
        got += len(c.recv(65536))
    tell(f"{c.getsockname()[1]} {os.fstat(c.fileno()).st_ino}")
    while True:
        signal.pause()


def os_setns(pid):
    from wittyfs import libc
    fd = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
    if libc.setns(fd, 0x40000000):
        raise OSError("setns")
    os.close(fd)


def owned_socket(node, inode):
    """The socket with that inode that the process (or a thread of it) owns."""
    owners = [node] + [t for t in node.out("own") if t and t.rel.startswith("nodes/thread/")]
    for o in owners:
        for s in o.out("own"):
            if s and s.rel.startswith("nodes/socket/") and s.int("inode") == inode:
                return s
    return None


def flow(node, target):
    """The send_to_socket edge from the process (or a thread of it) to the socket."""
    for o in [node] + [t for t in node.out("own") if t and t.rel.startswith("nodes/thread/")]:
        if target in o.out("send_to_socket"):
            return o.edge_to("send_to_socket", target)
    return None


def connection(pid, inode, addr, peer_pid, port, peer_port, sent):
    """Checks one direction; returns the text of what is wrong."""
    node, peer = m.process(pid), m.process(peer_pid)
    s = owned_socket(node, inode)
    if not s:
        return f"process {pid} does not own the socket with inode {inode}"
    got = (s.text("socket_addr"), s.int("socket_port"), s.text("peer_addr"), s.int("peer_port"), s.text("state"), s.text("socket_type"))
    want = (addr, port, addr, peer_port, "established", "TCP")
    if got != want:
        return f"socket {s}: {got}, should be {want}"
    if node not in s.out("belong") and not any(t in s.out("belong") for t in node.out("own")):
        return f"socket {s} does not belong to {node}: {s.out('belong')}"
    far = [x for x in peer.out("own") if x and x.text("peer_port") == str(port) and x.int("socket_port") == peer_port]
    if len(far) != 1:
        return f"the peer {peer} owns {far} at the other end of {s}"
    if s.flag("remote") or far[0].flag("remote"):
        return "an end on this host is shown as remote"
    edge = flow(node, far[0])
    if not edge or not edge.exists():
        return f"no flow from {node} to {far[0]}: {node.out('send_to_socket')}"
    if edge.int("data_size") != sent or edge.text("connection_type") != "TCP":
        return f"{edge}: data_size {edge.text('data_size')}, sent were {sent}"
    if edge.text("exactness") != "exact":
        return f"{edge}: exactness {edge.text('exactness')}"
    return None


def check_tcp(family, host, client_family, client_host, addr, netns=False):
    spid, line = spawn(server, family, host, netns)
    port, listener = map(int, line.split())
    ends = []
    for n in SENT:
        cpid, line = spawn(client, client_family, client_host, port, n, spid if netns else 0)
        cport, cinode = map(int, line.split())
        ends.append((cpid, cport, cinode, n))

    def inode_of(cport):
        """Inode of the accepted socket, by the server's own tables."""
        for name in ("tcp", "tcp6"):
            for row in open(f"/proc/{spid}/net/{name}").read().splitlines()[1:]:
                f = row.split()
                if int(f[1].split(":")[1], 16) == port and int(f[2].split(":")[1], 16) == cport and f[3] == "01":
                    return int(f[9])

    def wrong():
        lsock = owned_socket(m.process(spid), listener)
        if not lsock or lsock.text("state") != "listen" or lsock.int("socket_port") != port:
            return f"listener of {spid}: {lsock} {lsock and lsock.text('state')}"
        for cpid, cport, cinode, n in ends:
            bad = connection(cpid, cinode, addr, spid, cport, port, n) or connection(spid, inode_of(cport), addr, cpid, port, cport, REPLY)
            if bad:
                return bad
        return None
    # within one interval (500 ms) and the time of a collection
    if not wait_for(lambda: wrong() is None, 2):
        fail(wrong())
    ns = os.stat(f"/proc/{spid}/ns/net").st_ino
    accepted = {owned_socket(m.process(spid), inode_of(e[1])) for e in ends}
    if any(s.int("netns") != ns for s in accepted):
        fail(f"netns of {accepted} is not {ns}")
    if not {s.rel for s in accepted} <= {x.rel for x in (m.follow(f"by/port/{port}/{n}") for n in m.names(f"by/port/{port}")) if x}:
        fail(f"by/port/{port} lacks {accepted}: {m.names(f'by/port/{port}')}")
    edges = [n for n in m.names("edges/send_to_socket") if any(f"process:{p}--" in n for p in (spid, *(e[0] for e in ends)))]
    if len(edges) > 4:
        fail(f"more flows than the 4 that exist: {edges}")
    gone = {s.rel for s in accepted} | {f"nodes/process/{p}" for p in (spid, *(e[0] for e in ends))}
    for pid in (spid, *(e[0] for e in ends)):
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    left = lambda: [g for g in gone if os.path.exists(f"{m.path}/{g}")]
    if not wait_for(lambda: not left(), 2):
        # a connection may stay in the kernel without an owner; its node may not keep the owner
        rest = [g for g in left() if g.startswith("nodes/process/") or m.names(f"{g}/in/own") or m.names(f"{g}/out/belong")]
        if rest:
            fail(f"still there after 2 s: {rest}")


def check_ipv4():
    check_tcp(socket.AF_INET, "127.0.0.1", socket.AF_INET, "127.0.0.1", "127.0.0.1")


def check_ipv6():
    check_tcp(socket.AF_INET6, "::1", socket.AF_INET6, "::1", "::1")


def check_mapped():
    check_tcp(socket.AF_INET6, "::", socket.AF_INET, "127.0.0.1", "127.0.0.1")


def check_netns():
    check_tcp(socket.AF_INET, "127.0.0.1", socket.AF_INET, "127.0.0.1", "127.0.0.1", netns=True)


def check_udp():
    srv = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    srv.bind(("127.0.0.1", 0))
    con = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    con.connect(srv.getsockname())
    con.send(b"x" * 300)
    unc = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    unc.sendto(b"y" * 100, srv.getsockname())
    m.trigger()
    me = m.process(os.getpid())
    s = {n: owned_socket(me, os.fstat(x.fileno()).st_ino) for n, x in (("server", srv), ("connected", con), ("unconnected", unc))}
    if not all(s.values()):
        fail(f"not all UDP sockets are owned: {s}")
    if s["connected"].int("peer_port") != srv.getsockname()[1] or s["connected"].text("state") != "connected":
        fail(f"connected: peer {s['connected'].text('peer_port')} state {s['connected'].text('state')}")
    if s["unconnected"].int("peer_port") or s["unconnected"].text("state") != "unconnected":
        fail(f"unconnected: peer {s['unconnected'].text('peer_port')} state {s['unconnected'].text('state')}")
    if s["server"].text("socket_type") != "UDP" or s["server"].int("socket_port") != srv.getsockname()[1]:
        fail("server: wrong type or port")
    e = flow(me, s["server"])
    if e and e.exists() and e.text("data_size") == "0":
        fail("the size of a UDP flow is not known; it reads 0")


def check_shared():
    """A listener inherited by workers: one node, every holder an owner."""
    s = socket.socket()
    s.bind(("127.0.0.1", 0))
    s.listen(5)
    inode = os.fstat(s.fileno()).st_ino
    pids = [spawn(lambda tell: tell("x"))[0] for _ in range(3)] + [os.getpid()]
    m.trigger()
    nodes = m.socket_by_inode(inode)
    if len(nodes) != 1:
        fail(f"{len(nodes)} nodes for one socket: {nodes}")
    owners = {n.key for n in nodes[0].into("own") if n}
    if owners != {str(p) for p in pids} or nodes[0].int("holders") != len(pids):
        fail(f"owners {owners}, holders {nodes[0].text('holders')}, wanted {pids}")


def check_other():
    """Sockets of other families are shown as such, not as TCP 0.0.0.0:0."""
    made = []
    for args in ((socket.AF_NETLINK, socket.SOCK_RAW, 0), (socket.AF_PACKET, socket.SOCK_RAW, 0), (socket.AF_INET, socket.SOCK_STREAM, 0)):
        try:
            made.append(socket.socket(*args))
        except OSError:
            pass
    m.trigger()
    for s in made:
        nodes = m.socket_by_inode(os.fstat(s.fileno()).st_ino)
        if len(nodes) != 1 or nodes[0].text("socket_type") != "UNKNOWN" or nodes[0].text("socket_addr") not in (None, "unknown", "socket-addr-unknown"):
            fail(f"{s}: {nodes} {nodes and (nodes[0].text('socket_type'), nodes[0].text('socket_addr'))}")


globals()["check_" + sys.argv[1]]()
