#!/usr/bin/env python3
"""`bloomwall upgrade`: the installed program takes over while clients are served, and whatever a new program does wrong, the old one serves
on. The program is a link in the folder of each test, which is put in the place of the old one as a package would do it.

Usage: upgrade_test.py BUILD_DIR [unittest arguments]. BLOOMWALL_SEED repeats the choice of moments.
SPDX-License-Identifier: Apache-2.0
"""
import contextlib
import ctypes
import http.client
import http.server
import json
import os
import pathlib
import random
import re
import select
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import unittest

from agreement_test import UnixConnection
from interception_site import BUILD, WAIT, main, run, until, whole_lines
from seed import test_seed

HALF = b"1234567890abcdef" * 4096
PACE = 0.01  # seconds between two requests of a steady client
TURNS = 6   # upgrades under clients of new connections

# Each is a program that somebody has installed, and what `bloomwall upgrade` says of it. {MARK} stands in its command line or output,
# CHANNEL finds the channel.
CHANNEL = """#!/bin/bash
names=(${LISTEN_FDNAMES//:/ })
for i in ${!names[@]}; do [ ${names[i]} = upgrade.channel ] && channel=$((3 + i)); done
[ $LISTEN_PID = $$ ] && [ $LISTEN_FDS = ${#names[@]} ] || exit 1
"""
WRONG = {
    "exits 78": ("#!/bin/sh\necho listeners: {MARK} >&2\nexit 78\n", ["listeners: {MARK}", "ended with exit status 78"]),
    "crashes": ("#!/bin/sh\nkill -SEGV $$\n", ["ended by signal 11"]),
    "hangs with a child": ("#!/bin/sh\nsleep 1000.{MARK} &\nexec sleep 1000.{MARK}\n", ["has said nothing for 1 s"]),
    "closes the channel": (CHANNEL + "exec {channel}>&-\nsleep 1000.{MARK}\n", ["has closed the channel"]),
    "talks rubbish": (CHANNEL + "echo hello >&$channel\nsleep 1000.{MARK}\n", ["what is not understood: hello"]),
    "talks without an end": (CHANNEL + "while printf %01000d 0; do :; done >&$channel\n", ["what is not understood"]),
    "serves before it may": (CHANNEL + "echo serving >&$channel\nsleep 1000.{MARK}\n", ["what is not understood: serving"]),
    "dies when it may serve": (CHANNEL + "echo text soon >&$channel\necho ready >&$channel\nread -u $channel go rest\n"
                               "[ $go = go ] && exit 9\n", ["soon", "ended with exit status 9"]),
    "hangs when it may serve": (CHANNEL + "echo ready >&$channel\nread -u $channel go\nsleep 1000.{MARK}\n", ["has said nothing for 1 s"]),
    "is no program": ("not a program", ["Exec format error"]),
    "is not there": (None, ["No such file or directory"]),
}


class Site:
    """An origin: /small, and what goes on until gate is set: /gated has two halves, /stream its chunks, and the tunnel's end echoes."""

    def __init__(self):
        site = self
        self.gate = threading.Event()

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                self.send_response(200)
                if self.path == "/stream":
                    self.send_header("Transfer-Encoding", "chunked")
                    self.end_headers()
                    while not site.gate.wait(0.02):
                        self.wfile.write(b"4\r\ntick\r\n")
                    return self.wfile.write(b"3\r\nend\r\n0\r\n\r\n")
                body = HALF + HALF if self.path == "/gated" else b"small"
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.path == "/gated":
                    self.wfile.write(HALF)
                    self.wfile.flush()
                    site.gate.wait(WAIT)
                    body = HALF
                return self.wfile.write(body)

            def log_message(self, format, *args):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        self.echo = socket.create_server(("127.0.0.1", 0))
        for target in (self.server.serve_forever, self.serve_echo):
            threading.Thread(target=target, daemon=True).start()

    def serve_echo(self):
        try:
            while True:
                threading.Thread(target=self.send_back, args=self.echo.accept()[:1], daemon=True).start()
        except OSError:
            pass  # closed

    def send_back(self, peer):
        with peer:
            for piece in iter(lambda: peer.recv(4096), b""):
                peer.sendall(piece)

    def close(self):
        self.gate.set()
        self.server.shutdown()
        self.server.server_close()
        self.echo.close()


class Steady(threading.Thread):
    """A client that asks again and again, on one connection for as long as that is kept, or on a new one each time."""

    def __init__(self, proxy, origin, keeps):
        super().__init__(daemon=True)
        self.proxy, self.origin, self.keeps = proxy, origin, keeps
        self.stopped, self.answers, self.errors = threading.Event(), 0, []

    def run(self):
        client = None
        while not self.stopped.wait(PACE):
            try:
                client = client or http.client.HTTPConnection(*self.proxy, timeout=WAIT)
                client.request("GET", f"http://127.0.0.1:{self.origin}/small", headers={} if self.keeps else {"Connection": "close"})
                answer = client.getresponse()
                if (answer.status, answer.read()) != (200, b"small"):
                    raise AssertionError(f"status {answer.status}")
                self.answers += 1
                if answer.will_close:
                    client.close()
                    client = None
            except Exception as error:  # whatever it is, a client has seen it
                self.errors.append(repr(error))
                client = None
        if client:
            client.close()


class Newcomer(threading.Thread):
    """A client of new connections alone, each of which `newest` or a later process must serve: what Via says is its configuration's."""

    def __init__(self, proxy, origin, newest):
        super().__init__(daemon=True)
        self.proxy, self.origin, self.newest = proxy, origin, newest
        self.stopped, self.answers, self.errors = threading.Event(), 0, []

    def run(self):
        while not self.stopped.is_set():
            wanted = self.newest[0]
            try:
                client = http.client.HTTPConnection(*self.proxy, timeout=WAIT)
                client.request("GET", f"http://127.0.0.1:{self.origin}/small", headers={"Connection": "close"})
                answer = client.getresponse()
                said = int(re.search(r"turn(\d+)", answer.headers["Via"])[1])
                if answer.status != 200 or said < wanted:
                    raise AssertionError(f"status {answer.status}, by process {said}, after {wanted} had taken over")
                client.close()
                self.answers += 1
            except Exception as error:  # whatever it is, a client has seen it
                self.errors.append(repr(error))


@contextlib.contextmanager
def standing_still(pid, name):
    """The threads of that name of a child, and no others; False: the kernel does not let us."""
    seize, interrupt, detach, all_kinds = 0x4206, 0x4207, 17, 0x40000000
    ptrace = ctypes.CDLL(None, use_errno=True).ptrace
    ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    tasks = []
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):  # one that ends meanwhile
            tasks += [int(task.name)] * ((task / "comm").read_text() == f"{name}\n")
    seized = [task for task in tasks if ptrace(seize, task, None, None) == 0]
    try:
        for task in seized:
            ptrace(interrupt, task, None, None)
            os.waitpid(task, all_kinds)
        yield bool(tasks) and seized == tasks
    finally:
        for task in seized:
            ptrace(detach, task, None, None)


class UpgradeCase(unittest.TestCase):
    drain = "20s"

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="bloomwall-test-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.site = Site()
        self.addCleanup(self.site.close)
        (self.folder / "list.txt").write_text("listed.test\n")
        run(BUILD / "bloomwall-filter", "build", "-q", "-o", self.folder / "list.bwf", self.folder / "list.txt")
        run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-keyout",
            self.folder / "tls.key", "-out", self.folder / "tls.crt", "-subj", "/CN=proxy", "-addext", "subjectAltName=IP:127.0.0.2")
        self.program = self.folder / "bloomwall"
        self.install(BUILD / "bloomwall")
        self.file = self.folder / "bloomwall.yaml"
        self.configure()
        self.addCleanup(self.end_all)

    def configure(self, listeners="", more=""):
        self.file.write_text(f"""
listeners:
- {{address: "127.0.0.1:0"}}
- {{address: "127.0.0.2:0", tls: {{certificate: tls.crt, key: tls.key}}}}
- {{address: "127.0.0.3:0", proxy_protocol: [127.0.0.1]}}
{listeners}
workers: 2
filters: [{{name: list, file: list.bwf}}]
access: {{connect_ports: [], deny_ports: [], deny_destinations: []}}
dns: {{hosts: {{listed.test: 127.0.0.1, denied.test: 127.0.0.1}}}}
state_dir: state
query_log: {{record: all}}
admin: {{address: "127.0.0.1:0", control_socket: control.sock}}
log: {{file: daemon.log, access: {{file: access.log, format: json}}}}
timeouts: {{announce: 0, drain: {self.drain}}}
{more}""")

    def start(self, *before):
        log = self.folder / "daemon.log"
        log.unlink(missing_ok=True)
        self.process = subprocess.Popen([*before, self.program, "run", "--config", self.file], cwd=self.folder)
        until(lambda: log.exists() and "is served" in log.read_text())
        self.plain, self.tls, self.proxied = (
            (address, int(port)) for address, port in re.findall(r"listening on ([\d.]+):(\d+)", log.read_text())[:3])
        self.admin = int(re.search(r"admin on 127\.0\.0\.1:(\d+)", log.read_text())[1])

    def install(self, program):
        """Another program in the place of the old one; of a text, a script; None: none."""
        self.program.unlink(missing_ok=True)
        if isinstance(program, pathlib.Path):
            self.program.symlink_to(program)
        elif program is not None:
            self.program.write_text(program)
            self.program.chmod(0o755)

    def command(self, *arguments):
        done = subprocess.run([BUILD / "bloomwall", *arguments, "--config", self.file], cwd=self.folder, capture_output=True, text=True,
                              timeout=2 * WAIT, check=False)
        return done.returncode, done.stdout + done.stderr

    def upgrade(self, *more):
        return self.command("upgrade", *more)

    def ask(self, method, path, body=None):
        door = UnixConnection(self.folder / "control.sock")
        try:
            door.request(method, path, body=body)
            answer = door.getresponse()
            return answer.status, answer.read().decode()
        finally:
            door.close()

    def pid(self):
        return json.loads(self.ask("GET", "/api/v1/status")[1])["pid"]

    def status(self, host, proxy=None, tls=False, before=b""):
        to = socket.create_connection(proxy or self.plain, timeout=WAIT)
        with ssl.create_default_context(cafile=self.folder / "tls.crt").wrap_socket(to, server_hostname="127.0.0.2") if tls else to as to:
            to.sendall(before + f"GET http://{host}:{self.site.port}/small HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
            return int(b"".join(iter(lambda: to.recv(4096), b"")).split()[1])

    def metric(self, name):
        with socket.create_connection(("127.0.0.1", self.admin), timeout=WAIT) as to:
            to.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
            text = b"".join(iter(lambda: to.recv(65536), b"")).decode()
        return float(re.search(rf"^bloomwall_{re.escape(name)} (\S+)$", text, re.M)[1])

    def audit(self, what):
        return [row for row in map(json.loads, self.command("audit", "--json")[1].splitlines()) if row["what"] == what]

    def processes(self, mark=None):
        """Of this test: their command line has its folder, or the mark."""
        found = {}
        for entry in pathlib.Path("/proc").iterdir():
            try:
                words = (entry / "cmdline").read_bytes() if entry.name.isdigit() else b""
            except OSError:
                continue
            if (mark or str(self.folder)).encode() in words:
                found[int(entry.name)] = words.replace(b"\0", b" ").decode()
        return found

    def end_all(self):
        for pid in self.processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if hasattr(self, "process"):
            self.process.wait(WAIT)

    def serves_all(self):
        self.assertEqual(self.status("127.0.0.1"), 200)
        self.assertEqual(self.status("127.0.0.1", self.tls, tls=True), 200)
        self.assertEqual(self.status("127.0.0.1", self.proxied, before=b"PROXY TCP4 127.0.0.9 127.0.0.3 1000 80\r\n"), 200)
        self.assertEqual(self.status("listed.test"), 403)


class Upgrades(UpgradeCase):
    def open_long(self):
        """A download that has come half, a tunnel, a stream, and a connection over TLS that is kept."""
        self.download, self.stream = (http.client.HTTPConnection(*self.plain, timeout=WAIT) for _ in range(2))
        self.download.request("GET", f"http://127.0.0.1:{self.site.port}/gated")
        self.half = self.download.getresponse()
        self.assertEqual(self.half.read(len(HALF)), HALF)
        self.stream.request("GET", f"http://127.0.0.1:{self.site.port}/stream")
        self.ticks = self.stream.getresponse()
        self.assertEqual(self.ticks.read(4), b"tick")
        to = socket.create_connection(self.tls, timeout=WAIT)
        self.tunnel = ssl.create_default_context(cafile=self.folder / "tls.crt").wrap_socket(to, server_hostname="127.0.0.2")
        port = self.site.echo.getsockname()[1]
        self.tunnel.sendall(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        self.assertIn(b" 200 ", self.tunnel.recv(4096))

    def live_stream(self):
        """The stream of requests, once it has shown one."""
        door = UnixConnection(self.folder / "control.sock")
        self.addCleanup(door.close)
        door.request("GET", "/api/v1/stream")
        stream = door.getresponse()
        self.assertEqual(stream.status, 200)
        until(lambda: stream.readline() == b"event: request\n")
        return stream

    def echoes(self, text):
        self.tunnel.sendall(text)
        self.assertEqual(self.tunnel.recv(4096), text)

    def close_long(self):
        self.echoes(b"after")
        self.site.gate.set()
        self.assertEqual(self.half.read(), HALF)
        self.assertTrue(self.ticks.read().endswith(b"end"))
        self.echoes(b"at the end")
        for each in (self.tunnel, self.half, self.download, self.ticks, self.stream):
            each.close()

    def test_nothing_is_refused_or_cut(self):
        """500 requests a second, and what takes long, over two upgrades."""
        self.start()
        clients = [Steady(self.plain, self.site.port, keeps=i % 4 != 0) for i in range(6)]
        for client in clients:
            client.start()
        self.open_long()
        self.echoes(b"before")
        self.assertEqual(self.command("deny", "denied.test", "--why", "before")[0], 0)
        first = self.pid()
        self.assertEqual(first, self.process.pid)
        until(lambda: all(client.answers > 20 for client in clients))
        pids = [first]
        for turn in range(2):
            live = self.live_stream()
            status, said = self.upgrade()
            self.assertEqual(status, 0, said)
            pids.append(self.pid())
            self.assertIn(f"process {pids[-1]} serves", said)
            live.read()  # to its end: its client asks the new process
            with self.live_stream():  # which shows requests as well
                pass
            self.assertEqual(self.status("denied.test"), 403, "an exception that was made before")
            made = f"made{turn}.test"
            self.assertEqual(self.command("deny", made, "--why", "after")[0], 0)
            self.assertEqual(self.status(made), 403)
            self.serves_all()
            answered = [client.answers for client in clients]
            until(lambda: all(client.answers > before + 20 for client, before in zip(clients, answered)))
            self.assertIsNone(self.process.poll(), "it has connections still")
        self.assertEqual(len(set(pids)), 3, pids)
        self.assertEqual(self.metric('upgrades_total{result="success"}'), 2)
        self.assertEqual([row["subject"] for row in self.audit("upgrade.begun")][::-1],
                         [f"process {old} to {new}" for old, new in zip(pids, pids[1:])])
        self.close_long()
        self.assertEqual(self.process.wait(WAIT), 0)
        for client in clients:
            client.stopped.set()
            client.join()
        self.assertEqual([error for client in clients for error in client.errors], [])
        until(lambda: set(self.processes()) == {pids[-1]})
        self.check_logs(sum(client.answers for client in clients))
        os.kill(pids[-1], signal.SIGTERM)
        until(lambda: not self.processes())
        self.assertFalse((self.folder / "control.sock").exists())

    def test_who_comes_afterwards_meets_the_new_process(self):
        """Nobody accepts in the name of the old one once the upgrade has returned."""
        self.configure(more="headers: {via_name: turn0}\n")
        self.start()
        newest = [0]
        clients = [Newcomer(self.plain, self.site.port, newest) for _ in range(8)]
        for client in clients:
            client.start()
        for turn in range(1, TURNS + 1):
            self.configure(more=f"headers: {{via_name: turn{turn}}}\n")
            status, said = self.ask("POST", "/api/v1/upgrade")
            newest[0] = turn
            self.assertEqual((status, json.loads(said.splitlines()[-1])["exit_status"]), (200, 0), said)
            answered = [client.answers for client in clients]
            until(lambda: all(client.answers > before or client.errors for client, before in zip(clients, answered)))
        for client in clients:
            client.stopped.set()
            client.join()
        self.assertEqual([error for client in clients for error in client.errors], [])

    def test_it_returns_when_every_worker_of_the_old_process_has_closed(self):
        """However long that takes: its workers stand still here, and the new process serves meanwhile."""
        self.start()
        returned, said = threading.Event(), []

        def ask():
            said.append(self.ask("POST", "/api/v1/upgrade")[1])
            returned.set()

        with standing_still(self.process.pid, "worker") as stands:
            if not stands:
                self.skipTest("no thread can be stopped here")
            threading.Thread(target=ask, daemon=True).start()
            until(lambda: self.pid() != self.process.pid)
            self.serves_all()
            self.assertFalse(returned.wait(1), "the workers of the old process have not closed their listeners")
        self.assertTrue(returned.wait(WAIT))
        self.assertEqual(json.loads(said[0].splitlines()[-1])["exit_status"], 0, said)
        self.assertEqual(self.process.wait(WAIT), 0)

    def check_logs(self, asked):
        """Each request stands in both logs, whichever process has served it."""
        lines = until(lambda: [line for line in whole_lines(self.folder / "access.log") if "/small" in line])
        self.assertGreaterEqual(len(lines), asked)
        rows = lambda: len([line for line in self.command("log", "--limit", "0", "--path", "small")[1].splitlines()])
        until(lambda: rows() >= asked)

    def test_reloads_meanwhile(self):
        """What is reloaded while the new process loads is served by it, too; one that comes late is done by it."""
        self.start()
        self.install(f"#!/bin/sh\nread go < {self.folder}/gate\nexec {BUILD}/bloomwall \"$@\"\n")
        os.mkfifo(self.folder / "gate")
        upgrade = subprocess.Popen([BUILD / "bloomwall", "upgrade", "--config", self.file], cwd=self.folder, stdout=subprocess.PIPE, text=True)
        until(lambda: len(self.processes(f"{self.program}\0run")) == 2)
        status, said = self.upgrade()
        self.assertEqual(status, 1)
        self.assertIn("another upgrade is under way", said)
        with open(self.folder / "list.txt", "a") as file:
            file.write("denied.test\n")
        run(BUILD / "bloomwall-filter", "build", "-q", "-o", self.folder / "list.bwf", self.folder / "list.txt")
        self.assertEqual(self.command("reload")[0], 0)
        self.assertEqual(self.status("denied.test"), 403)
        (self.folder / "gate").write_text("go\n")
        said = upgrade.communicate(timeout=WAIT)[0]
        self.assertEqual(upgrade.returncode, 0, said)
        self.assertNotEqual(self.pid(), self.process.pid)
        self.assertEqual(self.status("denied.test"), 403)
        reloads = lambda: len(json.loads(self.ask("GET", "/api/v1/reloads")[1])["items"])
        until(lambda: reloads() == 2)  # its start, and that for the one before
        self.assertEqual(self.process.wait(WAIT), 0)

    def test_logs_that_are_moved_meanwhile(self):
        """SIGUSR1 to the old process is for the new one as well, which may have opened its logs before."""
        self.start()
        os.mkfifo(self.folder / "gate")
        self.install(CHANNEL + f"trap 'echo > {self.folder}/told; exit' USR1\nread < {self.folder}/gate\necho ready >&$channel\n"
                     "read -u $channel go\necho serving >&$channel\nwhile sleep 0.05; do :; done\n")
        upgrade = subprocess.Popen([BUILD / "bloomwall", "upgrade", "--config", self.file], cwd=self.folder, stdout=subprocess.DEVNULL)
        until(lambda: len(self.processes(f"{self.program}\0run")) == 2)
        log = self.folder / "daemon.log"
        log.rename(self.folder / "daemon.log.1")
        self.process.send_signal(signal.SIGUSR1)
        until(log.exists)
        (self.folder / "gate").write_text("go\n")
        self.assertEqual(upgrade.wait(WAIT), 0)
        until((self.folder / "told").exists)

    def test_signals_to_the_old_process(self):
        """Whoever has read its id before the upgrade means the one that serves."""
        self.start()
        self.open_long()
        self.assertEqual(self.upgrade()[0], 0)
        with open(self.folder / "list.txt", "a") as file:
            file.write("denied.test\n")
        run(BUILD / "bloomwall-filter", "build", "-q", "-o", self.folder / "list.bwf", self.folder / "list.txt")
        self.process.send_signal(signal.SIGHUP)
        until(lambda: self.status("denied.test") == 403)
        self.assertIsNone(self.process.poll())
        self.close_long()

    def test_the_state_that_is_served_is_not_lost(self):
        """Where state.db was removed, the new process would begin without what is denied."""
        self.start()
        self.assertEqual(self.command("deny", "denied.test", "--why", "x")[0], 0)
        for file in (self.folder / "state").glob("state.db*"):
            file.unlink()
        status, said = self.upgrade()
        self.assertEqual(status, 1, said)
        self.assertIn("state.db was removed", said)
        self.assertIn(f"process {self.process.pid} serves on", said)
        self.assertEqual(self.status("denied.test"), 403)
        shutil.rmtree(self.folder / "state")
        self.assertEqual(self.upgrade()[0], 1)
        self.assertEqual(self.status("denied.test"), 403)
        self.serves_all()

    def test_a_body_that_can_be_read_in_two_ways(self):
        self.start()
        for body, said in (('{"silence": 60, "silence": 1}', "silence: this member is there twice"),
                           ('{"silence": 60, "\\u0073ilence": 1}', "silence: this member is there twice"),
                           ("[]", "the body is not a JSON object"), ('{"silence": 0}', "silence: expected 1 to 3600")):
            answer = self.ask("POST", "/api/v1/upgrade", body)[1]
            self.assertIn(said, answer)
            self.assertEqual(json.loads(answer.splitlines()[-1])["exit_status"], 1)
        self.assertEqual(self.pid(), self.process.pid)

    def test_process_1_stays(self):
        """With it a container ends, and the new process with that."""
        if os.geteuid() != 0:
            self.skipTest("only root makes namespaces of processes")
        self.start("unshare", "--fork", "--pid", "--kill-child")
        status, said = self.upgrade()
        self.assertEqual(status, 1, said)
        self.assertIn("process 1, with whose end its container ends", said)
        self.serves_all()

    def test_a_new_configuration_is_taken(self):
        """Other listeners, and another place for the control socket: the old name is gone."""
        self.start()
        free = socket.create_server(("127.0.0.1", 0))
        free_at = free.getsockname()
        self.configure(f'- {{address: "127.0.0.1:{free_at[1]}"}}\n')
        status, said = self.upgrade()
        self.assertEqual(status, 1, said)
        self.assertIn("Address already in use", said)
        self.serves_all()
        free.close()
        self.assertEqual(self.upgrade()[0], 0)
        self.assertEqual(self.status("listed.test", free_at), 403)
        self.serves_all()
        self.file.write_text(self.file.read_text() + "nonsense: 1\n")
        status, said = self.upgrade()
        self.assertEqual(status, 1)
        self.assertIn("nonsense", said)
        self.serves_all()
        self.other_places()

    def other_places(self):
        """One listener less and two workers more. What the old process is in the way of is told as such."""
        self.configure()
        text = self.file.read_text()
        self.file.write_text(text.replace('- {address: "127.0.0.1:0"}', f'- {{address: ":{self.plain[1]}"}}'))
        status, said = self.upgrade()
        self.assertEqual(status, 1, said)
        self.assertIn("by the process before: another address with its port needs a restart", said)
        self.assertNotIn("is held by", said)
        text = text.replace("control.sock", "other.sock").replace("workers: 2", "workers: 4")
        self.file.write_text(re.sub(r'- {address: "127.0.0.3.*\n', "", text))
        before = self.pid()
        status, said = self.ask("POST", "/api/v1/upgrade")  # where the old one is asked
        self.assertEqual((status, json.loads(said.splitlines()[-1])["exit_status"]), (200, 0), said)
        until(lambda: before not in self.processes())
        self.assertFalse((self.folder / "control.sock").exists())
        self.assertEqual(json.loads(self.command("explain", "http://listed.test/", "--json")[1])["verdict"], "blocked")
        self.assertEqual(self.command("reload")[0], 0)
        self.assertEqual(self.status("listed.test", self.plain), 403)
        self.assertEqual(self.status("127.0.0.1", self.tls, tls=True), 200)
        self.assertRaises(ConnectionRefusedError, self.status, "listed.test", self.proxied)


class WrongPrograms(UpgradeCase):
    def test_the_old_one_serves_on(self):
        self.start()
        for count, (name, (text, expected)) in enumerate(WRONG.items(), 1):
            mark = f"31{os.getpid()}{count}"
            fill = lambda words: words.replace("{MARK}", mark)
            with self.subTest(name):
                self.install(text and fill(text))
                status, said = self.upgrade("--silence", "1")
                self.assertEqual(status, 1, said)
                for words in expected:
                    self.assertIn(fill(words), said)
                self.assertIn(f"process {self.process.pid} serves on", said)
                # All were killed; on a busy machine the kernel removes the children of the one waited for somewhat later.
                until(lambda: set(self.processes()) == {self.process.pid} and not self.processes(mark))
                self.assertEqual(self.pid(), self.process.pid)
                self.serves_all()
                status, said = self.command("deny", f"after{count}.test", "--why", "x")
                self.assertEqual(status, 0, said)
                self.assertEqual(self.metric('upgrades_total{result="failure"}'), count)
        self.assertEqual(len(self.audit("upgrade.failed")), len(WRONG))
        self.install(BUILD / "bloomwall")
        self.assertEqual(self.upgrade()[0], 0)
        self.assertEqual(self.metric('upgrades_total{result="failure"}'), len(WRONG))
        self.assertEqual(self.status("after1.test"), 403)
        self.assertEqual(self.process.wait(WAIT), 0)
        self.serves_all()

    def test_reloads_while_it_might_serve(self):
        """They wait for what becomes of the upgrade, and are done by the old process."""
        self.start()
        self.install(CHANNEL + f"echo ready >&$channel\nread -u $channel go\necho >{self.folder}/went\nsleep 1000.31{os.getpid()}\n")
        upgrade = subprocess.Popen([BUILD / "bloomwall", "upgrade", "--silence", "2", "--config", self.file], cwd=self.folder,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until((self.folder / "went").exists)
        with open(self.folder / "list.txt", "a") as file:
            file.write("denied.test\n")
        run(BUILD / "bloomwall-filter", "build", "-q", "-o", self.folder / "list.bwf", self.folder / "list.txt")
        self.process.send_signal(signal.SIGHUP)
        status, said = self.command("reload")
        self.assertEqual((status, upgrade.wait(WAIT)), (0, 1), said)
        self.assertEqual(self.status("denied.test"), 403)
        self.assertEqual(self.pid(), self.process.pid)

    def test_a_disk_that_is_full(self):
        """What is denied stays so, whichever process serves."""
        if os.geteuid() != 0:
            self.skipTest("only root mounts a disk for it")
        state = self.folder / "state"
        state.mkdir()
        self.start("unshare", "--mount", "sh", "-c", f'mount -t tmpfs -o size=1m tmpfs {state} && exec "$@"', "sh")
        self.assertEqual(self.command("deny", "denied.test", "--why", "x")[0], 0)
        with open(f"/proc/{self.process.pid}/root{state}/filling", "wb", buffering=0) as filling:
            with contextlib.suppress(OSError):
                while filling.write(b"x" * 4096):
                    pass
        status, said = self.upgrade()
        self.assertEqual(status, 0, said)
        self.assertEqual(self.status("denied.test"), 403)
        self.serves_all()
        self.assertEqual(self.process.wait(WAIT), 0)
        self.assertEqual(self.status("denied.test"), 403)

    def test_a_filter_that_cannot_be_read(self):
        self.start()
        (self.folder / "list.bwf").unlink()
        status, said = self.upgrade()
        self.assertEqual(status, 1)
        self.assertIn("list.bwf", said)
        self.assertIn("ended with exit status", said)
        self.serves_all()


class Ends(UpgradeCase):
    drain = "1s"

    def test_no_process_outlives_the_end(self):
        """SIGTERM to the old process, the new one or both, at any moment of an upgrade: both end, or the one that was not told serves."""
        dice = random.Random(test_seed())
        for turn in range(4):
            self.start()
            upgrade = subprocess.Popen([BUILD / "bloomwall", "upgrade", "--config", self.file], cwd=self.folder, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            threading.Event().wait(dice.uniform(0, 0.3))
            ours = set(self.processes(f"{self.program}\0run"))
            told = {"old": {self.process.pid}, "new": ours - {self.process.pid}, "both": ours}[dice.choice(["old", "new", "both"])]
            for pid in told:
                self.send(pid, signal.SIGTERM)
            upgrade.wait(WAIT)
            for pid in self.processes(f"{self.program}\0run"):
                self.send(pid, signal.SIGTERM)
            until(lambda: self.process.poll() is not None and not self.processes(f"{self.program}\0run"))
            self.assertEqual(self.process.returncode, 0, f"turn {turn}")

    def test_nobody_who_was_taken_is_reset(self):
        """The end comes amid an upgrade: each connection that is taken has its answer, until nobody takes one."""
        dice = random.Random(test_seed())
        self.drain = "60s"  # nothing is cut for its time on a busy machine
        self.configure()
        for turn in range(4):
            self.start()
            clients = [Steady(self.plain, self.site.port, keeps=False) for _ in range(6)]
            for client in clients:
                client.start()
            until(lambda: all(client.answers for client in clients))
            upgrade = subprocess.Popen([BUILD / "bloomwall", "upgrade", "--config", self.file], cwd=self.folder, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            threading.Event().wait(dice.uniform(0, 0.3))
            self.process.send_signal(signal.SIGTERM)  # once: a second one ends it at once
            upgrade.wait(WAIT)
            until(lambda: self.process.poll() is not None)
            for pid in self.processes(f"{self.program}\0run"):
                self.send(pid, signal.SIGTERM)
            until(lambda: not self.processes(f"{self.program}\0run"))
            for client in clients:
                client.stopped.set()
                client.join(WAIT)
            errors = {error for client in clients for error in client.errors if "ConnectionRefusedError" not in error}
            self.assertEqual(errors, set(), f"turn {turn}")

    def send(self, pid, number):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass

    def test_a_new_process_dies_with_the_old_one(self):
        self.start()
        self.install(f"#!/bin/sh\nexec sleep 1000.31{os.getpid()}\n")
        upgrade = subprocess.Popen([BUILD / "bloomwall", "upgrade", "--config", self.file], cwd=self.folder, stderr=subprocess.DEVNULL)
        until(lambda: self.processes(f"1000.31{os.getpid()}"))
        self.process.kill()
        until(lambda: not self.processes(f"1000.31{os.getpid()}"))
        self.assertEqual(upgrade.wait(WAIT), 2)


class Resting(UpgradeCase):
    drain = "9s"

    def kept(self):
        """A connection whose client has its answer."""
        client = http.client.HTTPConnection(*self.plain, timeout=WAIT)
        self.addCleanup(client.close)
        self.assertFalse(self.answer(client).will_close)
        return client

    def answer(self, client):
        client.request("GET", f"http://127.0.0.1:{self.site.port}/small")
        answer = client.getresponse()
        self.assertEqual((answer.status, answer.read()), (200, b"small"))
        return answer

    def test_idle_connections_stay_as_long_as_tunnels(self):
        self.start()
        asks, rests = self.kept(), self.kept()
        tunnel = socket.create_connection(self.plain, timeout=WAIT)
        self.addCleanup(tunnel.close)
        port = self.site.echo.getsockname()[1]
        tunnel.sendall(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        self.assertIn(b" 200 ", tunnel.recv(4096))
        status, said = self.upgrade()
        self.assertEqual(status, 0, said)
        self.assertTrue(self.answer(asks).will_close, "the old process says that this was the last")
        # A shutdown would end what rests 4 s before the tunnel. It ends a little before, so that what has come is seen.
        self.assertEqual(select.select([rests.sock, tunnel], [], [], WAIT)[0], [rests.sock])
        self.assertTrue(select.select([tunnel], [], [], 2)[0], "the connection that rests has ended, and the tunnel has not")
        self.assertEqual(self.process.wait(WAIT), 0)


if __name__ == "__main__":
    main()
