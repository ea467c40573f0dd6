/* SPDX-License-Identifier: MIT */
/*
 * The collector of sockets: TCP and UDP, IPv4 and IPv6, in every network namespace.
 *
 * One collection: dump all namespaces into a table (socket_scan), join both ends (socket_table),
 * find the holders by the descriptors in the process table (socket_owners), add entities and edges
 * (socket_emit). Sockets of other families come only from the descriptors, as type UNKNOWN; unix
 * sockets are told from them by their dump, and counted.
 *
 * Methods: sock_diag (with the TCP counters of the kernel), then the text tables of /proc.
 */
#include "collect/collector.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/proctable.h"
#include "collect/socket.h"
#include "collect/socket_diag.h"
#include "collect/socket_emit.h"
#include "collect/socket_owners.h"
#include "collect/socket_proc.h"
#include "collect/socket_scan.h"
#include "util/fdio.h"

enum socket_method {
	METHOD_SOCK_DIAG,
	METHOD_PROC_NET,
};

struct socket_collector {
	enum socket_method method;
	int own_netns_fd;
	uint64_t own_netns; /* of the daemon; 0: of process 1 of a recorded machine */
	bool astray;	    /* the thread could not go back to its own namespace */
	struct socket_table table;
	struct socket_memory memory;
};

/* --- methods ---------------------------------------------------------------------------------- */
static int probe_sock_diag(struct collect_context *ctx, char *reason, size_t size)
{
	_cleanup_socket_diag_ struct socket_diag *d = NULL;
	struct socket_table t = {0};
	bool inconsistent;
	int r;

	if (!ctx->live) {
		snprintf(reason, size, "a recorded machine");
		return -EOPNOTSUPP;
	}
	r = socket_diag_open(&d);
	if (r < 0) {
		snprintf(reason, size,
			 "no netlink socket of sock_diag: %s; the kernel needs CONFIG_INET_DIAG",
			 strerror(-r));
		return r;
	}
	r = socket_diag_inet(d, &socket_sources[0], 0, &t, &inconsistent);
	socket_table_deinit(&t);
	if (r < 0)
		snprintf(reason, size,
			 "the kernel refuses a dump of TCP sockets: %s; try: modprobe tcp_diag",
			 strerror(-r));
	return r;
}

static void closedir_ptr(DIR **d)
{
	if (*d)
		closedir(*d);
}

static bool has_tables(int proc_fd, const char *process)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/net/tcp", process);
	return faccessat(proc_fd, path, R_OK, 0) == 0;
}

static int probe_proc_net(struct collect_context *ctx, char *reason, size_t size)
{
	_cleanup_(closedir_ptr) DIR *dir = NULL;
	const struct dirent *entry;
	int fd;

	if (has_tables(ctx->proc_fd, "self") || has_tables(ctx->proc_fd, "."))
		return 0;
	fd = openat(ctx->proc_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = fd >= 0 ? fdopendir(fd) : NULL;
	if (!dir && fd >= 0)
		close(fd);
	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
		    has_tables(ctx->proc_fd, entry->d_name))
			return 0;
	snprintf(reason, size, "no process has a readable net/tcp under /proc");
	return -ENOENT;
}

static const struct collector_method socket_methods[] = {
	[METHOD_SOCK_DIAG] =
		{"sock_diag",
		 "netlink dump in every network namespace, with the TCP counters of the kernel",
		 probe_sock_diag},
	[METHOD_PROC_NET] =
		{"proc_net",
		 "text tables of one process for each network namespace; no byte counters",
		 probe_proc_net},
};

/* --- life ------------------------------------------------------------------------------------- */
static void socket_stop(void *state)
{
	struct socket_collector *c = state;

	if (!c)
		return;
	close_fd(&c->own_netns_fd);
	socket_table_deinit(&c->table);
	socket_memory_deinit(&c->memory);
	free(c);
}

static int socket_start(struct collect_context *ctx, unsigned int method, void **ret_state)
{
	struct socket_collector *c = calloc(1, sizeof(*c));
	struct stat st;

	if (!c)
		return -ENOMEM;
	c->method = method;
	c->own_netns_fd = -1;
	if (ctx->live) {
		c->own_netns_fd = openat(ctx->proc_fd, "thread-self/ns/net", O_RDONLY | O_CLOEXEC);
		if (c->own_netns_fd < 0 || fstat(c->own_netns_fd, &st) < 0) {
			int r = -errno;

			/* The text tables do without. */
			if (method == METHOD_SOCK_DIAG) {
				socket_stop(c);
				return r;
			}
		} else {
			c->own_netns = st.st_ino;
		}
	}
	*ret_state = c;
	return 0;
}

static void socket_clear(void *state)
{
	struct socket_collector *c = state;

	socket_table_deinit(&c->table);
	socket_memory_deinit(&c->memory);
}

/* --- report ----------------------------------------------------------------------------------- */
static void degrade(struct collect_report *r, const char *fmt, ...) _printf_(2, 3);

static void degrade(struct collect_report *r, const char *fmt, ...)
{
	size_t n = strnlen(r->reason, sizeof(r->reason));
	va_list ap;

	r->degraded = true;
	if (n && n < sizeof(r->reason) - 3)
		n += (size_t)snprintf(r->reason + n, sizeof(r->reason) - n, "; ");
	va_start(ap, fmt);
	if (n < sizeof(r->reason) - 1)
		vsnprintf(r->reason + n, sizeof(r->reason) - n, fmt, ap);
	va_end(ap);
}

static void lose(struct collect_report *r, const char *cause, uint64_t n)
{
	if (n)
		collect_lost(r, cause, n);
}

static void report_scan(struct collect_report *r, const struct socket_scan *s)
{
	if (s->from_text)
		degrade(r,
			"%u network namespaces read without byte counters (%s): run as root or "
			"with "
			"CAP_SYS_ADMIN",
			s->from_text, strerror(-s->refused));
	if (s->tables_from_text)
		degrade(r, "%u tables read without counters (%s): modprobe tcp_diag udp_diag",
			s->tables_from_text, strerror(-s->refused));
	if (s->unreadable)
		degrade(r,
			"network namespace not readable (%u): run as root or with "
			"CAP_SYS_ADMIN and CAP_SYS_PTRACE",
			s->unreadable);
	/* Root is refused only by what guards a single process: the user cannot mend that. */
	if (s->hidden_processes && geteuid() != 0)
		degrade(r,
			"network namespace of %u processes not readable: run as root or with "
			"CAP_SYS_PTRACE",
			s->hidden_processes);
	lose(r, "processes whose network namespace is not readable", s->hidden_processes);
	lose(r, "network namespace not readable", s->unreadable);
	lose(r, "dumps that the kernel called inconsistent", s->inconsistent);
}

static void report_table(struct collect_report *r, const struct socket_table *t,
			 uint64_t missing_peers)
{
	lose(r, "unix sockets (not shown by this version)", t->unix_inodes.n);
	lose(r, "sockets beyond the limit of the collector", t->dropped + t->unix_inodes.dropped);
	lose(r, "connections whose other end on this host was not seen", missing_peers);
}

/* --- collection ------------------------------------------------------------------------------- */
static int go_home(struct socket_collector *c)
{
	if (!c->astray)
		return 0;
	if (setns(c->own_netns_fd, CLONE_NEWNET) < 0)
		return -errno;
	c->astray = false;
	return 0;
}

/* Sockets of the daemon's own namespace have the plain names; on a recorded machine, of process 1.
 */
static uint64_t home_netns(const struct socket_collector *c, const struct proctable *procs)
{
	const struct proc_process *init;

	if (c->own_netns)
		return c->own_netns;
	init = proctable_find(procs, 1);
	if (!init && proctable_count(procs))
		init = proctable_at(procs, 0);
	return init ? init->ns[PROC_NS_NET] : 0;
}

static int find_owners(struct socket_collector *c, struct collect_context *ctx,
		       struct socket_owners *o)
{
	bool walk;
	int r = socket_owners_find(o, &c->table, ctx->procs);

	if (r < 0)
		return r;
	walk = ctx->live && socket_owners_want_walk(o, &c->memory);
	if (walk) {
		proctable_walk_fds(ctx->procs);
		r = socket_owners_find(o, &c->table, ctx->procs);
		if (r < 0)
			return r;
	}
	/* What was recorded does not change: nothing is to be waited for. */
	r = socket_memory_keep(&c->memory, o, walk || !ctx->live);
	if (r < 0 || !ctx->live)
		return r;
	return socket_owners_verify(o, &c->memory, ctx->proc_fd, ctx->procs);
}

static int socket_collect(struct collect_context *ctx, void *state, struct builder *b,
			  struct collect_report *report)
{
	_cleanup_socket_owners_ struct socket_owners owners = {0};
	struct socket_collector *c = state;
	struct socket_scan scan = {
		.proc_fd = ctx->proc_fd,
		.use_diag = c->method == METHOD_SOCK_DIAG,
		.own_netns_fd = c->own_netns_fd,
		.own_netns = home_netns(c, ctx->procs),
		.procs = ctx->procs,
		.table = &c->table,
	};
	struct socket_emit emit = {
		.table = &c->table,
		.owners = &owners,
		.memory = &c->memory,
		.procs = ctx->procs,
		.own_netns = scan.own_netns,
		.builder = b,
	};
	int r = go_home(c);

	if (r < 0)
		return r;
	socket_table_reset(&c->table);
	r = socket_scan_run(&scan);
	c->astray = r == -ENOTRECOVERABLE;
	if (r < 0)
		return r;
	inode_set_sort(&c->table.unix_inodes);
	r = socket_table_index(&c->table);
	if (r < 0)
		return r;
	socket_table_join(&c->table);
	r = find_owners(c, ctx, &owners);
	if (r == 0)
		r = socket_emit_all(&emit);
	if (r < 0)
		return r;
	report_scan(report, &scan);
	report_table(report, &c->table, emit.missing_peers);
	return 0;
}

const struct collector collector_socket = {
	.name = "socket",
	.doc = "TCP and UDP sockets of every network namespace, their holders and both ends",
	.methods = socket_methods,
	.n_methods = ARRAY_SIZE(socket_methods),
	.start = socket_start,
	.stop = socket_stop,
	.clear = socket_clear,
	.collect = socket_collect,
};
