/* SPDX-License-Identifier: MIT */
/* The inside of the process table, shared by proctable*.c. */
#pragma once

#include <errno.h>

#include "collect/proctable.h"
#include "collect/procparse.h"

#define PROCTABLE_BUFFER    65536
#define PROCTABLE_ENTRY_MAX 512		 /* bytes of one directory entry */
#define PROCTABLE_ARGV_MAX  (256 * 1024) /* bytes kept of a command line */

/* Interned text: equal text, equal pointer. */
struct intern_entry {
	char *text; /* NULL: free slot */
	uint32_t len;
	bool used; /* while sweeping */
};

struct intern {
	struct intern_entry *slots;
	uint32_t size, n;   /* size: power of two */
	uint32_t threshold; /* of n, from which a sweep pays */
};

void intern_deinit(struct intern *t);
/* The interned text, NULL when memory ran out. */
const char *intern_text(struct intern *t, const char *s, size_t len);
/* Removing what is not used: begin, mark each text in use, end. */
static inline bool intern_wants_sweep(const struct intern *t)
{
	return t->n > t->threshold;
}
void intern_mark(struct intern *t, const char *text);
void intern_sweep(struct intern *t);

/* A process of the table: what is shown, and what is needed to keep it. */
struct slot {
	struct proc_process p; /* first: proctable_at() gives it out */
	bool fds_refused;      /* the descriptors may not be read */
	bool retry;	       /* something failed for want of our own descriptors or memory */
	bool list_known;       /* the list of threads could be read */
	char *nspid;	       /* of p.status when there is no leader among the threads */
};

/* What was not seen in one update. */
struct proctable_losses {
	uint64_t processes;   /* beyond the limit */
	uint64_t threads;     /* beyond the limit, of all processes */
	uint64_t sockets;     /* beyond the limit, of all processes */
	uint64_t hidden;      /* processes that may not be read at all */
	uint64_t fds_refused; /* processes whose descriptors may not be read */
	uint64_t starved;     /* reads that failed since the daemon had no descriptor or memory */
};

struct proctable {
	int proc_fd, list_fd; /* list_fd: a handle of the same directory for its listing */
	struct proctable_limits limits;
	uint64_t update; /* number of the present one */
	uint64_t page_size;
	bool procfs;	      /* a live one, not a recording */
	bool schedstat_works; /* some thread had time slices */
	struct slot **slots;  /* ascending pid */
	uint32_t n, cap;
	struct intern intern;
	struct proctable_losses losses;

	/* Reused buffers. */
	char *buffer; /* of a file or a directory listing */
	char *argv;   /* PROCTABLE_ARGV_MAX + 1 */
	pid_t *pids;  /* of a listing */
	uint32_t pids_n, pids_cap;
	struct slot **next; /* the slots of the update under way */
	pid_t *tids;
	uint32_t tids_n, tids_cap;
	uint64_t *sockets;
	uint32_t sockets_n, sockets_cap;
};

/* True for errors that say "the process or thread is not there any more". */
static inline bool read_gone(int r)
{
	return r == -ENOENT || r == -ESRCH;
}

/* True for errors that say something about this daemon and not about the process. */
static inline bool read_starved(int r)
{
	return r == -EMFILE || r == -ENFILE || r == -ENOMEM;
}

/* --- proctable_read.c: files of one process --------------------------------------------------- */
/* Reads dirfd/path into t->buffer (NUL-ended); length or -errno. Counts starvation. */
ssize_t proctable_read_file(struct proctable *t, int dirfd, const char *path);
/* The next entries of a directory into t->buffer: bytes, 0 at the end, -errno. */
ssize_t proctable_list(struct proctable *t, int fd);
/* True when no more entries will come after `len` bytes of them, as far as can be told. procfs
 * fills the buffer as long as there are entries. */
static inline bool proctable_listed(const struct proctable *t, ssize_t len)
{
	return t->procfs && len < PROCTABLE_BUFFER - PROCTABLE_ENTRY_MAX;
}
/*
 * Lists the numeric names of a directory, ascending, from where fd stands. Names beyond
 * `limit` are counted in *lost. 0 or -errno.
 */
int proctable_list_pids(struct proctable *t, int fd, uint32_t limit, pid_t **pids, uint32_t *n,
			uint32_t *cap, uint64_t *lost);
/* Arguments, executable, cgroup and namespaces; dirfd is /proc/<pid> (or of a living thread). */
void proctable_read_details(struct proctable *t, struct slot *s, int dirfd);
/* Fills a status from t->buffer's text; nspid goes to *nspid (replaced). */
void proctable_take_status(struct proctable *t, const char *buf, size_t len,
			   struct proc_status *status, char **nspid);

/* --- proctable_fds.c -------------------------------------------------------------------------- */
void proctable_read_fds(struct proctable *t, struct slot *s, int dirfd);

/* --- proctable_threads.c ---------------------------------------------------------------------- */
/*
 * Brings the threads up to date. all: read everything, whether a thread ran or not; list_changed:
 * the number of threads is not what it was. Returns true when one ran, came or went.
 */
bool proctable_read_threads(struct proctable *t, struct slot *s, int dirfd, bool all,
			    bool list_changed);
void proctable_free_threads(struct slot *s);
