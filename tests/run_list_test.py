#!/usr/bin/env python3
"""`bloomwall run --list FILE...` with the real programs: lists are served without a configuration, read again by SIGHUP, refused with the
builder's words, and nothing is left behind.

Usage: run_list_test.py BUILD_DIR
SPDX-License-Identifier: Apache-2.0
"""
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

from ports import free_ports

PROGRAM = pathlib.Path(sys.argv[1]).resolve() / "bloomwall"
BOUND = 60  # seconds for anything to come true


def wait_for(what, condition):
    end = time.monotonic() + BOUND
    while time.monotonic() < end:
        if got := condition():
            return got
        time.sleep(0.02)
    raise AssertionError(f"not within {BOUND} s: {what}")


class RunList(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = pathlib.Path(place.name)
        self.temporary = self.place / "tmp"
        self.temporary.mkdir()
        self.words = self.place / "stderr"
        self.port = free_ports(1)[0]

    def list(self, name, *lines):
        file = self.place / name
        file.write_text("".join(line + "\n" for line in lines))
        return str(file)

    def start(self, *lists, listen=None):
        words = self.words.open("wb")
        self.addCleanup(words.close)
        process = subprocess.Popen([PROGRAM, "run", "--list", *lists, "--listen", listen or f"127.0.0.1:{self.port}"], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=words, env={**os.environ, "TMPDIR": str(self.temporary)})
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def said(self):
        return self.words.read_text(errors="replace")

    def answer(self, host):
        """All of what the proxy answers; empty where nobody does."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=BOUND) as client:
                client.sendall(f"GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
                text = b""
                while piece := client.recv(65536):
                    text += piece
                return text.decode()
        except OSError:
            return ""

    def blocks(self, host):
        return "403 Blocked by filter lists" in self.answer(host)

    def refused(self, *arguments):
        done = subprocess.run([PROGRAM, "run", *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=BOUND, check=False,
                              env={**os.environ, "TMPDIR": str(self.temporary)})
        self.assertEqual(list(self.temporary.iterdir()), [])
        return done.returncode, done.stderr

    def test_lists_are_served_and_read_again(self):
        first, second = self.list("first.txt", "one.example.test"), self.list("second.txt", "http://two.example.test/")
        process = self.start(first, second)
        wait_for("it blocks what the first list holds", lambda: self.blocks("one.example.test"))
        self.assertTrue(self.blocks("two.example.test"))
        self.assertFalse(self.blocks("127.0.0.9"))
        self.list("first.txt", "one.example.test", "127.0.0.9")
        process.send_signal(signal.SIGHUP)
        wait_for("it blocks what is new", lambda: self.blocks("127.0.0.9"))
        self.assertTrue(self.blocks("two.example.test"))
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(BOUND), 0, self.said())
        self.assertEqual(list(self.temporary.iterdir()), [])

    def test_a_list_that_turns_bad_leaves_the_one_before(self):
        process = self.start(self.list("list.txt", "one.example.test"))
        wait_for("it blocks", lambda: self.blocks("one.example.test"))
        self.list("list.txt", "<html><body>Not found</body></html>")
        process.send_signal(signal.SIGHUP)
        wait_for("it says so", lambda: "the filter before stays in use" in self.said())
        self.assertTrue(self.blocks("one.example.test"))
        self.list("list.txt", "three.example.test", "four.example.test")
        process.send_signal(signal.SIGHUP)
        wait_for("it blocks what is new", lambda: self.blocks("three.example.test"))
        self.assertFalse(self.blocks("127.0.0.9"))
        process.send_signal(signal.SIGINT)
        process.wait(BOUND)
        self.assertEqual(list(self.temporary.iterdir()), [])

    def test_a_bad_list_is_refused_in_the_words_of_the_builder(self):
        bad = self.list("bad.txt", "<html><body>Not found</body></html>")
        status, words = self.refused("--list", bad, "--listen", f"127.0.0.1:{self.port}")
        built = subprocess.run([PROGRAM.parent / "bloomwall-filter", "build", "-o", self.place / "x.bwf", bad], capture_output=True, text=True, check=False,
                               timeout=BOUND)
        self.assertEqual(status, built.returncode, words)
        self.assertIn([line for line in built.stderr.splitlines() if "bloomwall-filter: " in line][-1], words)

    def test_what_cannot_be_served_is_said(self):
        good = self.list("good.txt", "one.example.test")
        with socket.create_server(("127.0.0.1", self.port)):
            status, words = self.refused("--list", good, "--listen", f"127.0.0.1:{self.port}")
            self.assertEqual(status, 2, words)
            self.assertIn(str(self.port), words)
        for arguments, told in [(["--list", good, "--listen", "nonsense"], "give an address and a port"), (["--list", "-"], "stdin cannot be"),
                                (["--list", good, "https://lists.example/a.txt"], "lists are not fetched here"), (["--list", "x.bwf"], "is a filter already"),
                                (["--list", str(self.place / "absent.txt")], "absent.txt"), (["--list", good, "--config", good], "--config"),
                                (["--listen", "127.0.0.1:1"], "--list")]:
            status, words = self.refused(*arguments)
            self.assertEqual(status, 2, words)
            self.assertIn(told, words)

    def test_killed_it_takes_the_proxy_with_it(self):
        process = self.start(self.list("list.txt", "one.example.test"))
        wait_for("it blocks", lambda: self.blocks("one.example.test"))
        process.kill()
        process.wait(BOUND)
        wait_for("nobody listens", lambda: self.answer("one.example.test") == "")
        wait_for("nothing is left", lambda: list(self.temporary.iterdir()) == [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
