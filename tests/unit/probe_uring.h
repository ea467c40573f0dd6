/* SPDX-License-Identifier: MIT */
/* The least of io_uring, by raw system calls: one operation at a time, waited for. */
#pragma once

#include <errno.h>
#include <linux/io_uring.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	URING_READ = IORING_OP_READ,
	URING_WRITE = IORING_OP_WRITE,
	URING_SEND = IORING_OP_SEND,
	URING_RECV = IORING_OP_RECV,
	URING_SEND_ZC = 47, /* IORING_OP_SEND_ZC, 6.0 */
	URING_ASYNC = 1 << IOSQE_ASYNC_BIT,
	URING_SQPOLL = IORING_SETUP_SQPOLL,
};

struct uring {
	int fd;
	struct io_uring_params p;
	char *ring;
	size_t size;
	struct io_uring_sqe *sqes;
};

static inline int uring_init(struct uring *u, uint32_t flags)
{
	memset(u, 0, sizeof(*u));
	u->p.flags = flags;
	u->p.sq_thread_idle = 1000;
	u->fd = (int)syscall(SYS_io_uring_setup, 8, &u->p);
	if (u->fd < 0)
		return -errno;
	u->size = u->p.cq_off.cqes + u->p.cq_entries * sizeof(struct io_uring_cqe);
	u->ring = mmap(NULL, u->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, u->fd,
		       IORING_OFF_SQ_RING);
	u->sqes = mmap(NULL, u->p.sq_entries * sizeof(*u->sqes), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_POPULATE, u->fd, (off_t)IORING_OFF_SQES);
	return u->ring == MAP_FAILED || u->sqes == MAP_FAILED ? -errno : 0;
}

static inline void uring_deinit(struct uring *u)
{
	munmap(u->ring, u->size);
	munmap(u->sqes, u->p.sq_entries * sizeof(*u->sqes));
	close(u->fd);
}

/* The result of the operation (-errno, and errno, when it failed). */
static inline int uring_do(struct uring *u, int op, int fd, void *buf, unsigned int len,
			   uint8_t flags)
{
	uint32_t *sq_tail = (void *)(u->ring + u->p.sq_off.tail);
	uint32_t *array = (void *)(u->ring + u->p.sq_off.array);
	uint32_t *sq_flags = (void *)(u->ring + u->p.sq_off.flags);
	uint32_t *cq_head = (void *)(u->ring + u->p.cq_off.head);
	uint32_t *cq_tail = (void *)(u->ring + u->p.cq_off.tail);
	struct io_uring_cqe *cqes = (void *)(u->ring + u->p.cq_off.cqes), cqe;
	uint32_t i = *sq_tail & (u->p.sq_entries - 1), head;
	unsigned int wake = IORING_ENTER_GETEVENTS, more;
	int res = 0;

	memset(&u->sqes[i], 0, sizeof(u->sqes[i]));
	u->sqes[i].opcode = (uint8_t)op;
	u->sqes[i].fd = fd;
	u->sqes[i].addr = (uintptr_t)buf;
	u->sqes[i].len = len;
	u->sqes[i].flags = flags;
	array[i] = i;
	__atomic_store_n(sq_tail, *sq_tail + 1, __ATOMIC_SEQ_CST);
	if (u->p.flags & IORING_SETUP_SQPOLL &&
	    __atomic_load_n(sq_flags, __ATOMIC_SEQ_CST) & IORING_SQ_NEED_WAKEUP)
		wake |= IORING_ENTER_SQ_WAKEUP;
	if (syscall(SYS_io_uring_enter, u->fd, u->p.flags & IORING_SETUP_SQPOLL ? 0 : 1, 1, wake,
		    NULL, 0) < 0)
		return -errno;
	/* A zero-copy send completes twice: sent, and buffer free again. */
	do {
		head = *cq_head;
		while (__atomic_load_n(cq_tail, __ATOMIC_ACQUIRE) == head)
			syscall(SYS_io_uring_enter, u->fd, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0);
		cqe = cqes[head & (u->p.cq_entries - 1)];
		__atomic_store_n(cq_head, head + 1, __ATOMIC_RELEASE);
		more = cqe.flags & (1U << 1); /* IORING_CQE_F_MORE */
		if (!(cqe.flags & (1U << 3))) /* IORING_CQE_F_NOTIF */
			res = cqe.res;
	} while (more);
	if (res < 0)
		errno = -res;
	return res;
}
