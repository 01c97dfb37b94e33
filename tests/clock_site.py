"""What tests have in common that set the clock of the running program: the program with a clock of its own, and an origin.

SPDX-License-Identifier: Apache-2.0
"""
import os
import re
import signal
import socket
import subprocess
import threading
import time
from datetime import datetime, timezone

from interception_site import BUILD, WAIT, clock_ahead, set_clock, until


def utc(text):
    return datetime.strptime(text, "%Y-%m-%d %H:%M:%S").replace(tzinfo=timezone.utc).timestamp()


class Origin:
    """Answers a GET with `says`, and sends back what else it is told."""

    def __init__(self, address="127.0.0.1", port=0, says="ok"):
        self.listener = socket.create_server((address, port))
        self.port = self.listener.getsockname()[1]
        self.answer = f"HTTP/1.1 200 OK\r\nContent-Length: {len(says)}\r\n\r\n{says}".encode()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            connection, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with connection:
            while text := connection.recv(65536):
                connection.sendall(self.answer if text.startswith(b"GET") else text)


class Proxy:
    """The program, from FOLDER/bloomwall.yaml, which must name FOLDER/daemon.log and a port of 0 on 127.0.0.1. A clock of None
    is the machine's. `within`: a command that becomes the program."""
    within = ()

    def __init__(self, folder, clock):
        self.folder, self.clock_settings = folder, clock and clock_ahead(utc(clock) - time.time())

    def environment(self):
        return {**os.environ, **(self.clock_settings or {}), "TZ": "UTC"}

    def __enter__(self):
        log = self.folder / "daemon.log"
        log.unlink(missing_ok=True)
        self.process = subprocess.Popen([*self.within, BUILD / "bloomwall", "run", "--config", self.folder / "bloomwall.yaml"],
                                        env=self.environment())
        self.port = int(until(lambda: log.exists() and re.search(r"listening on 127\.0\.0\.1:(\d+)", log.read_text()))[1])
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        self.status = self.process.wait(WAIT)

    def connect(self, client="127.0.0.1"):
        return socket.create_connection(("127.0.0.1", self.port), timeout=WAIT, source_address=(client, 0))

    def answer_to(self, authority, client="127.0.0.1", fields=""):
        """The whole answer to a GET, once the proxy has closed."""
        with self.connect(client) as connection:
            connection.sendall(f"GET http://{authority}/ HTTP/1.1\r\nHost: {authority}\r\n{fields}Connection: close\r\n\r\n".encode())
            answer = b""
            while piece := connection.recv(65536):
                answer += piece
        return answer.decode()

    def get(self, authority, client="127.0.0.1", fields=""):
        return int(self.answer_to(authority, client, fields).split()[1])

    def tunnel(self, authority, client="127.0.0.1"):
        connection = self.connect(client)
        connection.sendall(f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode())
        assert connection.recv(65536).startswith(b"HTTP/1.1 200")
        return connection


class SteppedProxy(Proxy):
    """Its clock can be set while it runs."""

    def __init__(self, folder, clock):
        super().__init__(folder, clock)
        self.file = folder / "clock"
        self.step_to(clock)
        self.clock_settings = clock_ahead(file=self.file)

    def step_to(self, clock, ahead=0):
        """To so many seconds before it (UTC)."""
        self.offset = round(utc(clock) - ahead - time.time(), 3)
        set_clock(self.file, self.offset)

    def now(self):
        return time.time() + self.offset
