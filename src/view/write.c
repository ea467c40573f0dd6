/* SPDX-License-Identifier: MIT */
#include "view/write.h"

#include "util/fdio.h"
#include "view/json.h"

#define PIECE 65536

struct stream {
	bool indent;
	struct json_indent state;
	struct strbuf item, out;
	write_fn write;
	void *userdata;
};

static int flush(struct stream *t)
{
	int r = strbuf_error(&t->item) ? strbuf_error(&t->item) : strbuf_error(&t->out);

	if (r == 0 && t->out.len)
		r = t->write(t->userdata, t->out.data, t->out.len);
	strbuf_reset(&t->out);
	return r;
}

int write_document(const struct snapshot *s, const struct document_format *format, bool indent,
		   write_fn write, void *userdata)
{
	struct stream t = {.indent = indent, .write = write, .userdata = userdata};
	uint32_t n = format->count(s);
	int r = 0;

	for (uint32_t i = 0; i < n && r == 0; i++) {
		if (!indent) {
			format->item(&t.out, s, i);
		} else {
			strbuf_reset(&t.item);
			format->item(&t.item, s, i);
			json_indent(&t.state, &t.out, t.item.data, t.item.len);
			if (i + 1 == n)
				strbuf_char(&t.out, '\n');
		}
		if (t.out.len >= PIECE || i + 1 == n || strbuf_error(&t.item))
			r = flush(&t);
	}
	strbuf_deinit(&t.item);
	strbuf_deinit(&t.out);
	return r;
}

int write_to_fd(void *fd, const char *data, size_t len)
{
	return fdio_write_all(*(int *)fd, data, len);
}
