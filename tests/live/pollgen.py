# SPDX-License-Identifier: MIT
"""pollgen.py MOUNT: collection is stopped; poll, select, epoll on generation wait until a trigger."""
import os
import select
import sys
import threading
import time

from wittyfs import Mount, fail

m = Mount(sys.argv[1])


def wait_poll(fd, secs):
    p = select.poll()
    p.register(fd, select.POLLIN | select.POLLPRI | select.POLLERR)
    return bool(p.poll(secs * 1000))


def wait_epoll(fd, secs):
    with select.epoll() as e:
        e.register(fd, select.EPOLLIN | select.EPOLLPRI | select.EPOLLERR)
        return bool(e.poll(secs))


def wait_select(fd, secs):
    r, w, x = select.select([fd], [], [fd], secs)
    return bool(r or x)


for name, wait in (("poll", wait_poll), ("select", wait_select), ("epoll", wait_epoll)):
    fd = os.open(f"{m.path}/generation", os.O_RDONLY)
    before = int(os.read(fd, 100))
    if wait(fd, 0.5):
        fail(f"{name}: ready although nothing was published since the last read")
    t = threading.Thread(target=lambda: (time.sleep(0.3), m.trigger()))
    t.start()
    start = time.monotonic()
    if not wait(fd, 10):
        fail(f"{name}: did not wake")
    if time.monotonic() - start > 8:
        fail(f"{name}: woke after {time.monotonic() - start:.1f} s")
    after = int(os.pread(fd, 100, 0))
    t.join()
    if after <= before:
        fail(f"{name}: woke, but generation still reads {after}")
    os.close(fd)
