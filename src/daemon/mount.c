/* SPDX-License-Identifier: MIT */
/*
 * The mounted mode: dispatcher in the main thread, scheduler and signals in threads of their own.
 *
 * Order of the end: the scheduler first, while the dispatcher still answers (the scheduler may be
 * telling the kernel of changes, which waits for reads in flight); then the dispatcher; then the
 * mount.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <time.h>

#include "daemon/actions.h"
#include "daemon/daemonize.h"
#include "daemon/instance_lock.h"
#include "daemon/notify.h"
#include "daemon/scheduler.h"
#include "util/fdio.h"
#include "util/log.h"
#include "util/timeutil.h"
#include "view/load.h"

#define STOP_TIMEOUT_NS (2 * NSEC_PER_SEC)

struct mounted {
	const struct options *options;
	char *mountpoint;
	struct instance_lock lock;
	struct collection *collection; /* NULL for a recorded graph */
	struct store *store;
	struct fs *fs;
	struct scheduler *scheduler;
	pthread_t signal_thread;
	bool signal_thread_started;
	atomic_bool unmounted; /* SIGUSR2 means the end only then */
	int report_fd;	       /* to the parent of --daemon, until the first generation is there */
	char error[512];
};

/* --- the first snapshot ----------------------------------------------------------------------- */
static int first_state(struct mounted *m, struct state **ret)
{
	const struct config *c = &m->options->config;
	struct state *s = state_new();

	if (!s)
		return -ENOMEM;
	s->running = m->collection != NULL;
	s->recorded = m->collection == NULL;
	s->source = m->options->graph_file ? m->options->graph_file
		    : m->options->fsroot   ? m->options->fsroot
					   : "this machine";
	s->interval_ns = config_duration_ns(c, CONFIG_COLLECTOR_INTERVAL);
	s->started_ns = time_realtime_ns();
	s->pid = (int)getpid();
	s->log_level = log_level_names[log_get_level()];
	for (size_t i = 0; i < MIN(m->options->n_pids, (size_t)STATE_MAX_PIDS); i++)
		s->pids[s->n_pids++] = m->options->pids[i];
	if (m->collection)
		collection_describe(m->collection, s);
	*ret = s;
	return 0;
}

/* An empty graph, or the recorded one. */
static int first_snapshot(struct mounted *m, struct snapshot **ret)
{
	_cleanup_snapshot_ struct snapshot *loaded = NULL;
	struct state *state;
	uint32_t dangling;
	int r = first_state(m, &state);

	if (r < 0)
		return r;
	if (!m->options->graph_file)
		return snapshot_new(NULL, 0, NULL, 0, state, ret, &dangling);
	r = load_graph_file(m->options->graph_file, &loaded, m->error, sizeof(m->error));
	if (r < 0) {
		state_unref(state);
		return r;
	}
	return snapshot_with_state(loaded, state, ret);
}

/* --- mounting --------------------------------------------------------------------------------- */
static gid_t group_id(const struct config *c)
{
	const char *name = config_string(c, CONFIG_MOUNT_GROUP);
	struct group *g = name && *name ? getgrnam(name) : NULL;

	if (!g && name && *name && config_given(c, CONFIG_MOUNT_GROUP))
		log_warning("group '%s' does not exist: files belong to the group of the daemon; "
			    "make it with 'groupadd --system %s'",
			    name, name);
	return g ? g->gr_gid : getegid();
}

/* With --fast-fail every given pid must exist; else they are waited for. */
static int check_pids(struct mounted *m)
{
	const struct options *o = m->options;

	if (o->n_pids > STATE_MAX_PIDS) {
		snprintf(m->error, sizeof(m->error), "--pid: at most %d processes", STATE_MAX_PIDS);
		return -E2BIG;
	}
	for (size_t i = 0; o->fast_fail && i < o->n_pids; i++)
		if (!collection_pid_exists(m->collection, o->pids[i])) {
			snprintf(m->error, sizeof(m->error),
				 "--pid: there is no process %d (--no-fast-fail waits for it)",
				 (int)o->pids[i]);
			return -ESRCH;
		}
	return 0;
}

static void published(void *userdata, struct snapshot *snapshot)
{
	struct mounted *m = userdata;

	fs_publish(m->fs, snapshot);
	/* The parent of --daemon and the service manager hear of it when there is something to see.
	 */
	if (snapshot->state->collections == 1 && m->report_fd >= 0)
		daemonize_report(&m->report_fd, 0);
	if (snapshot->state->collections == 1)
		notify_service("READY=1");
}

/* The scheduler is started after the mount, and before anything is written to it. */
static enum fs_text control_judge(void *userdata, enum tree_control control, const char *text)
{
	return scheduler_judge(control, text);
}

static void control_submit(void *userdata, enum tree_control control, const char *text,
			   fs_done_fn done, void *cookie)
{
	scheduler_submit(((struct mounted *)userdata)->scheduler, control, text, done, cookie);
}

static int mount_tree(struct mounted *m)
{
	const struct config *c = &m->options->config;
	_cleanup_snapshot_ struct snapshot *first = NULL;
	struct fs_config config = {
		.mountpoint = m->mountpoint,
		.gid = group_id(c),
		.world = config_choice(c, CONFIG_MOUNT_MODE) == 1,
		.allow_other = geteuid() == 0,
		.recorded = m->collection == NULL,
	};
	struct fs_control control = {
		.judge = control_judge, .submit = control_submit, .userdata = m};
	int r = first_snapshot(m, &first);

	if (r < 0)
		return r;
	/* Generation 0 is the empty graph before the first collection; a recorded graph is 1. */
	r = store_new(snapshot_ref(first), config.recorded ? 1 : 0, &m->store);
	if (r < 0)
		return r;
	return fs_mount(&config, &control, first, &m->fs, m->error, sizeof(m->error));
}

static int start_scheduler(struct mounted *m)
{
	struct scheduler_config config = {
		.collection = m->collection,
		.store = m->store,
		.published = published,
		.userdata = m,
	};

	return scheduler_new(&config, &m->scheduler);
}

/* --- the end ---------------------------------------------------------------------------------- */
/* Whatever hangs in the kernel must not keep the mount: readers get an error at once. */
static void force_end(struct mounted *m)
{
	log_error("%s: a collection hangs: the mount is taken away by force", m->mountpoint);
	(void)umount2(m->mountpoint, MNT_FORCE | MNT_DETACH);
	instance_lock_release(&m->lock);
	_exit(1);
}

static void stop_scheduler(struct mounted *m)
{
	if (!m->scheduler)
		return;
	if (scheduler_stop(m->scheduler, STOP_TIMEOUT_NS) < 0)
		force_end(m);
	m->scheduler = scheduler_free(m->scheduler);
}

static void *signal_main(void *userdata)
{
	struct mounted *m = userdata;
	sigset_t set;
	int number;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGUSR2);
	do
		sigwait(&set, &number);
	while ((number == SIGHUP && m->options->daemonize) ||
	       (number == SIGUSR2 && !atomic_load(&m->unmounted)));
	notify_service("STOPPING=1");
	stop_scheduler(m);
	fs_stop(m->fs);
	return NULL;
}

static void block_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static void mounted_deinit(struct mounted *m)
{
	if (m->signal_thread_started) {
		/* After an unmount from outside it is still waiting. */
		atomic_store(&m->unmounted, true);
		pthread_kill(m->signal_thread, SIGUSR2);
		pthread_join(m->signal_thread, NULL);
	}
	stop_scheduler(m);
	fs_free(m->fs);
	store_free(m->store);
	collection_free(m->collection);
	instance_lock_release(&m->lock);
	free(m->mountpoint);
}

/* --- all of it -------------------------------------------------------------------------------- */
static int prepare(struct mounted *m)
{
	const struct options *o = m->options;
	const char *where = config_string(&o->config, CONFIG_MOUNT_MOUNTPOINT);
	int r = instance_lock_canonical(where, &m->mountpoint);

	if (r < 0) {
		snprintf(m->error, sizeof(m->error), "%s: the directory above it: %s", where,
			 strerror(-r));
		return r;
	}
	if (!o->graph_file) {
		r = collection_new(&o->config, o->fsroot, &m->collection, m->error,
				   sizeof(m->error));
		if (r == 0)
			r = check_pids(m);
		if (r < 0)
			return r;
	}
	return instance_lock_take(&m->lock, m->mountpoint, o->graph_file ? "from" : "live",
				  m->error, sizeof(m->error));
}

static int run(struct mounted *m)
{
	int r = -pthread_create(&m->signal_thread, NULL, signal_main, m);

	if (r < 0)
		return r;
	m->signal_thread_started = true;
	if (m->collection) {
		r = start_scheduler(m);
	} else {
		daemonize_report(&m->report_fd, 0);
		notify_service("READY=1");
	}
	if (r == 0)
		log_info("%s: mounted", m->mountpoint);
	return r == 0 ? fs_run(m->fs) : r;
}

int action_mount(const struct options *o)
{
	_cleanup_(mounted_deinit) struct mounted m = {
		.options = o, .lock = INSTANCE_LOCK_NONE, .report_fd = -1};
	int r;

	/* Before anything is locked or started: the child is the daemon. */
	if (o->daemonize) {
		m.report_fd = daemonize_fork();
		if (m.report_fd < 0)
			return fail("cannot go to the background: %s", strerror(-m.report_fd));
	}
	block_signals();
	r = prepare(&m);
	if (r == 0)
		r = mount_tree(&m);
	/* Not before: until here an error goes to the terminal. */
	if (r == 0 && o->daemonize)
		daemonize_detach();
	if (r == 0)
		r = run(&m);
	if (r < 0) {
		fail("%s", m.error[0] ? m.error : strerror(-r));
		daemonize_report(&m.report_fd, 1);
		return 1;
	}
	return 0;
}
