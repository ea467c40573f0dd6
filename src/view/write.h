/* SPDX-License-Identifier: MIT */
/* A document streamed to somewhere else than a reader of the mount: a file, a pager, a socket. */
#pragma once

#include "view/document.h"

/* Takes all of the piece; 0 or -errno, which ends the writing. */
typedef int (*write_fn)(void *userdata, const char *data, size_t len);

/*
 * Renders every item once, in pieces of about 64 KiB. indent: JSON as Python's json.dumps(x,
 * indent=2) and a newline (for documents of JSON only). 0, -ENOMEM or what the function returned.
 */
int write_document(const struct snapshot *s, const struct document_format *format, bool indent,
		   write_fn write, void *userdata);

/* A write_fn: userdata points to a descriptor. */
int write_to_fd(void *fd, const char *data, size_t len);
