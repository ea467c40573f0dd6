/* SPDX-License-Identifier: MIT */
/*
 * --verify: every collector with its methods, best first: which one is used here, which do not work
 * and why. Exit status 1 when a collector has no method that works.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "daemon/actions.h"
#include "daemon/collection.h"

struct table {
	const struct collector *last;
	bool last_works;
	unsigned int missing;
};

static void count_missing(struct table *t)
{
	if (t->last && !t->last_works)
		t->missing++;
}

static void print_method(void *userdata, const struct collection_method *m)
{
	struct table *t = userdata;
	bool first = m->collector != t->last;

	if (first) {
		count_missing(t);
		t->last = m->collector;
		t->last_works = false;
	}
	t->last_works = t->last_works || m->works;
	printf("%-11s %-10s %-9s %s\n", first ? m->collector->name : "", m->method->name,
	       m->used	  ? "used"
	       : m->works ? "works"
			  : "no",
	       m->works ? m->method->doc : m->reason);
}

/* What the whole program needs beside the collectors. */
static bool print_mount(void)
{
	bool device = access("/dev/fuse", R_OK | W_OK) == 0;

	printf("%-11s %-10s %-9s %s\n", "mount", "fuse", device ? "works" : "no",
	       device				? "the tree can be mounted"
	       : access("/dev/fuse", F_OK) == 0 ? "/dev/fuse may not be opened: run as root"
						: "no /dev/fuse: run 'modprobe fuse', or give the "
						  "container the device (--device /dev/fuse)");
	return device;
}

int action_verify(const struct options *o)
{
	struct collection *c = NULL;
	struct table t = {0};
	char error[512] = "";
	bool mount;
	int r = collection_new(&o->config, o->fsroot, &c, error, sizeof(error));

	if (r < 0)
		return fail("%s", error[0] ? error : strerror(-r));
	printf("%-11s %-10s %-9s %s\n", "COLLECTOR", "METHOD", "HERE",
	       "WHAT IT GIVES, OR WHAT IS MISSING");
	collection_methods(c, print_method, &t);
	count_missing(&t);
	mount = print_mount();
	if (geteuid() != 0)
		printf("\nnot root: other users' descriptors and network namespaces stay unknown; "
		       "run "
		       "'sudo wittyfs --verify'\n");
	collection_free(c);
	return t.missing || !mount ? 1 : 0;
}
