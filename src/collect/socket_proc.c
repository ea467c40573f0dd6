/* SPDX-License-Identifier: MIT */
#include "collect/socket_proc.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>

#include "util/fdio.h"
#include "util/text.h"

#define CHUNK (64 * 1024)

/* --- words of a line -------------------------------------------------------------------------- */
struct cursor {
	const char *p, *end;
	bool bad; /* something was not as expected; all further results are 0 */
};

static void skip_blanks(struct cursor *c)
{
	while (c->p < c->end && (*c->p == ' ' || *c->p == '\t'))
		c->p++;
}

static void skip_word(struct cursor *c)
{
	skip_blanks(c);
	if (c->p == c->end)
		c->bad = true;
	while (c->p < c->end && *c->p != ' ' && *c->p != '\t')
		c->p++;
}

static void expect(struct cursor *c, char what)
{
	if (c->p < c->end && *c->p == what)
		c->p++;
	else
		c->bad = true;
}

static int hex_digit(char ch)
{
	if (ch >= '0' && ch <= '9')
		return ch - '0';
	if (ch >= 'A' && ch <= 'F')
		return ch - 'A' + 10;
	if (ch >= 'a' && ch <= 'f')
		return ch - 'a' + 10;
	return -1;
}

/* At most `digits` hexadecimal digits, at least one. */
static uint32_t take_hex(struct cursor *c, unsigned int digits)
{
	uint32_t v = 0;
	unsigned int n = 0;

	for (; n < digits && c->p < c->end && hex_digit(*c->p) >= 0; n++)
		v = v << 4 | (uint32_t)hex_digit(*c->p++);
	if (!n)
		c->bad = true;
	return v;
}

static uint64_t take_decimal(struct cursor *c)
{
	uint64_t v = 0;
	size_t n;

	skip_blanks(c);
	n = text_scan_u64(c->p, c->end, &v);
	if (!n)
		c->bad = true;
	c->p += n;
	return n ? v : 0;
}

/* 0100007F:1F90, or four such words of an IPv6 address. */
static void take_address(struct cursor *c, uint8_t family, uint8_t address[16], uint16_t *port)
{
	uint32_t words[4] = {0};
	unsigned int n = family == AF_INET ? 1 : 4;

	skip_blanks(c);
	for (unsigned int i = 0; i < n; i++)
		words[i] = take_hex(c, 8);
	socket_address_set(address, words, n * 4);
	expect(c, ':');
	*port = (uint16_t)take_hex(c, 4);
}

/* The last word: the count of dropped datagrams of a UDP socket. */
static void take_drops(struct cursor *c, struct socket_row *row)
{
	skip_word(c); /* references */
	skip_word(c); /* address in the kernel */
	row->drops = (uint32_t)take_decimal(c);
	if (!c->bad)
		row->flags |= SOCKET_ROW_DROPS;
}

/* --- lines ------------------------------------------------------------------------------------ */
int socket_proc_line(const char *line, size_t len, const struct socket_source *source,
		     uint64_t netns, struct socket_table *t)
{
	struct cursor c = {.p = line, .end = line + len};
	struct socket_row row = {.netns = netns,
				 .family = source->family,
				 .protocol = source->protocol,
				 .flags = SOCKET_ROW_RX_QUEUE | SOCKET_ROW_TX_QUEUE};
	struct socket_row *place;
	int r;

	take_decimal(&c); /* number of the line */
	expect(&c, ':');
	take_address(&c, source->family, row.local, &row.local_port);
	take_address(&c, source->family, row.peer, &row.peer_port);
	skip_blanks(&c);
	row.state = (uint8_t)take_hex(&c, 2);
	skip_blanks(&c);
	row.tx_queue = take_hex(&c, 8);
	expect(&c, ':');
	row.rx_queue = take_hex(&c, 8);
	skip_word(&c); /* timer */
	skip_word(&c); /* retransmissions */
	row.uid = (uint32_t)take_decimal(&c);
	take_decimal(&c); /* time-out */
	row.inode = take_decimal(&c);
	if (c.bad || row.state >= SOCKET_STATE_COUNT)
		return 0;
	if (row.protocol == IPPROTO_TCP && row.state == SOCKET_STATE_LISTEN)
		row.flags &= (uint16_t)~SOCKET_ROW_TX_QUEUE; /* always 0 here, not the limit */
	if (row.protocol == IPPROTO_TCP &&
	    (row.state == SOCKET_STATE_TIME_WAIT || row.state == SOCKET_STATE_SYN_RECV) &&
	    !row.inode)
		return 0;
	if (row.protocol == IPPROTO_UDP)
		take_drops(&c, &row);
	r = socket_table_append(t, &place);
	if (r < 0 || !place)
		return r;
	*place = row;
	return 1;
}

uint64_t socket_proc_unix_line(const char *line, size_t len)
{
	struct cursor c = {.p = line, .end = line + len};
	uint64_t inode;

	/* ffff8881: 00000002 00000000 00010000 0001 01 12345 /path */
	take_hex(&c, 16);
	expect(&c, ':');
	for (unsigned int i = 0; i < 5; i++)
		skip_word(&c);
	inode = take_decimal(&c);
	return c.bad ? 0 : inode;
}

/* --- files ------------------------------------------------------------------------------------ */
typedef int (*line_fn)(void *userdata, const char *line, size_t len);

/* Gives every line of buf[0, n) to fn; returns what is left of an unfinished one, or -errno. */
static ssize_t feed_lines(const char *buf, size_t n, line_fn fn, void *userdata)
{
	const char *p = buf, *end = buf + n, *newline;

	while ((newline = memchr(p, '\n', (size_t)(end - p)))) {
		int r = fn(userdata, p, (size_t)(newline - p));

		if (r < 0)
			return r;
		p = newline + 1;
	}
	return end - p;
}

/*
 * The file may be many megabytes and is never held as a whole. A line longer than the buffer is cut
 * in pieces, which are then nonsense to the parser (a path in the unix table cannot be that long).
 */
static int each_line(int dirfd, const char *path, line_fn fn, void *userdata)
{
	_cleanup_close_ int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);
	_cleanup_free_ char *buf = NULL;
	size_t have = 0;

	if (fd < 0)
		return -errno;
	buf = malloc(CHUNK);
	if (!buf)
		return -ENOMEM;
	for (;;) {
		ssize_t n = read(fd, buf + have, CHUNK - have), left;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return have ? MIN(fn(userdata, buf, have), 0) : 0;
		left = feed_lines(buf, have + (size_t)n, fn, userdata);
		if (left < 0)
			return (int)left;
		memmove(buf, buf + have + n - left, (size_t)left);
		have = left == CHUNK ? 0 : (size_t)left;
	}
}

struct inet_lines {
	const struct socket_source *source;
	uint64_t netns;
	struct socket_table *table;
};

static int inet_line(void *userdata, const char *line, size_t len)
{
	const struct inet_lines *l = userdata;

	return socket_proc_line(line, len, l->source, l->netns, l->table);
}

int socket_proc_inet(int dirfd, const char *path, const struct socket_source *source,
		     uint64_t netns, struct socket_table *t)
{
	struct inet_lines l = {.source = source, .netns = netns, .table = t};
	uint32_t before = t->n;
	int r = each_line(dirfd, path, inet_line, &l);

	if (r < 0)
		socket_table_truncate(t, before);
	return r;
}

static int unix_line(void *userdata, const char *line, size_t len)
{
	struct inode_set *s = userdata;
	uint64_t inode = socket_proc_unix_line(line, len);

	return inode ? inode_set_add(s, inode) : 0;
}

int socket_proc_unix(int dirfd, const char *path, struct socket_table *t)
{
	return each_line(dirfd, path, unix_line, &t->unix_inodes);
}
