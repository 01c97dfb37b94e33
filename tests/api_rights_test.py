#!/usr/bin/env python3
"""The API while rights change and clients misbehave: people of admin.users_file, streams whose caller has lost the right to them,
clients that do not read, wrong passwords.

Usage: api_rights_test.py BUILD_DIR [unittest arguments].
SPDX-License-Identifier: Apache-2.0
"""
import http.client
import json
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

from api_site import BASE, Proxy
from interception_site import BUILD, WAIT, until

PASSWORD, GUESS = "open sesame", "a-wrong-guess-77"
HASH = "$2b$04$abcdefghijklmnopqrstuu/LVz6MZlItEy42I2juLihZ66HnQx/cy"  # of PASSWORD
OTHER_HASH = "$2b$10$abcdefghijklmnopqrstuuEUlnU5rVQ5y1Wb6MmLm7bNy4n1Hc1mC"
USERS = {"carol": "operator", "dave": "reviewer:pupils", "erna": "viewer"}
STREAMS = 8  # at a time


class Rights(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="bloomwall-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.write_users()
        self.proxy = Proxy(self.folder, 'address: "127.0.0.1:0", users_file: users')
        self.addCleanup(self.proxy.stop)

    def write_users(self, hashes=None, **roles):
        hashes = hashes or {}
        (self.folder / "users").write_text("".join(f"{name}:{hashes.get(name, HASH)}:{role}\n" for name, role in (USERS | roles).items()))
        (self.folder / "users").chmod(0o600)

    def token(self, name, role="operator", lasts="1h"):
        return self.proxy.command("token", "add", name, "--role", role, "--for", lasts).strip()

    def session(self, cookie):
        """Who the API says asks with it."""
        connection, answer = self.proxy.open("/session", cookie=cookie)
        said = json.loads(answer.read())
        connection.close()
        return said["who"], said["role"], said["groups"]

    def change(self, method, path, cookie, body=None):
        origin = f"http://127.0.0.1:{self.proxy.port}"
        return self.proxy.ask(method, path, body, fields={"Cookie": cookie, "X-Bloomwall": "1", "Origin": origin})

    def try_password(self, name, password, client="127.0.0.1"):
        connection = http.client.HTTPConnection("127.0.0.1", self.proxy.port, timeout=WAIT, source_address=(client, 0))
        connection.request("POST", BASE + "/session", body=json.dumps({"user": name, "password": password}))
        answer = connection.getresponse()
        answer.read()
        connection.close()
        return answer.status, answer.getheader("Retry-After")

    def stream(self, **who):
        connection, answer = self.proxy.open("/stream", **who)
        self.addCleanup(connection.close)
        self.assertEqual(answer.status, 200, who)
        self.assertEqual(answer.readline(), b":\n")
        return answer

    def test_streams_end_with_the_right_to_them(self):
        kept = self.stream(token=self.token("kept"))
        by_session_of_token = self.token("began")
        carol = {"user": "carol", "password": PASSWORD}
        cookies = {name: self.proxy.sign_in(proof) for name, proof in
                   (("signs out", carol), ("is made a viewer", carol), ("whose token goes", {"token": by_session_of_token}))}
        streams = {"token removed": self.stream(token=self.token("gone")), "token that ends": self.stream(token=self.token("short", lasts="6s"))}
        streams |= {name: self.stream(cookie=cookie) for name, cookie in cookies.items()}
        self.proxy.command("token", "remove", "gone")
        self.proxy.command("token", "remove", "began")
        self.assertEqual(self.change("DELETE", "/session", cookies["signs out"])[0], 200)
        for name in ("token removed", "signs out", "whose token goes", "token that ends"):
            self.assertTrue(streams[name].read().endswith(b"\n"), name)  # to its end, within the socket's timeout
        self.assertEqual(self.session(cookies["is made a viewer"]), ("user carol", "operator", []))
        self.write_users(carol="viewer")
        self.proxy.command("reload")
        streams["is made a viewer"].read()
        self.assertEqual(self.session(cookies["is made a viewer"]), ("user carol", "viewer", []))
        connection, answer = self.proxy.open("/stream", cookie=cookies["is made a viewer"])
        self.assertEqual(answer.status, 403)
        connection.close()
        # The stream of the token that is still there goes on.
        self.proxy.command("deny", "shown.example.test", "--why", "x")
        client = http.client.HTTPConnection("127.0.0.1", self.proxy.own_port, timeout=WAIT)
        self.addCleanup(client.close)
        client.request("GET", "http://shown.example.test/")
        self.assertEqual(client.getresponse().status, 403)
        until(lambda: b"shown.example.test" in kept.readline())  # a comment comes every 15 seconds

    def test_people_sign_in_with_their_roles(self):
        roles = {"carol": ("operator", []), "dave": ("reviewer", ["pupils"]), "erna": ("viewer", [])}
        cookies = {name: self.proxy.sign_in({"user": name, "password": PASSWORD}) for name in roles}
        for name, (role, groups) in roles.items():
            self.assertEqual(self.session(cookies[name]), (f"user {name}", role, groups))
        made = {"action": "allow", "entry": "h.example.test", "why": "x", "until": None}
        self.assertEqual(self.change("POST", "/exceptions", cookies["erna"], made)[0], 403)
        self.assertEqual(self.change("POST", "/exceptions", cookies["dave"], made)[0], 403)
        self.assertEqual(self.change("POST", "/exceptions", cookies["dave"], {**made, "group": "pupils"})[0], 201)
        rows = json.loads(self.proxy.ask("GET", "/audit", token=self.token("admin", "admin"))[2])["items"]
        self.assertEqual([(row["who"], row["via"]) for row in rows if row["what"] == "exception.made"], [("user dave", "page")])
        for name, password in (("carol", GUESS), ("nobody", PASSWORD), ("", ""), ("carol", "")):
            self.assertEqual(self.try_password(name, password, client="127.0.0.5")[0], 401, name)
        # Another password, and nobody any more: the sessions of both end with the reload.
        self.write_users({"carol": OTHER_HASH}, erna="viewer")
        text = (self.folder / "users").read_text()
        (self.folder / "users").write_text("".join(line for line in text.splitlines(True) if not line.startswith("dave")))
        self.proxy.command("reload")
        self.assertEqual([self.session(cookies[name])[0] for name in ("carol", "dave", "erna")], [None, None, "user erna"])
        (self.folder / "users").write_text("carol:secret:boss\n")
        log = self.folder / "daemon.log"
        with self.assertRaises(subprocess.CalledProcessError):
            self.proxy.command("reload")
        until(lambda: "admin.users_file: " in log.read_text())
        self.assertNotIn("secret", log.read_text())
        self.assertEqual(self.session(cookies["erna"])[0], "user erna", "a reload that fails changes nothing")

    def test_wrong_passwords_lock(self):
        statuses = [self.try_password("carol", GUESS, client="127.0.0.5")[0] for _ in range(5)]
        self.assertEqual(statuses, [401] * 5)
        status, wait = self.try_password("carol", PASSWORD, client="127.0.0.5")
        self.assertEqual(status, 429)
        self.assertTrue(0 < int(wait) <= 900, wait)
        self.assertEqual(self.try_password("erna", PASSWORD, client="127.0.0.5")[0], 429, "the address is locked")
        self.assertEqual(self.try_password("carol", PASSWORD, client="127.0.0.6")[0], 429, "the name is locked")
        self.assertEqual(self.try_password("erna", PASSWORD, client="127.0.0.6")[0], 201)
        self.assertEqual(self.proxy.ask("GET", "/status", token=self.token("ci"))[0], 200, "tokens are no guesses")

    def test_passwords_stand_nowhere(self):
        self.proxy.sign_in({"user": "carol", "password": PASSWORD})
        self.try_password("carol", GUESS)
        self.try_password(GUESS, GUESS)  # somebody typed it in the wrong place
        admin = self.token("admin", "admin")
        said = [self.proxy.ask("GET", path, token=admin)[2] for path in ("/config", "/audit", "/status", "/reloads", "/tokens")]
        connection = http.client.HTTPConnection("127.0.0.1", self.proxy.port, timeout=WAIT)
        self.addCleanup(connection.close)
        connection.request("GET", "/metrics")
        said.append(connection.getresponse().read().decode())
        self.proxy.process.send_signal(signal.SIGUSR1)
        said.append((self.folder / "daemon.log").read_text())
        kept = [file.read_bytes() for file in (self.folder / "state").rglob("*") if file.is_file()]
        self.assertTrue(kept)
        for secret in (PASSWORD, GUESS, HASH):
            self.assertFalse([text for text in said if secret in text], secret)
            self.assertFalse([octets for octets in kept if secret.encode() in octets], secret)

    def test_streams_that_nobody_reads_are_cut(self):
        token = self.token("watcher")
        stalled = []
        for _ in range(STREAMS):
            client = socket.socket()
            self.addCleanup(client.close)
            client.settimeout(WAIT)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)  # else the other side's kernel takes megabytes
            client.connect(("127.0.0.1", self.proxy.port))
            client.sendall(f"GET {BASE}/stream HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
            self.assertIn(b" 200 OK", client.recv(64))
            stalled.append(client)
        self.assertEqual(self.proxy.open("/stream", token=token)[1].status, 503)
        idle = [socket.create_connection(("127.0.0.1", self.proxy.port)) for _ in range(64)]
        self.addCleanup(lambda: [each.close() for each in idle])
        client = http.client.HTTPConnection("127.0.0.1", self.proxy.own_port, timeout=WAIT)
        self.addCleanup(client.close)

        def is_there_room():
            for i in range(20):  # which keep it busy
                client.request("GET", f"http://listed.example.test/{i}{'p' * 1500}")
                answer = client.getresponse()
                answer.read()
                self.assertEqual(answer.status, 403)
            self.assertEqual(self.proxy.ask("GET", "/status", token=token)[0], 200)
            opened = [self.proxy.open("/stream", token=token) for _ in range(STREAMS)]
            for connection, _ in opened:
                connection.close()
            # For all: one that is not cut yet would go on once it is read.
            return all(answer.status == 200 for _, answer in opened)

        until(is_there_room, wait=60)
        for client in stalled:
            text = b""
            try:
                while piece := client.recv(65536):
                    text += piece
            except ConnectionResetError:
                pass
            self.assertFalse(text.endswith(b"0\r\n\r\n"), "it does not look whole")


if __name__ == "__main__":
    if BUILD is None:
        sys.exit(__doc__)
    unittest.main()
