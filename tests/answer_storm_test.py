#!/usr/bin/env python3
"""Every protocol of `answers:` under questions that come in pieces and many at once, beside connections that break off, end early, or lie
about lengths, while the proxy reloads and is upgraded: each question is answered once and in order, and nothing of one asker is another's.
Each has clients, users of hosts and keys of its own; the log says whose decision an answer speaks of.

Usage: answer_storm_test.py BUILD_DIR [unittest arguments]. BLOOMWALL_SEED repeats a run, as far as threads do; BLOOMWALL_SECONDS makes it
longer.
SPDX-License-Identifier: Apache-2.0
"""
import collections
import contextlib
import itertools
import json
import os
import pathlib
import random
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from answer_dialects import DIALECTS, Question
from interception_site import BUILD, WAIT, main, run, until, whole_lines
from ports import free_ports
from seed import test_seed

SECONDS = int(os.environ.get("BLOOMWALL_SECONDS", "6"))
ASKERS = 2  # of each protocol, and as many that break off
RST = struct.pack("ii", 1, 0)


class Asker(threading.Thread):
    """Asks over one connection after the other, in its own name, until it is told to stop. What went wrong is in `wrong`."""

    def __init__(self, storm, door, number, seed):
        super().__init__(daemon=True)
        self.storm, self.door, self.number = storm, door, number
        self.random = random.Random(seed)
        self.wrong = self.error = None
        self.asked = 0
        self.answered = []  # of good questions: the question, and the answer
        self.again = set()  # texts of questions that were asked more than once: their connection ended before the answer

    def run(self):
        try:
            while not self.storm.over.is_set():
                self.turn()
        except Exception as error:  # told by the thread of the test
            self.wrong = f"{self.name} {self.door}: {error!r}"

    def question(self):
        self.asked += 1
        return Question(self.random, self.number, f"{self.name}-{self.asked}")

    @contextlib.contextmanager
    def connect(self):
        if self.door == "helper":
            with self.helper() as stream:
                yield stream
        elif self.door == "unix":
            with socket.socket(socket.AF_UNIX) as stream:
                stream.settimeout(WAIT)
                stream.connect(str(self.storm.unix))
                yield stream
        else:
            source = f"127.0.0.{10 + self.number}", 0
            with socket.create_connection(("127.0.0.1", self.storm.ports[self.door]), WAIT, source) as stream:
                yield stream

    @contextlib.contextmanager
    def helper(self):
        """Of Squid, which ends with the connection."""
        ours, its = socket.socketpair()
        with subprocess.Popen([BUILD / "bloomwall", "answer", "squid", "--socket", self.storm.unix], stdin=its, stdout=its, stderr=subprocess.DEVNULL) as process:
            its.close()
            ours.settimeout(WAIT)
            try:
                with ours:
                    yield ours
                process.wait(WAIT)
            finally:
                process.kill()

    def pieces(self, octets):
        while octets:
            size = self.random.choice([1, 2, 7, 100, 1000, len(octets)])
            yield octets[:size]
            octets = octets[size:]


class Honest(Asker):
    def __init__(self, *args):
        super().__init__(*args)
        self.waiting = collections.deque()

    def turn(self):
        """Some questions, all of which are answered, however many connections that takes."""
        self.waiting.extend(self.question() for _ in range(self.random.choice([1, 3, 40])))
        dialect = DIALECTS[self.door](self.random)
        with self.connect() as stream:
            self.ask(stream, dialect)
            while not self.storm.over.is_set() and not self.waiting and self.random.random() < 0.7:
                self.waiting.extend(self.question() for _ in range(self.random.choice([1, 3, 40])))
                if not self.ask(stream, dialect):
                    break
            if not self.waiting and self.random.random() < 0.5:
                stream.shutdown(socket.SHUT_WR)
                if dialect.rest() + b"".join(iter(lambda: stream.recv(65536), b"")) != b"":
                    raise AssertionError("an answer that nobody asked for")

    def ask(self, stream, dialect):
        """Whether the connection goes on."""
        out = collections.deque(self.pieces(b"".join(dialect.write(question) for question in self.waiting)))
        while self.waiting:
            readable, writable, _ = select.select([stream], [stream] if out else [], [], WAIT)
            if not readable and not writable:
                raise AssertionError(f"no answer to {self.waiting[0]}")
            try:
                if writable:
                    sent = stream.send(out[0])
                    out[0] = out[0][sent:]
                    if not out[0]:
                        out.popleft()
                octets = stream.recv(65536) if readable else None
            except (ConnectionResetError, BrokenPipeError):
                return self.end()
            for answer in dialect.feed(octets or b""):
                self.take(dialect, answer)
                if answer.is_last:
                    return self.end()
            if octets == b"" and dialect.rest():
                raise AssertionError(f"an answer was cut off: {dialect.rest()}")
            if octets == b"":
                return self.end()
        return True

    def take(self, dialect, answer):
        question = dialect.asked(self.waiting, answer) if self.waiting else None
        if question is None:
            raise AssertionError(f"an answer that nobody asked for: {answer}")
        self.waiting.remove(question)
        self.answered.append((question, answer))
        wrong = dialect.fault(question, answer)
        if wrong:
            raise AssertionError(f"{wrong}: {question}, {answer}")

    def end(self):
        """An upgrade may end a connection; what has no answer yet is asked again, of another one."""
        if DIALECTS[self.door].survives_upgrades or not self.storm.upgrading.is_set():
            raise AssertionError(f"the connection ended before the answer to {self.waiting[0] if self.waiting else None}")
        self.again.update(question.text for question in self.waiting)
        return False


class Hostile(Asker):
    """Good questions, behind them what is none, and a connection that ends where it likes."""

    def turn(self):
        dialect = DIALECTS[self.door](self.random)
        good = [self.question() for _ in range(self.random.choice([0, 1, 20]))]
        parts = [*map(dialect.write, good), self.random.choice(dialect.BROKEN),
                 *(dialect.write(self.question()) for _ in range(self.random.choice([0, 1, 5])))]
        text = b"".join(parts)
        is_cut = self.random.random() < 0.5
        if is_cut:  # at the middle of anything
            text = text[:self.random.randrange(len(text) + 1)]
            good = [question for question, end in zip(good, itertools.accumulate(map(len, parts))) if end <= len(text)]
        with self.connect() as stream, contextlib.suppress(ConnectionResetError, BrokenPipeError):
            for piece in self.pieces(text):
                stream.sendall(piece)
            end = self.random.choice(["now", "reset", "read"] if is_cut else ["now", "reset", "read", "wait"])
            if end == "reset":
                stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RST)
            if end in ("now", "reset"):
                return
            if end == "read":
                stream.shutdown(socket.SHUT_WR)
            left = collections.deque(good)
            self.read(stream, dialect, left, end == "wait")
            if left and not self.storm.upgrading.is_set():
                raise AssertionError(f"no answer to {left[0]}")

    def read(self, stream, dialect, good, stops_at_last):
        while good or not stops_at_last:
            octets = stream.recv(65536)
            for answer in dialect.feed(octets):
                if not good:
                    return
                question = dialect.asked(good, answer)
                if question is None:
                    continue  # of what is behind the good ones
                good.remove(question)
                wrong = dialect.fault(question, answer)
                if wrong:
                    raise AssertionError(f"{wrong}: {question}, {answer}")
                self.answered.append((question, answer))
            if not octets:
                return


class Storm(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="bloomwall-test-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.over, self.upgrading = threading.Event(), threading.Event()
        (self.folder / "listed.txt").write_text("listed.test\n")
        (self.folder / "own.txt").write_text("own.test\n")
        (self.folder / "keys.txt").write_text("".join(f"listed key {i}\n" for i in range(1000)))
        for name, words in (("listed", ()), ("own", ()), ("keys", ("--raw",))):
            run(BUILD / "bloomwall-filter", "build", "-q", *words, "-o", self.folder / f"{name}.bwf", self.folder / f"{name}.txt")
        doors = [door for door in DIALECTS if door not in ("unix", "helper")]
        self.ports, self.unix = dict(zip(doors, free_ports(len(doors)))), self.folder / "unix"
        lines = "".join(f"- {{address: \"127.0.0.1:{port}\", protocol: {door}, trust: [127.0.0.0/8]}}\n" for door, port in self.ports.items())
        groups = "".join(f"- {{name: g{i}, clients: [192.0.2.{i}, 127.0.0.{10 + i}], filters: {{own: {'block' if i % 2 else 'off'}}}}}\n" for i in range(8))
        self.file = self.folder / "bloomwall.yaml"
        self.file.write_text(f"""
listeners: [{{address: "127.0.0.1:0"}}]
answers:
{lines}- {{address: "unix:{self.unix}", protocol: squid, trust: [127.0.0.0/8]}}
workers: 2
filters: [{{name: listed, file: listed.bwf}}, {{name: own, file: own.bwf}}, {{name: keys, file: keys.bwf}}]
groups:
{groups}access: {{clients: [127.0.0.0/8, 192.0.2.0/24]}}
admin: {{address: null, control_socket: {self.folder}/control}}
state_dir: null
timeouts: {{announce: 0, drain: 60s, idle: 5m}}
log: {{file: daemon.log, access: {{file: access.log}}}}
""")
        self.process = subprocess.Popen([BUILD / "bloomwall", "run", "--config", self.file])
        self.addCleanup(lambda: (self.process.kill(), self.process.wait(WAIT)))
        until(lambda: (self.folder / "daemon.log").exists() and "is served" in (self.folder / "daemon.log").read_text())
        self.seed = test_seed()
        self.random = random.Random(self.seed)

    def command(self, *words):
        return subprocess.run([BUILD / "bloomwall", *words, "--config", self.file], check=True, capture_output=True, text=True, timeout=WAIT * 6)

    def during(self, happens):
        """Askers of all protocols, while that happens again and again; they, when all have ended."""
        askers = [kind(self, door, number * 4 + at, self.random.randrange(1 << 32))
                  for door in DIALECTS for number in range(ASKERS) for at, kind in ((0, Honest), (1, Honest), (2, Hostile))]
        for asker in askers:
            asker.start()
        honest = [asker for asker in askers if isinstance(asker, Honest)]
        begun = time.monotonic()
        while not any(asker.wrong for asker in askers) and time.monotonic() < begun + WAIT * 3:
            happens()
            if time.monotonic() > begun + SECONDS and all(asker.answered for asker in honest):
                break
        self.over.set()
        for asker in askers:
            asker.join(WAIT * 3)
            self.assertFalse(asker.is_alive(), f"{asker.name} {asker.door} hangs")
        self.assertEqual([asker.wrong for asker in askers if asker.wrong], [])
        self.assertEqual([asker.door for asker in honest if not asker.answered], [])
        print(f"{sum(len(asker.answered) for asker in askers)} answers, {sum(len(asker.again) for asker in askers)} questions asked again", file=sys.stderr)
        return askers

    def check_log(self, askers):
        """Whose decisions the answers spoke of, and that each question was one."""
        lines = [json.loads(line) for line in whole_lines(self.folder / "access.log")]
        by_id = {line["id"]: line for line in lines if line.get("id")}
        count = collections.Counter(line.get("url") for line in lines)
        for asker in askers:
            for question, answer in asker.answered:
                if answer.id:
                    line = by_id[answer.id]
                    self.assertEqual(line["url"], answer.url, asker.door)
                    self.assertEqual(re.sub(r":\d+$", "", line["inbound_remote_addr"]), answer.client, asker.door)
                if isinstance(asker, Honest) and question.text not in asker.again:
                    self.assertEqual(count[answer.url], answer.times, (asker.door, question, answer))

    def test_reloads(self):
        askers = self.during(lambda: self.command("reload"))
        self.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.process.wait(WAIT * 3), 0)
        self.check_log(askers)

    def test_upgrades(self):
        said = re.compile(r"process (\d+) serves from now on")
        serves = []

        def upgrade():
            self.upgrading.set()
            self.command("upgrade")
            log = self.folder / "daemon.log"
            until(lambda: len(said.findall(log.read_text())) > len(serves))
            serves[:] = map(int, said.findall(log.read_text()))
            self.command("reload")

        self.addCleanup(lambda: [self.end(number, signal.SIGKILL) for number in serves])
        askers = self.during(upgrade)
        for number in serves:
            self.end(number, signal.SIGTERM)
        self.assertEqual(self.process.wait(WAIT * 3), 0)
        until(lambda: not any(pathlib.Path(f"/proc/{number}").exists() for number in serves), WAIT * 3)
        self.check_log(askers)

    @staticmethod
    def end(process, number):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, number)


if __name__ == "__main__":
    main()
