/* SPDX-License-Identifier: MIT */
/* The parser of sock_diag messages: records made by hand, then broken in every way; and the kernel.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <linux/unix_diag.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/socket_diag.h"

struct message {
	_Alignas(8) uint8_t data[4096];
	size_t len;
};

static struct nlmsghdr *begin(struct message *m, uint16_t type)
{
	struct nlmsghdr *h = (struct nlmsghdr *)(m->data + m->len);

	*h = (struct nlmsghdr){.nlmsg_len = NLMSG_HDRLEN, .nlmsg_type = type};
	return h;
}

static void put(struct nlmsghdr *h, const void *data, size_t len)
{
	memcpy((uint8_t *)h + h->nlmsg_len, data, len);
	h->nlmsg_len += NLMSG_ALIGN(len);
}

static void put_attr(struct nlmsghdr *h, uint16_t type, const void *data, size_t len)
{
	struct nlattr a = {.nla_len = (uint16_t)(NLA_HDRLEN + len), .nla_type = type};

	put(h, &a, sizeof(a));
	put(h, data, len);
}

static void end(struct message *m, struct nlmsghdr *h)
{
	m->len += NLMSG_ALIGN(h->nlmsg_len);
}

static void add_socket(struct message *m, uint8_t state, const struct tcp_info *info,
		       size_t info_len)
{
	struct nlmsghdr *h = begin(m, SOCK_DIAG_BY_FAMILY);
	struct inet_diag_msg d = {.idiag_family = AF_INET,
				  .idiag_state = state,
				  .idiag_inode = 4711,
				  .idiag_uid = 33,
				  .idiag_rqueue = 5,
				  .idiag_wqueue = 6};

	d.id.idiag_sport = htons(8000);
	d.id.idiag_dport = htons(40000);
	d.id.idiag_src[0] = htonl(0x0a000001);
	d.id.idiag_dst[0] = htonl(0x0a000002);
	put(h, &d, sizeof(d));
	if (info)
		put_attr(h, INET_DIAG_INFO, info, info_len);
	end(m, h);
}

static void add_done(struct message *m, int32_t error)
{
	struct nlmsghdr *h = begin(m, NLMSG_DONE);

	put(h, &error, sizeof(error));
	end(m, h);
}

static const struct tcp_info example = {
	.tcpi_rtt = 120,
	.tcpi_bytes_sent = 1100,
	.tcpi_bytes_retrans = 100,
	.tcpi_notsent_bytes = 51,
	.tcpi_bytes_received = 501,
	.tcpi_data_segs_out = 9,
	.tcpi_data_segs_in = 8,
};

static struct socket_row parse(uint8_t state, const struct tcp_info *info, size_t info_len)
{
	struct message m = {0};
	struct socket_table t = {0};
	struct socket_diag_parse p = {.table = &t, .protocol = IPPROTO_TCP, .netns = 3};
	struct socket_row row;

	add_socket(&m, state, info, info_len);
	add_done(&m, 0);
	assert_int_equal(socket_diag_feed(&p, m.data, m.len), 1);
	assert_int_equal(t.n, 1);
	row = t.rows[0];
	socket_table_deinit(&t);
	return row;
}

static void test_record(void **state)
{
	struct socket_row r = parse(SOCKET_STATE_ESTABLISHED, &example, sizeof(example));
	char s[SOCKET_ADDRESS_TEXT];

	socket_address_text(r.local, 0, s);
	assert_string_equal(s, "10.0.0.1");
	assert_int_equal(r.local_port, 8000);
	assert_int_equal(r.peer_port, 40000);
	assert_int_equal(r.inode, 4711);
	assert_int_equal(r.uid, 33);
	assert_int_equal(r.netns, 3);
	assert_int_equal(r.bytes_sent, 1051); /* first transmissions and what waits */
	assert_int_equal(r.bytes_received, 501);
	assert_int_equal(r.bytes_retransmitted, 100);
	assert_int_equal(r.segments_sent, 9);
	assert_int_equal(r.rtt_us, 120);
}

static void test_fin(void **state)
{
	/* Our FIN waits behind the data; the FIN of the other end was counted as a byte. */
	assert_int_equal(parse(SOCKET_STATE_FIN_WAIT1, &example, sizeof(example)).bytes_sent, 1050);
	assert_int_equal(parse(SOCKET_STATE_CLOSE_WAIT, &example, sizeof(example)).bytes_received,
			 500);
	assert_int_equal(parse(SOCKET_STATE_FIN_WAIT2, &example, sizeof(example)).bytes_received,
			 501);
}

static void test_old_kernel(void **state)
{
	struct socket_row r = parse(SOCKET_STATE_ESTABLISHED, &example,
				    offsetof(struct tcp_info, tcpi_bytes_sent));

	assert_false(r.flags & SOCKET_ROW_SENT); /* absent, not 0 */
	assert_true(r.flags & SOCKET_ROW_RECEIVED);
	r = parse(SOCKET_STATE_ESTABLISHED, &example, 4);
	assert_int_equal(r.flags, SOCKET_ROW_RX_QUEUE | SOCKET_ROW_TX_QUEUE);
	/* A listener has no such numbers. */
	r = parse(SOCKET_STATE_LISTEN, &example, sizeof(example));
	assert_int_equal(r.flags, SOCKET_ROW_RX_QUEUE | SOCKET_ROW_TX_QUEUE);
}

static void test_end_and_errors(void **state)
{
	struct socket_table t = {0};
	struct socket_diag_parse p = {.table = &t, .protocol = IPPROTO_TCP};
	struct message m = {0};
	struct nlmsghdr *h;

	add_socket(&m, 1, NULL, 0);
	assert_int_equal(socket_diag_feed(&p, m.data, m.len), 0);
	m.len = 0;
	add_done(&m, -ENOENT);
	assert_int_equal(socket_diag_feed(&p, m.data, m.len), -ENOENT);
	m.len = 0;
	h = begin(&m, NLMSG_ERROR);
	put(h, &(int32_t){-EPERM}, 4);
	end(&m, h);
	assert_int_equal(socket_diag_feed(&p, m.data, m.len), -EPERM);
	assert_int_equal(socket_diag_feed(&p, m.data, 3), -EBADMSG);
	m.len = 0;
	add_done(&m, 0);
	((struct nlmsghdr *)m.data)->nlmsg_flags = NLM_F_DUMP_INTR;
	assert_int_equal(socket_diag_feed(&p, m.data, m.len), 1);
	assert_true(p.interrupted);
	/* The answer to another request is passed over. */
	m.len = 0;
	add_done(&m, 0);
	((struct nlmsghdr *)m.data)->nlmsg_seq = 1;
	p.seq = 2;
	assert_int_equal(socket_diag_feed(&p, m.data, m.len), 0);
	socket_table_deinit(&t);
}

static void test_unix(void **state)
{
	struct socket_table t = {0};
	struct socket_diag_parse p = {.table = &t};
	struct unix_diag_msg u = {.udiag_family = AF_UNIX, .udiag_ino = 99};
	struct message m = {0};
	struct nlmsghdr *h = begin(&m, SOCK_DIAG_BY_FAMILY);

	put(h, &u, sizeof(u));
	end(&m, h);
	assert_int_equal(socket_diag_feed(&p, m.data, m.len), 0);
	assert_true(inode_set_has(&t.unix_inodes, 99));
	assert_int_equal(t.n, 0);
	socket_table_deinit(&t);
}

/* Every cut, and many changed bytes, in a buffer of just that size (for the address sanitizer). */
static void test_broken(void **state)
{
	struct message m = {0};
	struct socket_table t = {.limit = 5000};

	add_socket(&m, 1, &example, sizeof(example));
	add_socket(&m, 8, &example, 100);
	add_done(&m, 0);
	srand(1);
	for (unsigned int round = 0; round < 20000; round++) {
		struct socket_diag_parse p = {.table = &t, .protocol = IPPROTO_TCP};
		size_t len = round < m.len ? round : m.len;
		uint8_t *copy = malloc(len + 1);

		memcpy(copy, m.data, len);
		for (int i = rand() % 4; len && round >= m.len && i >= 0; i--)
			copy[(size_t)rand() % len] = (uint8_t)rand();
		copy = realloc(copy, len ? len : 1);
		assert_true(socket_diag_feed(&p, copy, len) <= 1);
		free(copy);
	}
	socket_table_deinit(&t);
}

/* A real connection on the loopback interface: the numbers are those of the bytes sent. */
static void test_kernel(void **state)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int listener = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
	_cleanup_socket_diag_ struct socket_diag *d = NULL;
	struct socket_table t = {0};
	socklen_t len = sizeof(a);
	char data[1234] = {0};
	bool inconsistent;
	struct stat st;
	uint32_t row;
	int server, r;

	assert_int_equal(bind(listener, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&a, &len), 0);
	assert_int_equal(connect(client, (struct sockaddr *)&a, len), 0);
	server = accept(listener, NULL, NULL);
	assert_int_equal(send(client, data, sizeof(data), 0), sizeof(data));
	r = socket_diag_open(&d);
	if (r == 0)
		r = socket_diag_inet(d, &socket_sources[0], 1, &t, &inconsistent);
	if (r < 0) {
		print_message("no sock_diag here: %s\n", strerror(-r));
		skip();
	}
	assert_int_equal(socket_table_index(&t), 0);
	socket_table_join(&t);
	assert_int_equal(fstat(client, &st), 0);
	row = socket_table_find(&t, st.st_ino);
	assert_int_not_equal(row, UINT32_MAX);
	assert_int_equal(t.rows[row].bytes_sent, sizeof(data));
	assert_int_equal(fstat(server, &st), 0);
	assert_true(t.rows[row].peer_row < SOCKET_PEER_FIRST);
	assert_int_equal(t.rows[t.rows[row].peer_row].inode, st.st_ino);
	assert_int_equal(t.rows[t.rows[row].peer_row].bytes_received, sizeof(data));
	socket_table_deinit(&t);
	close(client);
	close(server);
	close(listener);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_record),	   cmocka_unit_test(test_fin),
		cmocka_unit_test(test_old_kernel), cmocka_unit_test(test_end_and_errors),
		cmocka_unit_test(test_unix),	   cmocka_unit_test(test_broken),
		cmocka_unit_test(test_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
