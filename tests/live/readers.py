# SPDX-License-Identifier: MIT
"""readers.py FILE REFERENCE: reads FILE by system calls that copy by size and compares."""
import mmap
import os
import sys
import tempfile

path, want = sys.argv[1], open(sys.argv[2], "rb").read()


def by_sendfile(fd):
    with tempfile.TemporaryFile() as out:
        while os.sendfile(out.fileno(), fd, None, 1 << 20):
            pass
        out.seek(0)
        return out.read()


def by_mmap(flags):
    def read(fd):
        with mmap.mmap(fd, os.fstat(fd).st_size, flags=flags, prot=mmap.PROT_READ) as m:
            return m[:]
    return read


def by_readv(fd):
    out = b""
    while True:
        parts = [bytearray(7), bytearray(1000), bytearray(4097)]
        n = os.readv(fd, parts)
        if not n:
            return out
        out += b"".join(parts)[:n]


def backwards(fd):
    size, step, out = os.fstat(fd).st_size, 5000, b""
    for at in range((size - 1) // step * step, -1, -step):
        out = os.pread(fd, min(step, size - at), at) + out
    return out


def copy_file_range(fd):
    with tempfile.TemporaryFile() as out:
        while os.copy_file_range(fd, out.fileno(), 1 << 20):
            pass
        out.seek(0)
        return out.read()


bad = 0
for name, fn in (("sendfile", by_sendfile), ("mmap shared", by_mmap(mmap.MAP_SHARED)), ("mmap private", by_mmap(mmap.MAP_PRIVATE)),
                 ("readv", by_readv), ("backwards", backwards), ("copy_file_range", copy_file_range)):
    fd = os.open(path, os.O_RDONLY)
    try:
        got = fn(fd)
        end = os.pread(fd, 10, len(want))
    except OSError as e:
        if name == "copy_file_range" and e.errno in (18, 22, 95):
            continue
        got, end = repr(e), b""
    finally:
        os.close(fd)
    if got != want or end:
        print(f"{path}: {name} gives {len(got)} of {len(want)} bytes {got if isinstance(got, str) else ''}", file=sys.stderr)
        bad = 1
sys.exit(bad)
