/* SPDX-License-Identifier: MIT */
#include "fs/fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>

#include "fs/private.h"
#include "util/fdio.h"
#include "util/timeutil.h"

#define FUSE_DEVICE   "/dev/fuse"
#define FUSE_MAJOR    10 /* Documentation/admin-guide/devices.txt */
#define FUSE_MINOR    229
#define STOP_PAUSE_NS (10 * 1000 * 1000)
#define STOP_TRIES    500
#define READ_AHEAD_KB "1024\n"

/* --- mount point ------------------------------------------------------------------------------ */
static bool is_empty(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *e;
	bool empty = true;

	if (!d)
		return false;
	while (empty && (e = readdir(d)))
		empty = strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0;
	closedir(d);
	return empty;
}

/*
 * Makes the mount point fit: a stale mount of a daemon that was killed is taken away.
 * 0 or -errno with the error text.
 */
static int prepare_mountpoint(const char *path, char *error, size_t size)
{
	struct statfs fs;
	struct stat st;

	/* Attributes and listing of a dead mount may still be cached; statfs() always asks. */
	if (statfs(path, &fs) < 0 && errno == ENOTCONN) {
		if (umount2(path, MNT_DETACH) < 0) {
			snprintf(error, size,
				 "%s: a stale mount is there and cannot be taken away (%s): run "
				 "'fusermount3 -uz %s'",
				 path, strerror(errno), path);
			return -EBUSY;
		}
	}
	if (stat(path, &st) < 0) {
		int r = -errno;

		snprintf(error, size, "%s: %s: make the directory first (mkdir -p)", path,
			 strerror(-r));
		return r;
	}
	if (!S_ISDIR(st.st_mode)) {
		snprintf(error, size, "%s: is no directory: give a directory as mount point", path);
		return -ENOTDIR;
	}
	if (!is_empty(path)) {
		snprintf(error, size, "%s: is not empty: give an empty directory as mount point",
			 path);
		return -ENOTEMPTY;
	}
	return 0;
}

/*
 * Big files arrive faster with more read-ahead; only root may say so, and it is only speed.
 * The daemon does not answer yet: the device number is asked for without asking the daemon.
 */
static void set_read_ahead(const char *mountpoint)
{
	struct statx st;
	char path[128];
	_cleanup_close_ int fd = -1;

	if (statx(AT_FDCWD, mountpoint, AT_STATX_DONT_SYNC, 0, &st) < 0)
		return;
	snprintf(path, sizeof(path), "/sys/class/bdi/%u:%u/read_ahead_kb", st.stx_dev_major,
		 st.stx_dev_minor);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd >= 0)
		(void)fdio_write_all(fd, READ_AHEAD_KB, strlen(READ_AHEAD_KB));
}

/* --- session ---------------------------------------------------------------------------------- */
/* Is there the device that we need? 0 or -errno with the error text. */
static int check_device(char *error, size_t size)
{
	_cleanup_close_ int fd = open(FUSE_DEVICE, O_RDWR | O_CLOEXEC);
	int r = fd < 0 ? -errno : 0;
	struct stat st;

	if (r == -EACCES || r == -EPERM)
		snprintf(error, size, FUSE_DEVICE ": %s: run as root", strerror(-r));
	else if (r < 0)
		snprintf(error, size,
			 FUSE_DEVICE ": %s: run 'modprobe fuse', or give the container the device "
				     "(--device " FUSE_DEVICE ")",
			 strerror(-r));
	else if (fstat(fd, &st) < 0 || !S_ISCHR(st.st_mode) ||
		 st.st_rdev != makedev(FUSE_MAJOR, FUSE_MINOR)) {
		snprintf(error, size,
			 FUSE_DEVICE ": is not the FUSE device: run 'mknod " FUSE_DEVICE
				     " c %d %d'",
			 FUSE_MAJOR, FUSE_MINOR);
		r = -ENODEV;
	}
	return r;
}

static int open_session(struct fs *fs, char *error, size_t size)
{
	char options[128];
	const char *argv[] = {"wittyfs", "-o", options, NULL};
	struct fuse_args args = FUSE_ARGS_INIT(3, (char **)argv);
	int r = check_device(error, size);

	snprintf(options, sizeof(options),
		 "fsname=wittyfs,subtype=wittyfs,default_permissions,nosuid,nodev%s",
		 fs->config.allow_other ? ",allow_other" : "");
	if (r < 0)
		return r;
	fs->session = fuse_session_new(&args, &fs_ops, sizeof(fs_ops), fs);
	fuse_opt_free_args(&args);
	if (!fs->session) {
		snprintf(error, size, "libfuse refused to make a session");
		return -EIO;
	}
	if (fuse_session_mount(fs->session, fs->mountpoint) != 0) {
		snprintf(error, size,
			 "%s: cannot mount: run as root (CAP_SYS_ADMIN), or install fusermount3 "
			 "(package fuse3)",
			 fs->mountpoint);
		return -EPERM;
	}
	set_read_ahead(fs->mountpoint);
	return 0;
}

/* libfuse prints its own errors; ours name the mend. */
static void quiet_fuse(enum fuse_log_level level, const char *fmt, va_list ap)
{
}

int fs_mount(const struct fs_config *config, const struct fs_control *control,
	     struct snapshot *first, struct fs **ret, char *error, size_t error_size)
{
	struct fs *fs;
	int r = prepare_mountpoint(config->mountpoint, error, error_size);

	if (r < 0)
		return r;
	fs = calloc(1, sizeof(*fs));
	if (!fs)
		return -ENOMEM;
	fs->config = *config;
	fs->control = *control;
	fs->uid = geteuid();
	fs->dispatcher = pthread_self();
	fs->mounted_ns = time_realtime_ns();
	pthread_mutex_init(&fs->lock, NULL);
	seen_init(&fs->seen);
	fs->view.snapshot = snapshot_ref(first);
	fs->view.visible_generation = first->generation;
	fs->mountpoint = realpath(config->mountpoint, NULL);
	fuse_set_log_func(quiet_fuse);
	r = fs->mountpoint ? 0 : -ENOMEM;
	if (r == 0)
		r = wake_new(fs->mountpoint, &fs->wake);
	if (r == 0)
		r = open_session(fs, error, error_size);
	if (r == 0)
		r = controls_new(fs, &fs->controls);
	if (r == 0)
		r = bigfiles_new(fs, &fs->big);
	if (r < 0) {
		fs_free(fs);
		return r;
	}
	*ret = fs;
	return 0;
}

static void nothing(int signal)
{
}

int fs_run(struct fs *fs)
{
	struct fuse_buf buf = {0};
	struct sigaction interrupt = {.sa_handler = nothing};
	int r = 0;

	fs->dispatcher = pthread_self();
	/* Without SA_RESTART: it ends the wait for a request. */
	sigaction(SIGUSR1, &interrupt, NULL);
	while (!fuse_session_exited(fs->session)) {
		r = fuse_session_receive_buf(fs->session, &buf);
		if (r == -EINTR || r == -EAGAIN)
			continue;
		if (r <= 0)
			break;
		pthread_mutex_lock(&fs->lock);
		fuse_session_process_buf(fs->session, &buf);
		pthread_mutex_unlock(&fs->lock);
	}
	free(buf.mem);
	atomic_store(&fs->ended, true);
	/* ENODEV: unmounted from outside. */
	return r == -ENODEV || r >= 0 || fuse_session_exited(fs->session) ? 0 : r;
}

void fs_stop(struct fs *fs)
{
	struct timespec pause = {.tv_nsec = STOP_PAUSE_NS};

	fuse_session_exit(fs->session);
	/* A signal that comes just before the dispatcher waits for a request is lost: again, then.
	 */
	for (unsigned int i = 0; i < STOP_TRIES && !atomic_load(&fs->ended); i++) {
		pthread_kill(fs->dispatcher, SIGUSR1);
		nanosleep(&pause, NULL);
	}
}

void fs_publish(struct fs *fs, struct snapshot *snapshot)
{
	struct seen_table seen;
	struct snapshot *before;

	pthread_mutex_lock(&fs->lock);
	before = (struct snapshot *)fs->view.snapshot;
	fs->view.snapshot = snapshot_ref(snapshot);
	seen_take(&fs->seen, &seen);
	pthread_mutex_unlock(&fs->lock);

	invalidate_changes(fs, before, snapshot, &seen);
	seen_give_back(&fs->seen, &seen);
	snapshot_unref(before);

	pthread_mutex_lock(&fs->lock);
	fs->view.visible_generation = snapshot->generation;
	pthread_mutex_unlock(&fs->lock);
	wake_all(fs->wake);
}

struct fs *fs_free(struct fs *fs)
{
	if (!fs)
		return NULL;
	bigfiles_free(fs->big);
	if (fs->session) {
		/* Closes /dev/fuse first: whoever waits for an answer gets an error. */
		fuse_session_unmount(fs->session);
		fuse_session_destroy(fs->session);
	}
	wake_free(fs->wake);
	controls_free(fs->controls);
	seen_deinit(&fs->seen);
	snapshot_unref((struct snapshot *)fs->view.snapshot);
	pthread_mutex_destroy(&fs->lock);
	free(fs->mountpoint);
	free(fs);
	return NULL;
}
