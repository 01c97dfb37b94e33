"""Ports of 127.0.0.1 for servers that tests start. SPDX-License-Identifier: Apache-2.0
"""
import contextlib
import fcntl
import os
import pathlib
import random
import socket
import tempfile

# Connections get theirs of this range, so that one of it may be taken before the server is there.
EPHEMERAL = [int(end) for end in pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()]
RANGE = range(10240, 65000)
CHOICE = [port for port in RANGE if not EPHEMERAL[0] <= port <= EPHEMERAL[1]] or RANGE
LOCKS = pathlib.Path(tempfile.gettempdir()) / f"bloomwall-test-ports-{os.getuid()}"
held = []  # as long as this process lives: no other test gets the port meanwhile


def claim(port):
    """Whether no other test has the port."""
    LOCKS.mkdir(mode=0o700, exist_ok=True)
    lock = os.open(LOCKS / str(port), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return False
    held.append(lock)
    return True


def free_ports(count):
    """So many TCP ports on which nothing listens just now, each another one. No other test, and no connection, gets them."""
    found = []
    while len(found) < count:
        port = random.choice(CHOICE)
        with contextlib.suppress(OSError), socket.socket() as tried:
            tried.bind(("127.0.0.1", port))
            if claim(port):
                found.append(port)
    return found
