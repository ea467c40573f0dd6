/* SPDX-License-Identifier: MIT */
#include "collect/socket_table.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "util/hash.h"

#define NIL UINT32_MAX

const struct socket_source socket_sources[SOCKET_SOURCES] = {
	{"tcp", AF_INET, IPPROTO_TCP},
	{"tcp6", AF_INET6, IPPROTO_TCP},
	{"udp", AF_INET, IPPROTO_UDP},
	{"udp6", AF_INET6, IPPROTO_UDP},
};

static const char *const state_names[] = {
	[SOCKET_STATE_NONE] = "unknown",
	[SOCKET_STATE_ESTABLISHED] = "established",
	[SOCKET_STATE_SYN_SENT] = "syn_sent",
	[SOCKET_STATE_SYN_RECV] = "syn_recv",
	[SOCKET_STATE_FIN_WAIT1] = "fin_wait1",
	[SOCKET_STATE_FIN_WAIT2] = "fin_wait2",
	[SOCKET_STATE_TIME_WAIT] = "time_wait",
	[SOCKET_STATE_CLOSE] = "close",
	[SOCKET_STATE_CLOSE_WAIT] = "close_wait",
	[SOCKET_STATE_LAST_ACK] = "last_ack",
	[SOCKET_STATE_LISTEN] = "listen",
	[SOCKET_STATE_CLOSING] = "closing",
	[SOCKET_STATE_NEW_SYN_RECV] = "new_syn_recv",
	[SOCKET_STATE_BOUND] = "bound",
};
_Static_assert(ARRAY_SIZE(state_names) == SOCKET_STATE_COUNT, "a name for every state");

/* --- addresses -------------------------------------------------------------------------------- */
static const uint8_t v4_prefix[12] = {[10] = 0xff, [11] = 0xff};
static const uint8_t zeroes[16];

void socket_address_set(uint8_t address[16], const void *bytes, unsigned int len)
{
	if (len == 16) {
		memcpy(address, bytes, 16);
		return;
	}
	memcpy(address, v4_prefix, 12);
	memcpy(address + 12, bytes, 4);
}

bool socket_address_is_v4(const uint8_t address[16])
{
	return memcmp(address, v4_prefix, 12) == 0;
}

bool socket_address_any(const uint8_t address[16])
{
	if (socket_address_is_v4(address))
		return memcmp(address + 12, zeroes, 4) == 0;
	return memcmp(address, zeroes, 16) == 0;
}

bool socket_address_loopback(const uint8_t address[16])
{
	if (socket_address_is_v4(address))
		return address[12] == 127;
	return memcmp(address, zeroes, 15) == 0 && address[15] == 1;
}

static bool address_multicast(const uint8_t address[16])
{
	if (socket_address_is_v4(address))
		return (address[12] & 0xf0) == 0xe0 ||
		       memcmp(address + 12, "\xff\xff\xff\xff", 4) == 0;
	return address[0] == 0xff;
}

static unsigned int byte_text(char *s, unsigned int v)
{
	unsigned int n = 0;

	if (v >= 100)
		s[n++] = (char)('0' + v / 100);
	if (v >= 10)
		s[n++] = (char)('0' + v / 10 % 10);
	s[n++] = (char)('0' + v % 10);
	return n;
}

unsigned int socket_address_text(const uint8_t address[16], uint32_t ifindex,
				 char text[SOCKET_ADDRESS_TEXT])
{
	unsigned int n = 0;

	if (socket_address_is_v4(address)) {
		/* By hand: this is called for every end, and inet_ntop() is a sprintf(). */
		for (unsigned int i = 12; i < 16; i++) {
			n += byte_text(text + n, address[i]);
			text[n++] = '.';
		}
		text[--n] = '\0';
		return n;
	}
	inet_ntop(AF_INET6, address, text, SOCKET_ADDRESS_TEXT);
	n = (unsigned int)strlen(text);
	if (ifindex && address[0] == 0xfe && (address[1] & 0xc0) == 0x80)
		n += (unsigned int)snprintf(text + n, SOCKET_ADDRESS_TEXT - n, "%%%u", ifindex);
	return n;
}

/* --- sets of inodes --------------------------------------------------------------------------- */
void inode_set_deinit(struct inode_set *s)
{
	free(s->items);
	*s = (struct inode_set){0};
}

int inode_set_add(struct inode_set *s, uint64_t inode)
{
	if (s->n >= SOCKET_SETS_MAX) {
		s->dropped++;
		return 0;
	}
	if (s->n == s->cap) {
		uint32_t cap = s->cap ? s->cap * 2 : 256;
		uint64_t *items = realloc(s->items, cap * sizeof(*items));

		if (!items)
			return -ENOMEM;
		s->items = items;
		s->cap = cap;
	}
	s->items[s->n++] = inode;
	return 0;
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

void inode_set_sort(struct inode_set *s)
{
	uint32_t n = 0;

	if (!s->n)
		return;
	qsort(s->items, s->n, sizeof(*s->items), compare_u64);
	for (uint32_t i = 0; i < s->n; i++)
		if (n == 0 || s->items[n - 1] != s->items[i])
			s->items[n++] = s->items[i];
	s->n = n;
}

bool inode_set_has(const struct inode_set *s, uint64_t inode)
{
	return s->n && bsearch(&inode, s->items, s->n, sizeof(*s->items), compare_u64);
}

/* --- rows ------------------------------------------------------------------------------------- */
static void drop_index(struct socket_table *t)
{
	free(t->order);
	free(t->chains);
	free(t->by_inode);
	t->order = t->chains = t->by_inode = NULL;
	t->n_order = t->chains_size = t->inode_size = 0;
}

void socket_table_deinit(struct socket_table *t)
{
	drop_index(t);
	free(t->rows);
	inode_set_deinit(&t->unix_inodes);
	*t = (struct socket_table){.limit = t->limit};
}

void socket_table_reset(struct socket_table *t)
{
	drop_index(t);
	if (t->cap > 4096 && t->n < t->cap / 8) {
		free(t->rows);
		t->rows = NULL;
		t->cap = 0;
	}
	t->n = 0;
	t->dropped = 0;
	t->unix_inodes.n = 0;
	t->unix_inodes.dropped = 0;
}

int socket_table_append(struct socket_table *t, struct socket_row **ret)
{
	uint32_t limit = t->limit ? t->limit : SOCKET_ROWS_MAX;

	*ret = NULL;
	if (t->n >= limit) {
		t->dropped++;
		return 0;
	}
	if (t->n == t->cap) {
		uint32_t cap = MIN(t->cap ? t->cap * 2 : 256, limit);
		struct socket_row *rows = realloc(t->rows, cap * sizeof(*rows));

		if (!rows)
			return -ENOMEM;
		t->rows = rows;
		t->cap = cap;
	}
	*ret = &t->rows[t->n++];
	memset(*ret, 0, sizeof(**ret));
	return 0;
}

void socket_table_truncate(struct socket_table *t, uint32_t n)
{
	t->n = MIN(t->n, n);
}

bool socket_row_connected(const struct socket_row *row)
{
	static const bool tcp_connected[SOCKET_STATE_COUNT] = {
		[SOCKET_STATE_ESTABLISHED] = true, [SOCKET_STATE_FIN_WAIT1] = true,
		[SOCKET_STATE_FIN_WAIT2] = true,   [SOCKET_STATE_CLOSE_WAIT] = true,
		[SOCKET_STATE_LAST_ACK] = true,	   [SOCKET_STATE_CLOSING] = true,
	};

	if (!row->peer_port)
		return false;
	if (row->protocol != IPPROTO_TCP)
		return true;
	return row->state < SOCKET_STATE_COUNT && tcp_connected[row->state];
}

const char *socket_row_state(const struct socket_row *row)
{
	if (row->protocol != IPPROTO_TCP)
		return row->peer_port ? "connected" : "unconnected";
	return row->state < SOCKET_STATE_COUNT ? state_names[row->state] : state_names[0];
}

/* --- index ------------------------------------------------------------------------------------ */
struct sort_item {
	uint64_t netns, inode;
	uint32_t row;
};

static int compare_items(const void *a, const void *b)
{
	const struct sort_item *x = a, *y = b;

	if (x->netns != y->netns)
		return x->netns < y->netns ? -1 : 1;
	if (x->inode != y->inode)
		return x->inode < y->inode ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

static uint32_t table_size(uint32_t n)
{
	uint32_t size = 16;

	while (size < n * 2)
		size *= 2;
	return size;
}

/* Both ends without the namespace, so that one table serves the joining across namespaces too. */
static uint64_t hash_ends(const uint8_t a[16], uint16_t a_port, const uint8_t b[16],
			  uint16_t b_port, uint8_t protocol)
{
	uint64_t w[4];

	memcpy(w, a, 16);
	memcpy(w + 2, b, 16);
	return hash_u64(hash_u64(hash_u64(hash_u64(hash_u64(protocol, w[0]), w[1]), w[2]), w[3]),
			(uint64_t)a_port << 16 | b_port);
}

static uint64_t hash_bound(uint64_t netns, uint16_t port)
{
	return hash_u64(hash_u64(0x5ca1ab1e, netns), port);
}

/* Waiting for datagrams from anybody: what a connected UDP socket may have as its other end. */
static bool udp_bound(const struct socket_row *row)
{
	return row->protocol == IPPROTO_UDP && !row->peer_port && row->local_port;
}

static void chain_add(struct socket_table *t, uint32_t i)
{
	struct socket_row *row = &t->rows[i];
	uint32_t *head;
	uint64_t h;

	row->next = NIL;
	if (row->flags & SOCKET_ROW_DOUBLE)
		return;
	if (socket_row_connected(row))
		h = hash_ends(row->local, row->local_port, row->peer, row->peer_port,
			      row->protocol);
	else if (udp_bound(row))
		h = hash_bound(row->netns, row->local_port);
	else
		return;
	head = &t->chains[h & (t->chains_size - 1)];
	row->next = *head;
	*head = i;
}

static void inode_add(struct socket_table *t, uint32_t i)
{
	uint32_t slot = (uint32_t)hash_mix(t->rows[i].inode) & (t->inode_size - 1);

	while (t->by_inode[slot] != NIL)
		slot = (slot + 1) & (t->inode_size - 1);
	t->by_inode[slot] = i;
}

uint32_t socket_table_find(const struct socket_table *t, uint64_t inode)
{
	uint32_t slot;

	if (!t->inode_size)
		return NIL;
	for (slot = (uint32_t)hash_mix(inode) & (t->inode_size - 1); t->by_inode[slot] != NIL;
	     slot = (slot + 1) & (t->inode_size - 1))
		if (t->rows[t->by_inode[slot]].inode == inode)
			return t->by_inode[slot];
	return NIL;
}

static int make_order(struct socket_table *t)
{
	_cleanup_free_ struct sort_item *items = malloc((t->n + 1) * sizeof(*items));
	uint32_t n = 0;

	t->order = malloc((t->n + 1) * sizeof(*t->order));
	if (!items || !t->order)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->n; i++)
		if (t->rows[i].inode)
			items[n++] = (struct sort_item){t->rows[i].netns, t->rows[i].inode, i};
	qsort(items, n, sizeof(*items), compare_items);
	for (uint32_t i = 0; i < n; i++) {
		if (i && items[i].inode == items[i - 1].inode &&
		    items[i].netns == items[i - 1].netns)
			t->rows[items[i].row].flags |= SOCKET_ROW_DOUBLE;
		else
			t->order[t->n_order++] = items[i].row;
	}
	return 0;
}

int socket_table_index(struct socket_table *t)
{
	uint32_t size = table_size(t->n);
	int r;

	drop_index(t);
	r = make_order(t);
	if (r < 0)
		return r;
	t->chains = malloc(size * sizeof(*t->chains));
	t->by_inode = malloc(size * sizeof(*t->by_inode));
	if (!t->chains || !t->by_inode)
		return -ENOMEM;
	t->chains_size = t->inode_size = size;
	memset(t->chains, 0xff, size * sizeof(*t->chains));
	memset(t->by_inode, 0xff, size * sizeof(*t->by_inode));
	for (uint32_t i = 0; i < t->n; i++)
		chain_add(t, i);
	for (uint32_t i = 0; i < t->n_order; i++)
		inode_add(t, t->order[i]);
	return 0;
}

/* --- joining ---------------------------------------------------------------------------------- */
/* What a search along a chain found: n candidates, of which the last is `row`. */
struct found {
	uint32_t n, row;
};

static void found_add(struct found *f, uint32_t row)
{
	f->n++;
	f->row = row;
}

static bool reversed(const struct socket_row *a, const struct socket_row *b)
{
	return a->local_port == b->peer_port && a->peer_port == b->local_port &&
	       a->protocol == b->protocol && memcmp(a->local, b->peer, 16) == 0 &&
	       memcmp(a->peer, b->local, 16) == 0;
}

static uint32_t chain_of_peer(const struct socket_table *t, const struct socket_row *row)
{
	uint64_t h =
		hash_ends(row->peer, row->peer_port, row->local, row->local_port, row->protocol);

	return t->chains[h & (t->chains_size - 1)];
}

/* The position of the other end, or what is to be said instead. */
static uint32_t peer_of(const struct socket_table *t, uint32_t i)
{
	return t->rows[i].inode ? i : SOCKET_PEER_NOBODY;
}

/*
 * The reversed ends in the same network namespace. Several are possible (UDP with SO_REUSEPORT,
 * link-local addresses on several interfaces): then the one of the same interface, or none.
 */
static uint32_t join_same_netns(const struct socket_table *t, const struct socket_row *row)
{
	struct found all = {0}, same_interface = {0};

	for (uint32_t i = chain_of_peer(t, row); i != NIL; i = t->rows[i].next) {
		const struct socket_row *other = &t->rows[i];

		if (!reversed(row, other) || other->netns != row->netns)
			continue;
		found_add(&all, i);
		if (other->ifindex == row->ifindex)
			found_add(&same_interface, i);
	}
	if (all.n == 1)
		return peer_of(t, all.row);
	if (same_interface.n == 1)
		return peer_of(t, same_interface.row);
	return all.n ? SOCKET_PEER_NONE : SOCKET_PEER_UNJOINED;
}

/* True when the wildcard socket takes datagrams to this address. */
static bool wildcard_takes(const struct socket_row *bound, const uint8_t address[16])
{
	if (!socket_address_any(bound->local))
		return false;
	if (!socket_address_is_v4(address))
		return bound->family == AF_INET6;
	return bound->family == AF_INET || !(bound->flags & SOCKET_ROW_V6ONLY);
}

/*
 * The unconnected socket to which a connected UDP socket sends: bound to that very address, or to
 * any address when the other end is surely this host (a resolver on 0.0.0.0:53 is not the other end
 * of what is sent to 8.8.8.8:53). One that shares its port with others cannot be told.
 */
static uint32_t join_udp_bound(const struct socket_table *t, const struct socket_row *row)
{
	bool here = socket_address_loopback(row->peer) || memcmp(row->peer, row->local, 16) == 0;
	uint64_t h = hash_bound(row->netns, row->peer_port);
	struct found exact = {0}, wildcard = {0};

	if (address_multicast(row->peer))
		return SOCKET_PEER_UNJOINED;
	for (uint32_t i = t->chains[h & (t->chains_size - 1)]; i != NIL; i = t->rows[i].next) {
		const struct socket_row *other = &t->rows[i];

		if (!udp_bound(other) || other->netns != row->netns ||
		    other->local_port != row->peer_port || !other->inode)
			continue;
		if (memcmp(other->local, row->peer, 16) == 0)
			found_add(&exact, i);
		else if (here && wildcard_takes(other, row->peer))
			found_add(&wildcard, i);
	}
	if (exact.n)
		return exact.n == 1 ? exact.row : SOCKET_PEER_NONE;
	if (wildcard.n)
		return wildcard.n == 1 ? wildcard.row : SOCKET_PEER_NONE;
	return SOCKET_PEER_UNJOINED;
}

/* Ends in other namespaces that no socket of their own namespace claims. */
static struct found find_elsewhere(const struct socket_table *t, const struct socket_row *row)
{
	struct found f = {0};

	for (uint32_t i = chain_of_peer(t, row); i != NIL; i = t->rows[i].next) {
		const struct socket_row *other = &t->rows[i];

		if (other->peer_row == SOCKET_PEER_UNJOINED && other->netns != row->netns &&
		    reversed(row, other))
			found_add(&f, i);
	}
	return f;
}

/* Across namespaces (veth): only when there is exactly one candidate, seen from both ends. */
static void join_elsewhere(struct socket_table *t, uint32_t i)
{
	struct socket_row *row = &t->rows[i], *other;
	struct found there = find_elsewhere(t, row), back;

	if (there.n != 1)
		return;
	other = &t->rows[there.row];
	back = find_elsewhere(t, other);
	if (back.n != 1)
		return;
	row->peer_row = peer_of(t, there.row);
	other->peer_row = peer_of(t, i);
}

void socket_table_join(struct socket_table *t)
{
	for (uint32_t i = 0; i < t->n; i++) {
		struct socket_row *row = &t->rows[i];

		row->peer_row = SOCKET_PEER_NONE;
		if (!socket_row_connected(row) || row->flags & SOCKET_ROW_DOUBLE)
			continue;
		row->peer_row = join_same_netns(t, row);
		if (row->peer_row == SOCKET_PEER_UNJOINED && row->protocol == IPPROTO_UDP)
			row->peer_row = join_udp_bound(t, row);
		/* What goes to the loopback interface does not leave the namespace. */
		if (row->peer_row == SOCKET_PEER_UNJOINED && socket_address_loopback(row->peer))
			row->peer_row = SOCKET_PEER_MISSING;
	}
	for (uint32_t i = 0; i < t->n; i++)
		if (t->rows[i].peer_row == SOCKET_PEER_UNJOINED)
			join_elsewhere(t, i);
	for (uint32_t i = 0; i < t->n; i++)
		if (t->rows[i].peer_row == SOCKET_PEER_UNJOINED)
			t->rows[i].peer_row = SOCKET_PEER_REMOTE;
}
