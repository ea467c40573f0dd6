/* SPDX-License-Identifier: MIT */
/* The parser of /proc/<pid>/net/{tcp,tcp6,udp,udp6,unix}. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/socket_proc.h"

#define TCP_HEAD                                                                                   \
	"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  "      \
	"timeout "                                                                                 \
	"inode\n"

static const char *text(const uint8_t address[16], uint32_t ifindex)
{
	static char s[SOCKET_ADDRESS_TEXT];

	socket_address_text(address, ifindex, s);
	return s;
}

static int line(struct socket_table *t, unsigned int source, const char *s)
{
	return socket_proc_line(s, strlen(s), &socket_sources[source], 7, t);
}

static void test_tcp(void **state)
{
	struct socket_table t = {0};
	const struct socket_row *r;

	assert_int_equal(line(&t, 0, TCP_HEAD), 0);
	assert_int_equal(line(&t, 0,
			      "   0: 0100007F:1F90 0500F40A:9C40 01 00000010:00000020 01:00000014 "
			      "00000000  1000        0 54321 2 0000000000000000 20 4 30 10 -1"),
			 1);
	assert_int_equal(t.n, 1);
	r = &t.rows[0];
	assert_string_equal(text(r->local, 0), "127.0.0.1");
	assert_int_equal(r->local_port, 8080);
	assert_string_equal(text(r->peer, 0), "10.244.0.5");
	assert_int_equal(r->peer_port, 40000);
	assert_int_equal(r->tx_queue, 16);
	assert_int_equal(r->rx_queue, 32);
	assert_int_equal(r->uid, 1000);
	assert_int_equal(r->inode, 54321);
	assert_int_equal(r->netns, 7);
	assert_string_equal(socket_row_state(r), "established");
	assert_true(socket_row_connected(r));
	assert_false(r->flags & SOCKET_ROW_SENT);
	socket_table_deinit(&t);
}

static void test_listener_and_nobody(void **state)
{
	struct socket_table t = {0};

	assert_int_equal(line(&t, 0,
			      "   1: 00000000:0016 00000000:0000 0A 00000000:00000003 00:00000000 "
			      "00000000     0        0 900 1 0000000000000000 100 0 0 10 0"),
			 1);
	assert_false(socket_row_connected(&t.rows[0]));
	assert_false(t.rows[0].flags & SOCKET_ROW_TX_QUEUE);
	assert_int_equal(t.rows[0].rx_queue, 3);
	/* TIME_WAIT is left out, an orphan in FIN_WAIT1 is kept for the joining. */
	assert_int_equal(line(&t, 0,
			      "   2: 0100007F:1F90 0100007F:9C40 06 00000000:00000000 03:00000B5E "
			      "00000000     0        0 0 3 0000000000000000"),
			 0);
	assert_int_equal(line(&t, 0,
			      "   3: 0100007F:1F90 0100007F:9C41 04 00000000:00000000 03:00000B5E "
			      "00000000     0        0 0 3 0000000000000000"),
			 1);
	assert_int_equal(t.rows[1].inode, 0);
	socket_table_deinit(&t);
}

static void test_six_and_udp(void **state)
{
	struct socket_table t = {0};

	assert_int_equal(line(&t, 1,
			      "   0: 0000000000000000FFFF00000100007F:1F90 "
			      "0000000000000000FFFF00000100007F:9C40 "
			      "01 00000000:00000000 00:00000000 00000000     0        0 17 1 0 20 "
			      "4 0 10 -1"),
			 1);
	assert_string_equal(text(t.rows[0].local, 0), "127.0.0.1");
	assert_int_equal(t.rows[0].family, AF_INET6);
	assert_int_equal(
		line(&t, 1,
		     "   0: 000080FE000000000000000001000000:1F90 "
		     "B80D0120000000000000000002000000:9C40 01 00000000:00000000 00:00000000 "
		     "00000000     0        0 18 1 0 20 4 0 10 -1"),
		1);
	assert_string_equal(text(t.rows[1].local, 3), "fe80::1%3");
	assert_string_equal(text(t.rows[1].peer, 3), "2001:db8::2");
	assert_int_equal(line(&t, 2,
			      "  123: 3500007F:0035 00000000:0000 07 00000000:00000A00 00:00000000 "
			      "00000000   101        0 19 2 0000000000000000 42"),
			 1);
	assert_string_equal(socket_row_state(&t.rows[2]), "unconnected");
	assert_true(t.rows[2].flags & SOCKET_ROW_DROPS);
	assert_int_equal(t.rows[2].drops, 42);
	socket_table_deinit(&t);
}

static void test_nonsense(void **state)
{
	static const char *const lines[] = {
		"",
		" ",
		":",
		"0",
		"0:",
		"   0: 0100007F",
		"   0: 0100007F:1F90 0500F40A:9C40",
		("   0: 0100007F:1F90 0500F40A:9C40 01 00000010:00000020 01:00000014 00000000  "
		 "1000 "
		 " 0"),
		"   0: 0100007F:1F90 0500F40A:9C40 FF 0:0 0:0 0 0 0 1",
		"   x: 0100007F:1F90 0500F40A:9C40 01 0:0 0:0 0 0 0 1",
	};
	struct socket_table t = {0};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		assert_int_equal(line(&t, 0, lines[i]), 0);
	assert_int_equal(t.n, 0);
	/* Every cut and every changed byte of a good line: no crash, at most one row. */
	for (unsigned int seed = 0; seed < 200; seed++) {
		char s[] = "   0: 0100007F:1F90 0500F40A:9C40 01 00000010:00000020 01:00000014 "
			   "00000000  1000        0 54321 2 0 20 4 30 10 -1";
		size_t len = sizeof(s) - 1 - seed % 100;
		char *copy = malloc(len);

		s[seed % len] = (char)(seed * 37);
		memcpy(copy, s, len);
		for (unsigned int source = 0; source < SOCKET_SOURCES; source++)
			assert_true(socket_proc_line(copy, len, &socket_sources[source], 1, &t) >=
				    0);
		socket_proc_unix_line(copy, len);
		free(copy);
	}
	socket_table_deinit(&t);
}

static void test_unix(void **state)
{
	const char *good = "ffff8881: 00000002 00000000 00010000 0001 01 12345 /run/a b";
	const char *head = "Num       RefCount Protocol Flags    Type St Inode Path";

	assert_int_equal(socket_proc_unix_line(good, strlen(good)), 12345);
	assert_int_equal(socket_proc_unix_line(head, strlen(head)), 0);
	assert_int_equal(socket_proc_unix_line("", 0), 0);
}

/* Many lines over the size of a read, the last one without a newline; then the limit of the table.
 */
static void test_file(void **state)
{
	char path[] = "/tmp/wittyfs-test-XXXXXX";
	int fd = mkstemp(path);
	FILE *f = fdopen(fd, "w");
	struct socket_table t = {.limit = 1000};

	assert_non_null(f);
	fputs(TCP_HEAD, f);
	for (int i = 1; i <= 2000; i++)
		fprintf(f,
			"%4d: 0100007F:%04X 0100007F:9C40 01 00000000:00000000 00:00000000 "
			"00000000     0 "
			"       0 %d 1 0000000000000000 20 4 30 10 -1%s",
			i, i, i, i == 2000 ? "" : "\n");
	fclose(f);
	assert_int_equal(socket_proc_inet(AT_FDCWD, path, &socket_sources[0], 1, &t), 0);
	assert_int_equal(t.n, 1000);
	assert_int_equal(t.dropped, 1000);
	socket_table_deinit(&t);
	t.limit = 0;
	assert_int_equal(socket_proc_inet(AT_FDCWD, path, &socket_sources[0], 1, &t), 0);
	assert_int_equal(t.n, 2000);
	assert_int_equal(t.rows[1999].inode, 2000);
	assert_int_equal(socket_proc_inet(AT_FDCWD, "/nonexistent", &socket_sources[0], 1, &t),
			 -ENOENT);
	assert_int_equal(t.n, 2000);
	socket_table_deinit(&t);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tcp),	    cmocka_unit_test(test_listener_and_nobody),
		cmocka_unit_test(test_six_and_udp), cmocka_unit_test(test_nonsense),
		cmocka_unit_test(test_unix),	    cmocka_unit_test(test_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
