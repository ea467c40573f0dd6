/* SPDX-License-Identifier: MIT */
/* --view-graph: a recorded graph as text, through the user's pager when both ends are a terminal.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "daemon/actions.h"
#include "util/fdio.h"
#include "view/document.h"
#include "view/load.h"
#include "view/write.h"

static int write_to_pager(void *userdata, const char *data, size_t len)
{
	return fwrite(data, 1, len, userdata) == len ? 0 : -EPIPE;
}

static int page(struct snapshot *s)
{
	const char *pager = getenv("PAGER");
	FILE *p = popen(pager && *pager ? pager : "less", "w");
	int r;

	if (!p)
		return -errno;
	r = write_document(s, &document_graph_text, false, write_to_pager, p);
	/* Leaving the pager early is no failure. */
	if (pclose(p) == 127 << 8)
		return -ENOENT;
	return r == -EPIPE ? 0 : r;
}

int action_view(const struct options *o)
{
	_cleanup_snapshot_ struct snapshot *s = NULL;
	int out = STDOUT_FILENO;
	char error[512] = "";
	int r = load_graph_file(o->graph_file, &s, error, sizeof(error));

	if (r < 0)
		return fail("%s", error[0] ? error : strerror(-r));
	if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && page(s) == 0)
		return 0;
	r = write_document(s, &document_graph_text, false, write_to_fd, &out);
	return r < 0 && r != -EPIPE ? fail("standard output: %s", strerror(-r)) : 0;
}
