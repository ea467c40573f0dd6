/* SPDX-License-Identifier: MIT */
/*
 * Who sent how much on which socket, exactly: from what send and receive returned.
 *
 * Two tracepoints see every call that goes through the socket layer (system calls, io_uring,
 * splice to a socket, kernel users). Two ways around them are seen at the exit of the system call:
 * splice from a socket, and TCP_ZEROCOPY_RECEIVE. Not seen: io_uring's splice from a socket, kTLS
 * and sockmap redirection.
 */
#include "wittyfs_core.h"
#include "sock.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define TCP_ZEROCOPY_RECEIVE 35

/* Sizes are set by user space before loading. Never LRU: that loses counts silently. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, struct sock_key);
	__type(value, struct sock_value);
} counters SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u64);
	__type(value, struct sock_meta);
} metas SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 16384);
	__type(key, struct sock_owner_key);
	__type(value, struct sock_owner);
} owners SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 16384);
	__type(key, struct sock_remote_key);
	__type(value, struct sock_remote);
} remotes SEC(".maps");

/* TCP sockets by address: their inode is gone when they are destroyed. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u64);
	__type(value, __u64);
} inodes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sock_ledger);
} ledger SEC(".maps");

/* Scratch: too large for the stack. Used with preemption off. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sock_meta);
} scratch SEC(".maps");

static __always_inline struct sock_ledger *the_ledger(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&ledger, &zero);
}

static __always_inline void fill_unix(struct sock_meta *m, const struct sock *sk)
{
	const struct unix_sock *u = (const void *)sk;
	struct unix_address *addr = BPF_CORE_READ(u, addr);
	int len;

	m->unix_peer = core_unix_peer_ino(sk);
	if (!addr)
		return;
	len = BPF_CORE_READ(addr, len) - 2; /* less sun_family */
	if (len <= 0)
		return;
	m->name_len = len < SOCK_UNIX_NAME ? len : SOCK_UNIX_NAME;
	bpf_core_read(m->unix_name, sizeof(m->unix_name), &addr->name[0].sun_path);
}

static __always_inline void fill_inet(struct sock_meta *m, const struct sock *sk)
{
	m->local_port = BPF_CORE_READ(sk, __sk_common.skc_num);
	m->remote_port = __builtin_bswap16(BPF_CORE_READ(sk, __sk_common.skc_dport));
	if (m->family == AF_INET) {
		bpf_core_read(m->local, 4, &sk->__sk_common.skc_rcv_saddr);
		bpf_core_read(m->remote, 4, &sk->__sk_common.skc_daddr);
	} else {
		bpf_core_read(m->local, 16, &sk->__sk_common.skc_v6_rcv_saddr);
		bpf_core_read(m->remote, 16, &sk->__sk_common.skc_v6_daddr);
	}
}

/* Writes the metadata of a socket (again), and sets the flags of the counter by it. Off the hot
 * path: at the first call of a thread, and while the peer is not known. */
static __noinline int describe(struct sock *sk, __u64 ino, struct sock_value *v)
{
	struct sock_meta *m, *old;
	struct sock_ledger *l;
	__u32 zero = 0;
	__u64 key = (__u64)sk;
	bool stream;

	if (!v)
		return 0;
	m = bpf_map_lookup_elem(&scratch, &zero);
	if (!m)
		return 0;
	__builtin_memset(m, 0, sizeof(*m));
	m->ino = ino;
	m->sk = key;
	m->first_ns = v->first_ns;
	m->family = BPF_CORE_READ(sk, __sk_common.skc_family);
	m->state = BPF_CORE_READ(sk, __sk_common.skc_state);
	m->type = BPF_CORE_READ(sk, sk_type);
	m->protocol = BPF_CORE_READ(sk, sk_protocol);
	m->netns = BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum);
	stream = m->type != SOCK_DGRAM;
	v->flags = 0;
	if (m->family == AF_UNIX) {
		fill_unix(m, sk);
		if (stream && !m->unix_peer)
			v->flags = SOCK_INCOMPLETE;
	} else if (m->family == AF_INET || m->family == AF_INET6) {
		fill_inet(m, sk);
		if (stream && !m->remote_port)
			v->flags = SOCK_INCOMPLETE;
		if (m->type == SOCK_DGRAM)
			v->flags = SOCK_INET_DGRAM;
		v->remote_port = m->remote_port;
		if (m->protocol == IPPROTO_TCP)
			bpf_map_update_elem(&inodes, &key, &ino, BPF_ANY);
	}
	old = bpf_map_lookup_elem(&metas, &ino);
	if (old && old->sk == key) {
		m->first_ns = old->first_ns;
		m->version = old->version;
		/* The peer of a closed pair is no longer to be had: keep what was known. */
		if (!m->unix_peer)
			m->unix_peer = old->unix_peer;
	}
	m->version++;
	if (bpf_map_update_elem(&metas, &ino, m, BPF_ANY)) {
		l = the_ledger();
		if (l)
			l->meta_lost++;
	}
	return 0;
}

static __always_inline void note_owner(__u64 start_ns, __u32 tgid)
{
	struct sock_owner_key key = {.start_ns = start_ns, .tgid = tgid};
	struct task_struct *leader, *me = (void *)bpf_get_current_task();
	struct sock_owner o = {};
	struct sock_ledger *l;

	if (bpf_map_lookup_elem(&owners, &key))
		return;
	leader = BPF_CORE_READ(me, group_leader);
	bpf_core_read(o.comm, sizeof(o.comm), &leader->comm);
	o.ppid = BPF_CORE_READ(leader, real_parent, tgid);
	o.uid = BPF_CORE_READ(leader, real_cred, uid.val);
	o.netns = BPF_CORE_READ(leader, nsproxy, net_ns, ns.inum);
	if (bpf_map_update_elem(&owners, &key, &o, BPF_ANY)) {
		l = the_ledger();
		if (l)
			l->owner_lost++;
	}
}

static __always_inline void add(struct sock_value *v, int ret, bool tx)
{
	if (ret >= 0) {
		if (tx) {
			v->tx_bytes += ret;
			v->tx_calls++;
		} else {
			v->rx_bytes += ret;
			v->rx_calls++;
		}
	} else if (ret == -EAGAIN) {
		if (tx)
			v->tx_again++;
		else
			v->rx_again++;
	} else {
		if (tx)
			v->tx_errors++;
		else
			v->rx_errors++;
	}
}

/* No room: the event is counted for all together. */
static __always_inline void overflow(int ret, bool tx, long error)
{
	struct sock_ledger *l = the_ledger();

	if (!l)
		return;
	if (error == -E2BIG)
		l->key_full++;
	else if (error == -ENOMEM)
		l->key_nomem++;
	else
		l->key_other++;
	if (ret < 0) {
		if (tx)
			l->tx_errors++;
		else
			l->rx_errors++;
	} else if (tx) {
		l->tx_bytes += ret;
		l->tx_calls++;
	} else {
		l->rx_bytes += ret;
		l->rx_calls++;
	}
}

static __noinline int insert(struct sock *sk, struct sock_key *key, int ret, bool tx)
{
	struct sock_value v = {}, *stored;
	struct task_struct *me = (void *)bpf_get_current_task();
	long error;

	if (!key)
		return 0;
	v.first_ns = v.last_ns = bpf_ktime_get_ns();
	v.start_ns = BPF_CORE_READ(me, group_leader, start_boottime);
	add(&v, ret, tx);
	error = bpf_map_update_elem(&counters, key, &v, BPF_NOEXIST);
	if (error) {
		overflow(ret, tx, error);
		return 0;
	}
	note_owner(v.start_ns, key->tgid);
	stored = bpf_map_lookup_elem(&counters, key);
	if (stored)
		describe(sk, key->ino, stored);
	return 0;
}

/* The address that the running sendto or sendmsg was given; the registers still hold it. */
static __always_inline bool sent_to(struct sock_remote_key *key)
{
	struct task_struct *me = bpf_get_current_task_btf();
	struct core_regs *regs = (void *)bpf_task_pt_regs(me);
	struct {
		__u16 family;
		__be16 port;
		__u8 v4[4];
		__u8 v6[16];
	} addr = {};
	long nr = CORE_SYSCALL_NR(regs);
	void *where = NULL;

	if (nr == CORE_NR_sendto)
		where = (void *)CORE_ARG5(regs);
	else if (nr == CORE_NR_sendmsg) /* msg_name is the first member */
		bpf_probe_read_user(&where, sizeof(where), (void *)CORE_ARG2(regs));
	if (!where)
		return false;
	if (bpf_probe_read_user(&addr, 8, where))
		return false;
	if (addr.family == AF_INET6) {
		if (bpf_probe_read_user(key->addr, 16, where + 8))
			return false;
	} else if (addr.family == AF_INET) {
		__builtin_memcpy(key->addr, addr.v4, 4);
	} else {
		return false;
	}
	key->family = addr.family;
	key->port = __builtin_bswap16(addr.port);
	return true;
}

/* A datagram sent on a socket that has no fixed remote. */
static __noinline int count_remote(__u32 tgid, __u64 ino, int ret)
{
	struct sock_remote_key key = {.tgid = tgid, .ino = ino};
	struct sock_remote *r, fresh = {};
	struct sock_ledger *l;
	bool known = sent_to(&key);

	if (!known) {
		l = the_ledger();
		if (l)
			l->remote_unknown++;
		return 0;
	}
	r = bpf_map_lookup_elem(&remotes, &key);
	if (!r) {
		fresh.first_ns = bpf_ktime_get_ns();
		bpf_map_update_elem(&remotes, &key, &fresh, BPF_NOEXIST);
		r = bpf_map_lookup_elem(&remotes, &key);
	}
	if (!r) {
		l = the_ledger();
		if (l)
			l->remote_lost++;
		return 0;
	}
	/* Threads share the entry. */
	__sync_fetch_and_add(&r->tx_bytes, ret);
	__sync_fetch_and_add(&r->tx_calls, 1);
	r->last_ns = bpf_ktime_get_ns();
	return 0;
}

static __always_inline void account(struct sock *sk, __u64 ino, int ret, bool tx, __u16 dport)
{
	__u64 id = bpf_get_current_pid_tgid();
	struct sock_key key = {.tgid = id >> 32, .tid = (__u32)id, .ino = ino};
	struct sock_value *v = bpf_map_lookup_elem(&counters, &key);

	if (!v) {
		insert(sk, &key, ret, tx);
		v = bpf_map_lookup_elem(&counters, &key);
		if (!v)
			return;
	} else {
		add(v, ret, tx);
		v->last_ns = bpf_ktime_get_ns();
		if (v->flags & SOCK_INCOMPLETE)
			describe(sk, ino, v);
	}
	if (v->flags & SOCK_INET_DGRAM) {
		dport = __builtin_bswap16(dport);
		if (dport != v->remote_port)
			describe(sk, ino, v);
		if (!dport && tx && ret >= 0)
			count_remote(key.tgid, ino, ret);
	}
}

static __always_inline __u64 inode_of(struct sock *sk)
{
	if (bpf_core_field_exists(sk->sk_ino))
		return sk->sk_ino;
	return core_socket_ino(sk->sk_socket);
}

SEC("tp_btf/sock_send_length")
int BPF_PROG(sock_send, struct sock *sk, int ret, int flags)
{
	__u64 ino = inode_of(sk);

	if (ino)
		account(sk, ino, ret, true, sk->__sk_common.skc_dport);
	return 0;
}

SEC("tp_btf/sock_recv_length")
int BPF_PROG(sock_recv, struct sock *sk, int ret, int flags)
{
	struct sock_ledger *l;
	__u64 ino;

	if (flags & (MSG_PEEK | MSG_ERRQUEUE)) {
		l = the_ledger();
		if (l)
			l->peeks++;
		return 0;
	}
	ino = inode_of(sk);
	if (ino)
		account(sk, ino, ret, false, sk->__sk_common.skc_dport);
	return 0;
}

SEC("tp_btf/tcp_destroy_sock")
int BPF_PROG(sock_destroy, struct sock *sk)
{
	const struct tcp_sock *t = (const void *)sk;
	__u64 key = (__u64)sk, *ino = bpf_map_lookup_elem(&inodes, &key);
	struct sock_meta *m;

	if (!ino)
		return 0;
	m = bpf_map_lookup_elem(&metas, ino);
	if (m && m->sk == key) {
		m->final.bytes_sent = BPF_CORE_READ(t, bytes_sent);
		m->final.bytes_retrans = BPF_CORE_READ(t, bytes_retrans);
		m->final.bytes_acked = BPF_CORE_READ(t, bytes_acked);
		m->final.bytes_received = BPF_CORE_READ(t, bytes_received);
		m->final.segs_out = BPF_CORE_READ(t, segs_out);
		m->final.segs_in = BPF_CORE_READ(t, segs_in);
		m->final.total_retrans = BPF_CORE_READ(t, total_retrans);
		m->final.srtt_us = BPF_CORE_READ(t, srtt_us);
		m->final.closed_ns = bpf_ktime_get_ns();
		m->version++;
	}
	bpf_map_delete_elem(&inodes, &key);
	return 0;
}

/* The socket of a descriptor of the running thread; NULL when it is not one. */
static __always_inline struct sock *sock_of_fd(long fd, __u64 *ino)
{
	struct file *file = core_file_of_fd(fd);
	struct inode *inode;
	struct socket *socket;

	if (!file)
		return NULL;
	inode = BPF_CORE_READ(file, f_inode);
	if ((BPF_CORE_READ(inode, i_mode) & S_IFMT) != S_IFSOCK ||
	    BPF_CORE_READ(inode, i_sb, s_magic) != SOCKFS_MAGIC)
		return NULL;
	socket = BPF_CORE_READ(file, private_data);
	*ino = BPF_CORE_READ(inode, i_ino);
	return BPF_CORE_READ(socket, sk);
}

SEC("tp/syscalls/sys_exit_splice")
int sock_splice(struct core_sys_exit *ctx)
{
	struct core_regs *regs = (void *)bpf_task_pt_regs(bpf_get_current_task_btf());
	struct sock *sk;
	__u64 ino = 0;

	/* Failures are rare and cannot be told from those of the other end. */
	if (ctx->ret <= 0)
		return 0;
	sk = sock_of_fd((int)CORE_ARG1(regs), &ino);
	if (sk)
		account(sk, ino, ctx->ret, false, 0);
	return 0;
}

/* struct tcp_zerocopy_receive of include/uapi/linux/tcp.h. */
struct zerocopy {
	__u64 address;
	__u32 length, recv_skip_hint, inq;
	__s32 err;
	__u64 copybuf_address;
	__s32 copybuf_len;
};

SEC("tp/syscalls/sys_exit_getsockopt")
int sock_zerocopy(struct core_sys_exit *ctx)
{
	struct core_regs *regs = (void *)bpf_task_pt_regs(bpf_get_current_task_btf());
	struct zerocopy zc = {};
	__u32 len = 0;
	struct sock *sk;
	__u64 ino = 0;
	int bytes;

	if (ctx->ret || (int)CORE_ARG2(regs) != IPPROTO_TCP ||
	    (int)CORE_ARG3(regs) != TCP_ZEROCOPY_RECEIVE)
		return 0;
	bpf_probe_read_user(&len, sizeof(len), (void *)CORE_ARG5(regs));
	if (len > sizeof(zc))
		len = sizeof(zc);
	bpf_probe_read_user(&zc, len, (void *)CORE_ARG4(regs));
	bytes = zc.length;
	/* What could not be mapped was copied instead. */
	if (len >= __builtin_offsetof(struct zerocopy, copybuf_len) + 4 && zc.copybuf_len > 0)
		bytes += zc.copybuf_len;
	if (bytes <= 0)
		return 0;
	sk = sock_of_fd((int)CORE_ARG1(regs), &ino);
	if (sk)
		account(sk, ino, bytes, false, 0);
	return 0;
}
