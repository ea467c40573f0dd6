/* SPDX-License-Identifier: MIT */
/* The whole collector on a small recorded machine: processes, two network namespaces, text tables.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/proctable.h"
#include "collect/socket.h"

#define TCP_HEAD                                                                                   \
	"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  "      \
	"timeout "                                                                                 \
	"inode\n"
#define TCP_ROW(ends, state, inode)                                                                \
	"   0: " ends " " state " 00000000:00000000 00:00000000 00000000  1000        0 " #inode   \
	" 1 0000000000000000 20 4 30 10 -1\n"
#define UDP_ROW(ends, state, inode)                                                                \
	"  10: " ends " " state " 00000000:00000000 00:00000000 00000000  1000        0 " #inode   \
	" 2 0000000000000000 0\n"

/* A (home): a listener 10 held by 100 and 101, a connection 11 to 12, shared by 101 and 102, with
 * its orphan-less server end; UDP 15 connected to 14. B: a connection to another host. */
static const char tcp_a[] = TCP_HEAD TCP_ROW("00000000:1F40 00000000:0000", "0A", 10)
	TCP_ROW("0100007F:9C40 0100007F:1F40", "01", 11)
		TCP_ROW("0100007F:1F40 0100007F:9C41", "04", 0)
			TCP_ROW("0100007F:9C41 0100007F:1F40", "08", 16);
static const char tcp6_a[] = TCP_HEAD TCP_ROW(
	"0000000000000000FFFF00000100007F:1F40 0000000000000000FFFF00000100007F:9C40", "01", 12);
static const char udp_a[] = TCP_HEAD UDP_ROW("0100007F:1388 00000000:0000", "07", 14)
	UDP_ROW("0100007F:A028 0100007F:1388", "01", 15);
static const char unix_a[] = "Num       RefCount Protocol Flags    Type St Inode Path\n"
			     "0000000000000000: 00000002 00000000 00010000 0001 01 55 /run/x\n";
static const char tcp_b[] = TCP_HEAD TCP_ROW("05000A0A:9C40 010200C0:01BB", "01", 20)
	TCP_ROW("05000A0A:9C41 010200C0:01BB", "01", 21);

static char root[] = "/tmp/wittyfs-test-XXXXXX";

static void make_dirs(char *path)
{
	for (char *p = strchr(path + sizeof(root), '/'); p; p = strchr(p + 1, '/')) {
		*p = '\0';
		mkdir(path, 0755);
		*p = '/';
	}
}

static void put_file(int pid, const char *name, const char *content)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%d/%s", root, pid, name);
	make_dirs(path);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(content, f);
	fclose(f);
}

static void put_link(int pid, const char *name, const char *target)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%d/%s", root, pid, name);
	make_dirs(path);
	assert_int_equal(symlink(target, path), 0);
}

static void put_process(int pid, const char *netns, const uint64_t *sockets)
{
	char text[256], name[64];

	snprintf(text, sizeof(text),
		 "%d (p%d) S 1 %d %d 0 -1 4194304 1 0 0 0 2 1 0 0 20 0 1 0 500 1000000 100 "
		 "18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
		 pid, pid, pid, pid);
	put_file(pid, "stat", text);
	snprintf(name, sizeof(name), "task/%d/stat", pid);
	put_file(pid, name, text);
	snprintf(name, sizeof(name), "task/%d/schedstat", pid);
	put_file(pid, name, "1 1 1\n");
	put_link(pid, "ns/net", netns);
	put_file(pid, "fd/.keep", "");
	for (unsigned int fd = 3; *sockets; sockets++, fd++) {
		snprintf(name, sizeof(name), "fd/%u", fd);
		snprintf(text, sizeof(text), "socket:[%llu]", (unsigned long long)*sockets);
		put_link(pid, name, text);
	}
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	return remove(path);
}

static int setup(void **state)
{
	static const uint64_t none[] = {0}, server[] = {10, 12, 14, 0}, worker[] = {10, 11, 0};
	static const uint64_t client[] = {11, 15, 16, 55, 99, 0}, other[] = {20, 21, 99, 0};

	if (!mkdtemp(root))
		return -1;
	put_process(1, "net:[4026531840]", none);
	put_process(100, "net:[4026531840]", server);
	put_process(101, "net:[4026531840]", worker);
	put_process(102, "net:[4026531840]", client);
	put_process(300, "net:[4026532999]", other);
	put_file(1, "net/tcp", tcp_a);
	put_file(1, "net/tcp6", tcp6_a);
	put_file(1, "net/udp", udp_a);
	put_file(1, "net/unix", unix_a);
	put_file(300, "net/tcp", tcp_b);
	return 0;
}

static int teardown(void **state)
{
	return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* --- one collection --------------------------------------------------------------------------- */
static void add_processes(struct builder *b, struct proctable *procs)
{
	_cleanup_draft_ struct draft d = {0};

	for (uint32_t i = 0; i < proctable_count(procs); i++) {
		struct proc_process *p = proctable_at(procs, i);

		draft_begin(&d, &entity_types[ENTITY_PROCESS]);
		draft_s64(&d, PROCESS_PID, p->pid);
		assert_int_equal(builder_add(b, &d, &p->ident), 0);
	}
}

static struct snapshot *collect(struct collect_report *report)
{
	struct collect_context ctx = {.proc_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
	struct collect_report scan = {0};
	struct builder *b = NULL;
	struct snapshot *s = NULL;
	char reason[512] = "";
	void *state = NULL;

	assert_int_equal(proctable_new(ctx.proc_fd, (struct proctable_limits){0}, &ctx.procs), 0);
	assert_int_equal(proctable_update(ctx.procs, &scan), 0);
	assert_int_equal(collector_socket.methods[0].probe(&ctx, reason, sizeof(reason)),
			 -EOPNOTSUPP);
	assert_string_equal(reason, "a recorded machine");
	assert_int_equal(collector_socket.methods[1].probe(&ctx, reason, sizeof(reason)), 0);
	assert_int_equal(collector_socket.start(&ctx, 1, &state), 0);
	assert_int_equal(builder_new(NULL, (struct builder_limits){0}, &b), 0);
	add_processes(b, ctx.procs);
	assert_int_equal(collector_socket.collect(&ctx, state, b, report), 0);
	assert_int_equal(builder_finish(b, state_new(), &s), 0);
	builder_free(b);
	collector_socket.stop(state);
	proctable_free(ctx.procs);
	close(ctx.proc_fd);
	return s;
}

static const struct object *socket_at(struct snapshot *s, const char *key)
{
	const struct object *o = snapshot_entity_by_key(s, ENTITY_SOCKET, key, strlen(key));

	if (!o)
		print_error("no socket %s\n", key);
	assert_non_null(o);
	return o;
}

static uint64_t process_at(struct snapshot *s, const char *pid)
{
	const struct object *o = snapshot_entity_by_key(s, ENTITY_PROCESS, pid, strlen(pid));

	assert_non_null(o);
	return o->ident;
}

static const struct object *edge(struct snapshot *s, enum edge_type type, uint64_t source,
				 uint64_t target)
{
	return snapshot_edge(s, edge_ident(&edge_types[type], source, target));
}

static unsigned int count_edges(struct snapshot *s, enum edge_type type)
{
	return s->edge_start[type + 1] - s->edge_start[type];
}

static void assert_text(const struct object *o, unsigned int attr, const char *want)
{
	size_t len;
	const char *s = object_bytes(o, attr, &len);

	assert_non_null(s);
	assert_int_equal(len, strlen(want));
	assert_memory_equal(s, want, len);
}

static void check_home(struct snapshot *s)
{
	const struct object *listener = socket_at(s, "tcp-0.0.0.0,8000");
	const struct object *client = socket_at(s, "tcp-127.0.0.1,40000-127.0.0.1,8000");
	const struct object *server = socket_at(s, "tcp-127.0.0.1,8000-127.0.0.1,40000");
	const struct object *e;

	assert_text(listener, SOCKET_STATE, "listen");
	assert_int_equal(object_value(listener, SOCKET_HOLDERS)->u64, 2);
	assert_false(object_has(listener, SOCKET_KEY_NETNS));
	assert_int_equal(object_value(listener, SOCKET_NETNS)->u64, 4026531840);
	assert_text(server, SOCKET_FAMILY, "ipv6");
	assert_int_equal(object_value(client, SOCKET_PEER)->ident, server->ident);
	assert_int_equal(object_value(server, SOCKET_PEER)->ident, client->ident);
	assert_false(object_has(client, SOCKET_BYTES_SENT));
	/* Both holders of the client end send to the server end; how much each, nobody knows. */
	e = edge(s, EDGE_SEND_TO_SOCKET, process_at(s, "101"), server->ident);
	assert_non_null(e);
	assert_non_null(edge(s, EDGE_SEND_TO_SOCKET, process_at(s, "102"), server->ident));
	assert_int_equal(object_value(e, EDGE_SEND_TO_SOCKET_DATA_SIZE)->kind, VALUE_UNKNOWN);
	assert_text(e, EDGE_SEND_TO_SOCKET_EXACTNESS, "unknown");
	assert_non_null(edge(s, EDGE_SEND_TO_SOCKET, process_at(s, "100"), client->ident));
	assert_non_null(edge(s, EDGE_OWN, process_at(s, "101"), client->ident));
	assert_non_null(edge(s, EDGE_BELONG, client->ident, process_at(s, "102")));
	/* The other end of this one is an orphan: nobody's. */
	assert_false(object_has(socket_at(s, "tcp-127.0.0.1,40001-127.0.0.1,8000"), SOCKET_PEER));
	e = edge(s, EDGE_SEND_TO_SOCKET, process_at(s, "102"),
		 socket_at(s, "udp-127.0.0.1,5000")->ident);
	assert_non_null(e);
	assert_text(e, EDGE_SEND_TO_SOCKET_CONNECTION_TYPE, "UDP");
}

static void check_elsewhere(struct snapshot *s)
{
	const struct object *first = socket_at(s, "tcp-10.10.0.5,40000-192.0.2.1,443@4026532999");
	const struct object *remote = socket_at(s, "tcp-192.0.2.1,443@4026532999");
	const struct object *unknown = socket_at(s, "unknown-99");

	assert_int_equal(object_value(first, SOCKET_PEER)->ident, remote->ident);
	assert_true(object_value(remote, SOCKET_REMOTE)->u64);
	assert_false(object_has(remote, SOCKET_INODE));
	assert_non_null(edge(s, EDGE_SEND_TO_SOCKET, process_at(s, "300"), remote->ident));
	assert_text(unknown, SOCKET_SOCKET_TYPE, "UNKNOWN");
	assert_int_equal(object_value(unknown, SOCKET_HOLDERS)->u64, 2);
	assert_non_null(edge(s, EDGE_OWN, process_at(s, "102"), unknown->ident));
	assert_non_null(edge(s, EDGE_OWN, process_at(s, "300"), unknown->ident));
}

static void test_recorded(void **state)
{
	struct collect_report report = {0};
	struct snapshot *s = collect(&report);
	bool unix_counted = false;

	check_home(s);
	check_elsewhere(s);
	assert_int_equal(s->entity_start[ENTITY_SOCKET + 1] - s->entity_start[ENTITY_SOCKET], 10);
	assert_int_equal(count_edges(s, EDGE_OWN), 12);
	assert_int_equal(count_edges(s, EDGE_BELONG), 12);
	assert_int_equal(count_edges(s, EDGE_SEND_TO_SOCKET), 5);
	assert_false(report.degraded);
	for (unsigned int i = 0; i < report.n_lost; i++)
		unix_counted = unix_counted || (strstr(report.lost[i].cause, "unix sockets") &&
						report.lost[i].count == 1);
	assert_true(unix_counted);
	snapshot_unref(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_recorded)};

	return cmocka_run_group_tests(tests, setup, teardown);
}
