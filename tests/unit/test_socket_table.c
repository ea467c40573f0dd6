/* SPDX-License-Identifier: MIT */
/* Rows, and the joining of both ends of connections. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "collect/socket_table.h"

static struct socket_table table;

static int setup(void **state)
{
	socket_table_deinit(&table);
	table.limit = 0;
	return 0;
}

static int teardown(void **state)
{
	socket_table_deinit(&table);
	return 0;
}

static void set_address(uint8_t address[16], const char *s)
{
	uint8_t raw[16];

	if (strchr(s, ':')) {
		assert_int_equal(inet_pton(AF_INET6, s, raw), 1);
		socket_address_set(address, raw, 16);
	} else {
		assert_int_equal(inet_pton(AF_INET, s, raw), 1);
		socket_address_set(address, raw, 4);
	}
}

/* peer "" is none. Returns the position. */
static uint32_t add(uint8_t protocol, uint64_t netns, uint64_t inode, const char *local,
		    uint16_t local_port, const char *peer, uint16_t peer_port)
{
	struct socket_row *row;

	assert_int_equal(socket_table_append(&table, &row), 0);
	assert_non_null(row);
	row->protocol = protocol;
	row->family = strchr(local, ':') ? AF_INET6 : AF_INET;
	row->netns = netns;
	row->inode = inode;
	set_address(row->local, local);
	row->local_port = local_port;
	row->state = SOCKET_STATE_CLOSE;
	if (*peer) {
		set_address(row->peer, peer);
		row->peer_port = peer_port;
		row->state = SOCKET_STATE_ESTABLISHED;
	}
	return table.n - 1;
}

static uint32_t tcp(uint64_t netns, uint64_t inode, const char *local, uint16_t local_port,
		    const char *peer, uint16_t peer_port)
{
	return add(IPPROTO_TCP, netns, inode, local, local_port, peer, peer_port);
}

static uint32_t udp(uint64_t netns, uint64_t inode, const char *local, uint16_t local_port,
		    const char *peer, uint16_t peer_port)
{
	return add(IPPROTO_UDP, netns, inode, local, local_port, peer, peer_port);
}

static void join(void)
{
	assert_int_equal(socket_table_index(&table), 0);
	socket_table_join(&table);
}

static void assert_peers(uint32_t a, uint32_t b)
{
	assert_int_equal(table.rows[a].peer_row, b);
	assert_int_equal(table.rows[b].peer_row, a);
}

static void assert_peer(uint32_t a, uint32_t what)
{
	assert_int_equal(table.rows[a].peer_row, what);
}

static void test_text(void **state)
{
	static const struct {
		const char *in;
		uint32_t ifindex;
		const char *out;
	} cases[] = {
		{"0.0.0.0", 0, "0.0.0.0"},
		{"255.255.255.255", 0, "255.255.255.255"},
		{"10.0.109.9", 4, "10.0.109.9"},
		{"::", 0, "::"},
		{"::1", 7, "::1"},
		{"::ffff:1.2.3.4", 0, "1.2.3.4"},
		{"fe80::1", 0, "fe80::1"},
		{"fe80::1", 3, "fe80::1%3"},
		{"febf::1", 3, "febf::1%3"},
		{"2001:db8::1", 3, "2001:db8::1"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char s[SOCKET_ADDRESS_TEXT];
		uint8_t a[16];

		set_address(a, cases[i].in);
		assert_int_equal(socket_address_text(a, cases[i].ifindex, s), strlen(cases[i].out));
		assert_string_equal(s, cases[i].out);
	}
}

static void test_same_namespace(void **state)
{
	uint32_t c = tcp(1, 10, "127.0.0.1", 40000, "127.0.0.1", 8000);
	uint32_t l = tcp(1, 11, "127.0.0.1", 8000, "", 0);
	/* The server end is IPv6, its addresses are mapped. */
	uint32_t s = tcp(1, 12, "::ffff:127.0.0.1", 8000, "::ffff:127.0.0.1", 40000);
	/* The same five numbers as UDP. */
	uint32_t u = udp(1, 13, "127.0.0.1", 8000, "127.0.0.1", 40000);

	join();
	assert_peers(c, s);
	assert_peer(l, SOCKET_PEER_NONE);
	assert_peer(u, SOCKET_PEER_MISSING);
}

static void test_equal_tuples_in_two_namespaces(void **state)
{
	uint32_t end[2][2];

	for (unsigned int i = 0; i < 2; i++) {
		end[i][0] = tcp(i + 1, 10 + i, "10.244.0.5", 40000, "10.244.0.5", 8000);
		end[i][1] = tcp(i + 1, 20 + i, "10.244.0.5", 8000, "10.244.0.5", 40000);
	}
	join();
	assert_peers(end[0][0], end[0][1]);
	assert_peers(end[1][0], end[1][1]);
}

static void test_across_namespaces(void **state)
{
	uint32_t a = tcp(1, 10, "10.0.0.1", 40000, "10.0.0.2", 80);
	uint32_t b = tcp(2, 11, "10.0.0.2", 80, "10.0.0.1", 40000);
	/* Two candidates: nobody can say which. */
	uint32_t x = tcp(1, 12, "10.0.0.1", 41000, "10.0.0.3", 80);
	uint32_t y = tcp(2, 13, "10.0.0.3", 80, "10.0.0.1", 41000);
	uint32_t z = tcp(3, 14, "10.0.0.3", 80, "10.0.0.1", 41000);
	/* Loopback never leaves its namespace. */
	uint32_t l = tcp(1, 15, "127.0.0.1", 42000, "127.0.0.1", 80);
	uint32_t m = tcp(2, 16, "127.0.0.1", 80, "127.0.0.1", 42000);
	uint32_t r = tcp(1, 17, "10.0.0.1", 43000, "192.0.2.1", 443);

	join();
	assert_peers(a, b);
	assert_peer(x, SOCKET_PEER_REMOTE);
	assert_peer(y, SOCKET_PEER_REMOTE);
	assert_peer(z, SOCKET_PEER_REMOTE);
	assert_peer(l, SOCKET_PEER_MISSING);
	assert_peer(m, SOCKET_PEER_MISSING);
	assert_peer(r, SOCKET_PEER_REMOTE);
}

/* A socket that has its other end at home is no candidate for one elsewhere. */
static void test_claimed_at_home(void **state)
{
	uint32_t c = tcp(1, 10, "10.0.0.1", 40000, "10.0.0.2", 80);
	uint32_t s = tcp(1, 11, "10.0.0.2", 80, "10.0.0.1", 40000);
	uint32_t other = tcp(2, 12, "10.0.0.1", 40000, "10.0.0.2", 80);

	join();
	assert_peers(c, s);
	assert_peer(other, SOCKET_PEER_REMOTE);
}

static void test_nobody(void **state)
{
	uint32_t a = tcp(1, 10, "10.0.0.1", 8000, "10.0.0.1", 40000);
	uint32_t orphan = tcp(1, 0, "10.0.0.1", 40000, "10.0.0.1", 8000);

	join();
	assert_peer(a, SOCKET_PEER_NOBODY);
	assert_int_equal(table.n_order, 1);
	assert_int_equal(table.order[0], a);
	assert_int_equal(socket_table_find(&table, 0), UINT32_MAX);
	(void)orphan;
}

static void test_udp(void **state)
{
	uint32_t server = udp(1, 10, "127.0.0.1", 5000, "", 0);
	uint32_t connected = udp(1, 11, "127.0.0.1", 41000, "127.0.0.1", 5000);
	uint32_t unconnected = udp(1, 12, "0.0.0.0", 42000, "", 0);
	/* A wildcard socket is the end of what goes to this host, not of what goes elsewhere. */
	uint32_t resolver = udp(1, 13, "0.0.0.0", 53, "", 0);
	uint32_t to_own = udp(1, 14, "10.0.0.1", 43000, "10.0.0.1", 53);
	uint32_t to_far = udp(1, 15, "10.0.0.1", 43001, "8.8.8.8", 53);
	/* Two share a port. */
	uint32_t pair = udp(1, 16, "127.0.0.1", 44000, "127.0.0.1", 6000);
	uint32_t nobody = udp(1, 19, "127.0.0.1", 45000, "127.0.0.1", 7);
	uint32_t other = udp(2, 20, "127.0.0.1", 46000, "127.0.0.1", 5000);
	uint32_t group = udp(1, 21, "10.0.0.1", 47000, "224.0.0.251", 5353);

	udp(1, 17, "127.0.0.1", 6000, "", 0);
	udp(1, 18, "127.0.0.1", 6000, "", 0);
	udp(1, 22, "224.0.0.251", 5353, "", 0);
	join();
	assert_peer(connected, server);
	assert_peer(server, SOCKET_PEER_NONE);
	assert_peer(unconnected, SOCKET_PEER_NONE);
	assert_peer(to_own, resolver);
	assert_peer(to_far, SOCKET_PEER_REMOTE);
	assert_peer(pair, SOCKET_PEER_NONE);
	assert_peer(nobody, SOCKET_PEER_MISSING);
	assert_peer(other, SOCKET_PEER_MISSING);
	assert_peer(group, SOCKET_PEER_REMOTE);
}

static void test_udp_wildcards(void **state)
{
	uint32_t six = udp(1, 10, "::", 53, "", 0), four, dual, c4, c6, cd;

	table.rows[six].flags |= SOCKET_ROW_V6ONLY;
	four = udp(1, 11, "0.0.0.0", 53, "", 0);
	dual = udp(1, 12, "::", 54, "", 0);
	c4 = udp(1, 13, "127.0.0.1", 40000, "127.0.0.1", 53);
	c6 = udp(1, 14, "::1", 40000, "::1", 53);
	cd = udp(1, 15, "127.0.0.1", 40001, "127.0.0.1", 54);
	join();
	assert_peer(c4, four);
	assert_peer(c6, six);
	assert_peer(cd, dual);
}

static void test_double_rows_and_order(void **state)
{
	uint32_t first = tcp(2, 10, "127.0.0.1", 1, "127.0.0.1", 2);
	uint32_t again = tcp(2, 10, "127.0.0.1", 3, "127.0.0.1", 4);
	uint32_t early = tcp(1, 99, "127.0.0.1", 5, "", 0);

	join();
	assert_int_equal(table.n_order, 2);
	assert_int_equal(table.order[0], early);
	assert_int_equal(table.order[1], first);
	assert_true(table.rows[again].flags & SOCKET_ROW_DOUBLE);
	assert_int_equal(socket_table_find(&table, 10), first);
	assert_int_equal(socket_table_find(&table, 99), early);
}

static void test_self_and_closing(void **state)
{
	uint32_t self = tcp(1, 10, "127.0.0.1", 9, "127.0.0.1", 9);
	uint32_t syn = tcp(1, 11, "10.0.0.1", 10, "192.0.2.1", 80);

	table.rows[syn].state = SOCKET_STATE_SYN_SENT;
	join();
	assert_peer(self, self);
	assert_peer(syn, SOCKET_PEER_NONE);
}

static void test_limit(void **state)
{
	struct socket_row *row;

	table.limit = 10;
	for (unsigned int i = 0; i < 25; i++)
		assert_int_equal(socket_table_append(&table, &row), 0);
	assert_null(row);
	assert_int_equal(table.n, 10);
	assert_int_equal(table.dropped, 15);
	socket_table_truncate(&table, 4);
	assert_int_equal(socket_table_append(&table, &row), 0);
	assert_non_null(row);
	join();
	socket_table_reset(&table);
	assert_int_equal(table.n, 0);
	assert_int_equal(table.dropped, 0);
	join();
	assert_int_equal(socket_table_find(&table, 1), UINT32_MAX);
}

static void test_set(void **state)
{
	struct inode_set s = {0};

	assert_false(inode_set_has(&s, 0));
	for (uint64_t i = 2000; i > 0; i--)
		assert_int_equal(inode_set_add(&s, i / 2), 0);
	inode_set_sort(&s);
	assert_int_equal(s.n, 1001);
	assert_true(inode_set_has(&s, 1000));
	assert_false(inode_set_has(&s, 1001));
	inode_set_deinit(&s);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_text),
		TEST(test_same_namespace),
		TEST(test_equal_tuples_in_two_namespaces),
		TEST(test_across_namespaces),
		TEST(test_claimed_at_home),
		TEST(test_nobody),
		TEST(test_udp),
		TEST(test_udp_wildcards),
		TEST(test_double_rows_and_order),
		TEST(test_self_and_closing),
		TEST(test_limit),
		TEST(test_set),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
