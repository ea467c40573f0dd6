/* SPDX-License-Identifier: MIT */
#include "collect/socket_diag.h"

#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <linux/unix_diag.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#define DUMP_TIMEOUT_S 5 /* the kernel answers at once; a dump must not hang the collection */

/* --- parsing ---------------------------------------------------------------------------------- */
/* Numbers of tcp_info. A kernel of another age gives a shorter (or longer) one. */
static const struct info_field {
	uint16_t offset;
	uint8_t size;
	uint16_t flag;
	uint16_t row_offset;
} info_fields[] = {
#define FIELD(field, flag_, member)                                                                \
	{                                                                                          \
		.offset = offsetof(struct tcp_info, field),                                        \
		.size = sizeof(((struct tcp_info *)NULL)->field), .flag = (flag_),                 \
		.row_offset = offsetof(struct socket_row, member),                                 \
	}
	FIELD(tcpi_rtt, SOCKET_ROW_RTT, rtt_us),
	FIELD(tcpi_data_segs_in, SOCKET_ROW_SEGMENTS_RECEIVED, segments_received),
	FIELD(tcpi_data_segs_out, SOCKET_ROW_SEGMENTS_SENT, segments_sent),
	FIELD(tcpi_bytes_received, SOCKET_ROW_RECEIVED, bytes_received),
	FIELD(tcpi_bytes_sent, SOCKET_ROW_SENT, bytes_sent),
	FIELD(tcpi_bytes_retrans, SOCKET_ROW_RETRANSMITTED, bytes_retransmitted),
#undef FIELD
};

/* The bytes that the process gave to the kernel: first transmissions, and what still waits. */
static void correct_sent(struct socket_row *row, const uint8_t *info, size_t len)
{
	static const bool fin_queued[SOCKET_STATE_COUNT] = {
		[SOCKET_STATE_FIN_WAIT1] = true,
		[SOCKET_STATE_LAST_ACK] = true,
		[SOCKET_STATE_CLOSING] = true,
	};
	uint32_t notsent;

	if (!(row->flags & SOCKET_ROW_SENT))
		return;
	if (!(row->flags & SOCKET_ROW_RETRANSMITTED) ||
	    row->bytes_retransmitted > row->bytes_sent ||
	    len < offsetof(struct tcp_info, tcpi_notsent_bytes) + sizeof(notsent)) {
		row->flags &= (uint16_t)~SOCKET_ROW_SENT;
		return;
	}
	memcpy(&notsent, info + offsetof(struct tcp_info, tcpi_notsent_bytes), sizeof(notsent));
	/* The FIN has a number in the sequence and is the last to be sent. */
	if (fin_queued[row->state] && notsent)
		notsent--;
	row->bytes_sent += notsent - row->bytes_retransmitted;
}

/* The FIN of the other end counts as a byte received. */
static void correct_received(struct socket_row *row)
{
	static const bool fin_received[SOCKET_STATE_COUNT] = {
		[SOCKET_STATE_CLOSE_WAIT] = true,
		[SOCKET_STATE_LAST_ACK] = true,
		[SOCKET_STATE_CLOSING] = true,
	};

	if (fin_received[row->state] && row->bytes_received)
		row->bytes_received--;
}

static void take_tcp_info(struct socket_row *row, const uint8_t *info, size_t len)
{
	if (row->protocol != IPPROTO_TCP || !socket_row_connected(row))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(info_fields); i++) {
		const struct info_field *f = &info_fields[i];

		if (len < (size_t)f->offset + f->size)
			continue;
		memcpy((uint8_t *)row + f->row_offset, info + f->offset, f->size);
		row->flags |= f->flag;
	}
	if (!row->rtt_us) /* no sample yet */
		row->flags &= (uint16_t)~SOCKET_ROW_RTT;
	correct_sent(row, info, len);
	correct_received(row);
}

static void take_meminfo(struct socket_row *row, const uint8_t *data, size_t len)
{
	if (row->protocol != IPPROTO_UDP || len < (SK_MEMINFO_DROPS + 1) * sizeof(uint32_t))
		return;
	memcpy(&row->drops, data + SK_MEMINFO_DROPS * sizeof(uint32_t), sizeof(uint32_t));
	row->flags |= SOCKET_ROW_DROPS;
}

static void take_v6only(struct socket_row *row, const uint8_t *data, size_t len)
{
	if (len && *data)
		row->flags |= SOCKET_ROW_V6ONLY;
}

static const struct {
	uint16_t type;
	void (*take)(struct socket_row *row, const uint8_t *data, size_t len);
} attributes[] = {
	{INET_DIAG_INFO, take_tcp_info},
	{INET_DIAG_SKMEMINFO, take_meminfo},
	{INET_DIAG_SKV6ONLY, take_v6only},
};

static void take_attributes(struct socket_row *row, const uint8_t *p, const uint8_t *end)
{
	while (end - p >= (ptrdiff_t)sizeof(struct nlattr)) {
		struct nlattr a;
		size_t len;

		memcpy(&a, p, sizeof(a));
		if (a.nla_len < sizeof(a) || a.nla_len > end - p)
			return;
		len = a.nla_len - sizeof(a);
		for (size_t i = 0; i < ARRAY_SIZE(attributes); i++)
			if (attributes[i].type == (a.nla_type & NLA_TYPE_MASK))
				attributes[i].take(row, p + sizeof(a), len);
		if (end - p <= (ptrdiff_t)MNL_ALIGN(a.nla_len))
			return;
		p += MNL_ALIGN(a.nla_len);
	}
}

static int parse_inet(struct socket_diag_parse *p, const uint8_t *payload, size_t len)
{
	struct inet_diag_msg m;
	struct socket_row *row;
	unsigned int address_len;
	int r;

	if (len < sizeof(m))
		return 0;
	memcpy(&m, payload, sizeof(m));
	if ((m.idiag_family != AF_INET && m.idiag_family != AF_INET6) ||
	    m.idiag_state >= SOCKET_STATE_COUNT)
		return 0;
	r = socket_table_append(p->table, &row);
	if (r < 0 || !row)
		return r;
	address_len = m.idiag_family == AF_INET ? 4 : 16;
	socket_address_set(row->local, m.id.idiag_src, address_len);
	socket_address_set(row->peer, m.id.idiag_dst, address_len);
	row->netns = p->netns;
	row->inode = m.idiag_inode;
	row->uid = m.idiag_uid;
	row->ifindex = m.id.idiag_if;
	row->rx_queue = m.idiag_rqueue;
	row->tx_queue = m.idiag_wqueue;
	row->local_port = ntohs(m.id.idiag_sport);
	row->peer_port = ntohs(m.id.idiag_dport);
	row->flags = SOCKET_ROW_RX_QUEUE | SOCKET_ROW_TX_QUEUE;
	row->family = m.idiag_family;
	row->protocol = p->protocol;
	row->state = m.idiag_state;
	take_attributes(row, payload + MNL_ALIGN(sizeof(m)), payload + len);
	return 0;
}

static int parse_unix(struct socket_diag_parse *p, const uint8_t *payload, size_t len)
{
	struct unix_diag_msg m;

	if (len < sizeof(m))
		return 0;
	memcpy(&m, payload, sizeof(m));
	return m.udiag_ino ? inode_set_add(&p->table->unix_inodes, m.udiag_ino) : 0;
}

/* The family is the first byte of every sock_diag record. */
static int parse_record(struct socket_diag_parse *p, const uint8_t *payload, size_t len)
{
	if (len && payload[0] == AF_UNIX)
		return parse_unix(p, payload, len);
	return parse_inet(p, payload, len);
}

/* The number that ends a dump or refuses it: 0 or -errno. */
static int parse_result(const uint8_t *payload, size_t len)
{
	int32_t error;

	if (len < sizeof(error))
		return 0;
	memcpy(&error, payload, sizeof(error));
	return error < 0 && error >= -4095 ? error : 0;
}

/* libmnl 1.0.4 compares the length as a signed number: one over 2 GiB passes there. */
static bool message_ok(const struct nlmsghdr *h, int left)
{
	return mnl_nlmsg_ok(h, left) && h->nlmsg_len <= (uint32_t)left;
}

int socket_diag_feed(struct socket_diag_parse *p, const void *data, size_t len)
{
	const struct nlmsghdr *h = data;
	int left = len > INT32_MAX ? 0 : (int)len, r;

	if (!message_ok(h, left))
		return -EBADMSG;
	for (; message_ok(h, left); h = mnl_nlmsg_next(h, &left)) {
		const uint8_t *payload = (const uint8_t *)h + MNL_NLMSG_HDRLEN;
		size_t payload_len = h->nlmsg_len - MNL_NLMSG_HDRLEN;

		if (!mnl_nlmsg_seq_ok(h, p->seq) || !mnl_nlmsg_portid_ok(h, p->port))
			continue;
		p->interrupted = p->interrupted || h->nlmsg_flags & NLM_F_DUMP_INTR;
		if (h->nlmsg_type == NLMSG_DONE || h->nlmsg_type == NLMSG_ERROR) {
			r = parse_result(payload, payload_len);
			return r < 0 ? r : 1;
		}
		if (h->nlmsg_type != SOCK_DIAG_BY_FAMILY)
			continue;
		r = parse_record(p, payload, payload_len);
		if (r < 0)
			return r;
	}
	return 0;
}

/* --- dumping ---------------------------------------------------------------------------------- */
struct socket_diag {
	struct mnl_socket *nl;
	uint32_t seq;
	char buffer[SOCKET_DIAG_BUFFER] __attribute__((aligned(8)));
};

struct socket_diag *socket_diag_close(struct socket_diag *d)
{
	if (!d)
		return NULL;
	if (d->nl)
		mnl_socket_close(d->nl);
	free(d);
	return NULL;
}

int socket_diag_open(struct socket_diag **ret)
{
	_cleanup_socket_diag_ struct socket_diag *d = malloc(sizeof(*d));
	struct timeval timeout = {.tv_sec = DUMP_TIMEOUT_S};

	if (!d)
		return -ENOMEM;
	d->seq = 0;
	d->nl = mnl_socket_open2(NETLINK_SOCK_DIAG, SOCK_CLOEXEC);
	if (!d->nl)
		return -errno;
	if (mnl_socket_bind(d->nl, 0, MNL_SOCKET_AUTOPID) < 0)
		return -errno;
	if (setsockopt(mnl_socket_get_fd(d->nl), SOL_SOCKET, SO_RCVTIMEO, &timeout,
		       sizeof(timeout)) < 0)
		return -errno;
	*ret = STEAL_PTR(d);
	return 0;
}

static int send_request(struct socket_diag *d, const void *request, size_t len)
{
	char buffer[256] __attribute__((aligned(8)));
	struct nlmsghdr *h = mnl_nlmsg_put_header(buffer);

	h->nlmsg_type = SOCK_DIAG_BY_FAMILY;
	h->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	h->nlmsg_seq = ++d->seq;
	memcpy(mnl_nlmsg_put_extra_header(h, len), request, len);
	return mnl_socket_sendto(d->nl, h, h->nlmsg_len) < 0 ? -errno : 0;
}

static int dump_once(struct socket_diag *d, const void *request, size_t len,
		     struct socket_diag_parse *p)
{
	int r = send_request(d, request, len);

	if (r < 0)
		return r;
	p->seq = d->seq;
	p->port = mnl_socket_get_portid(d->nl);
	p->interrupted = false;
	do {
		ssize_t n = mnl_socket_recvfrom(d->nl, d->buffer, sizeof(d->buffer));

		if (n < 0)
			return errno == EAGAIN ? -ETIMEDOUT : -errno;
		r = socket_diag_feed(p, d->buffer, (size_t)n);
	} while (r == 0);
	return r < 0 ? r : 0;
}

/* Once more when the first dump was interrupted: the rows of the first are taken back. */
static int dump(struct socket_diag *d, const void *request, size_t len, struct socket_diag_parse *p)
{
	struct socket_table *t = p->table;
	uint32_t rows = t->n, inodes = t->unix_inodes.n;
	int r = -EINTR;

	for (unsigned int attempt = 0; attempt < 2; attempt++) {
		socket_table_truncate(t, rows);
		t->unix_inodes.n = inodes;
		r = dump_once(d, request, len, p);
		if (r != -EINTR && !(r == 0 && p->interrupted))
			break;
	}
	if (r < 0) {
		socket_table_truncate(t, rows);
		t->unix_inodes.n = inodes;
	}
	return r;
}

int socket_diag_inet(struct socket_diag *d, const struct socket_source *source, uint64_t netns,
		     struct socket_table *t, bool *ret_inconsistent)
{
	struct socket_diag_parse p = {.table = t, .protocol = source->protocol, .netns = netns};
	struct inet_diag_req_v2 request = {
		.sdiag_family = source->family,
		.sdiag_protocol = source->protocol,
		/* TIME_WAIT and half-made connections are nobody's, and may be very many. */
		.idiag_states = ~(1U << SOCKET_STATE_TIME_WAIT | 1U << SOCKET_STATE_NEW_SYN_RECV),
		.idiag_ext = source->protocol == IPPROTO_TCP ? 1 << (INET_DIAG_INFO - 1)
							     : 1 << (INET_DIAG_SKMEMINFO - 1),
	};
	int r = dump(d, &request, sizeof(request), &p);

	if (r == 0)
		*ret_inconsistent = p.interrupted;
	return r;
}

int socket_diag_unix(struct socket_diag *d, struct socket_table *t)
{
	struct socket_diag_parse p = {.table = t};
	struct unix_diag_req request = {.sdiag_family = AF_UNIX, .udiag_states = ~0U};

	return dump(d, &request, sizeof(request), &p);
}
