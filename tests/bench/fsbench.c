/* SPDX-License-Identifier: MIT */
/*
 * Times file operations on two sides in turn, so that both meet the same state of the machine:
 *
 *   fsbench open  ROUNDS LIST_A LIST_B     open+read+close of every path in the files LIST_*
 *   fsbench stat  ROUNDS LIST_A LIST_B     stat
 *   fsbench walk  ROUNDS DIR_A DIR_B       openat+getdents64 of the whole tree, per entry
 *   fsbench lwalk ROUNDS DIR_A DIR_B       the same with fstatat of each entry
 *   fsbench read  ROUNDS FILE_A FILE_B     sequential read by 128 KiB, per MiB
 *
 * Prints: ns per operation of A, of B (medians of rounds), median of the per-round ratios A/B, and
 * the operations in a round of A and B. One untimed round comes first.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MAX_ROUNDS 200
#define BLOCK	   131072

struct paths {
	char *text;
	char **at;
	size_t n;
};

struct side {
	const char *name;
	struct paths paths;
};

struct dirent64_raw {
	uint64_t ino;
	int64_t off;
	unsigned short reclen;
	unsigned char type;
	char name[];
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_nsec;
}

static void load_paths(struct side *s)
{
	FILE *f = fopen(s->name, "r");
	size_t cap = 0, len = 0, n = 0;
	char *line = NULL;

	if (!f) {
		fprintf(stderr, "fsbench: %s: %s\n", s->name, strerror(errno));
		exit(2);
	}
	while (getline(&line, &cap, f) > 0) {
		len = strcspn(line, "\n");
		line[len] = 0;
		s->paths.at = realloc(s->paths.at, (n + 1) * sizeof(char *));
		s->paths.at[n++] = strdup(line);
	}
	s->paths.n = n;
	free(line);
	fclose(f);
}

static uint64_t do_open(const struct side *s)
{
	static char buf[65536];
	uint64_t done = 0;

	for (size_t i = 0; i < s->paths.n; i++) {
		int fd = open(s->paths.at[i], O_RDONLY | O_CLOEXEC);

		if (fd < 0)
			continue;
		if (read(fd, buf, sizeof(buf)) >= 0)
			done++;
		close(fd);
	}
	return done;
}

static uint64_t do_stat(const struct side *s)
{
	uint64_t done = 0;
	struct stat st;

	for (size_t i = 0; i < s->paths.n; i++)
		done += !stat(s->paths.at[i], &st);
	return done;
}

static uint64_t walk(int dirfd, const char *name, int with_stat)
{
	int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	uint64_t done = 0;
	char buf[32768];
	struct stat st;
	long n;

	if (fd < 0)
		return 0;
	while ((n = syscall(SYS_getdents64, fd, buf, sizeof(buf))) > 0) {
		for (long at = 0; at < n;) {
			const struct dirent64_raw *d = (const struct dirent64_raw *)(buf + at);

			at += d->reclen;
			if (!strcmp(d->name, ".") || !strcmp(d->name, ".."))
				continue;
			done++;
			if (with_stat)
				fstatat(fd, d->name, &st, AT_SYMLINK_NOFOLLOW);
			if (d->type == DT_DIR)
				done += walk(fd, d->name, with_stat);
		}
	}
	close(fd);
	return done;
}

static uint64_t do_walk(const struct side *s)
{
	return walk(AT_FDCWD, s->name, 0);
}

static uint64_t do_lwalk(const struct side *s)
{
	return walk(AT_FDCWD, s->name, 1);
}

static uint64_t do_read(const struct side *s)
{
	static char buf[BLOCK];
	int fd = open(s->name, O_RDONLY | O_CLOEXEC);
	uint64_t bytes = 0;
	ssize_t n;

	if (fd < 0)
		return 0;
	while ((n = read(fd, buf, sizeof(buf))) > 0)
		bytes += (uint64_t)n;
	close(fd);
	return bytes >> 20 ? bytes >> 20 : 1;
}

static const struct {
	const char *name;
	uint64_t (*run)(const struct side *s);
	int lists;
} modes[] = {
	{"open", do_open, 1},	{"stat", do_stat, 1}, {"walk", do_walk, 0},
	{"lwalk", do_lwalk, 0}, {"read", do_read, 0},
};

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, int n)
{
	qsort(v, (size_t)n, sizeof(*v), compare);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

int main(int argc, char **argv)
{
	static double cost[2][MAX_ROUNDS], ratio[MAX_ROUNDS];
	struct side sides[2];
	uint64_t ops[2] = {0, 0};
	unsigned int mode;
	int rounds;

	for (mode = 0; argc == 5 && mode < sizeof(modes) / sizeof(modes[0]); mode++)
		if (!strcmp(argv[1], modes[mode].name))
			break;
	rounds = argc == 5 ? atoi(argv[2]) : 0;
	if (argc != 5 || mode == sizeof(modes) / sizeof(modes[0]) || rounds < 1 ||
	    rounds > MAX_ROUNDS) {
		fprintf(stderr, "usage: fsbench open|stat|walk|lwalk|read ROUNDS A B\n");
		return 2;
	}
	memset(sides, 0, sizeof(sides));
	for (int k = 0; k < 2; k++) {
		sides[k].name = argv[3 + k];
		if (modes[mode].lists)
			load_paths(&sides[k]);
	}
	for (int i = -1; i < rounds; i++) {
		for (int k = 0; k < 2; k++) {
			uint64_t start = now_ns(), done = modes[mode].run(&sides[k]);
			uint64_t spent = now_ns() - start;

			if (!done) {
				fprintf(stderr, "fsbench: %s: nothing could be read\n",
					sides[k].name);
				return 1;
			}
			ops[k] = done;
			if (i >= 0)
				cost[k][i] = (double)spent / (double)done;
		}
		if (i >= 0)
			ratio[i] = cost[0][i] / cost[1][i];
	}
	printf("%.1f %.1f %.3f %llu %llu\n", median(cost[0], rounds), median(cost[1], rounds),
	       median(ratio, rounds), (unsigned long long)ops[0], (unsigned long long)ops[1]);
	return 0;
}
