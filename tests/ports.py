"""Ports of 127.0.0.1 for servers that tests start. SPDX-License-Identifier: Apache-2.0
"""
import contextlib
import socket


def free_ports(count):
    """So many TCP ports on which nothing listens just now, each another one."""
    with contextlib.ExitStack() as held:
        return [held.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname()[1] for _ in range(count)]
