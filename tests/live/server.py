# SPDX-License-Identifier: MIT
"""A server with two clients (processes) on 127.0.0.1; prints its pid and port, ends with its stdin."""
import os
import signal
import socket
import sys

from wittyfs import spawn

s = socket.socket()
s.bind(("127.0.0.1", 0))
s.listen(5)


def client(tell):
    c = socket.create_connection(s.getsockname())
    s.close()
    c.sendall(b"x" * 5000)
    tell("x")
    while True:
        signal.pause()


keep = []
for _ in range(2):
    spawn(client)
    keep.append(s.accept()[0])
    keep[-1].recv(5000)
    keep[-1].sendall(b"y" * 100)
print(os.getpid(), s.getsockname()[1], flush=True)
sys.stdin.read()
