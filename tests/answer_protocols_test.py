#!/usr/bin/env python3
"""The protocols icap, resp, socketmap and tcp_table of `answers:`, over raw sockets and with the programs that speak them.

Usage: answer_protocols_test.py BUILD_DIR [unittest arguments]. What is not installed is skipped, and said so, or fails where
BLOOMWALL_EVERY_CLIENT is 1: postmap (package postfix), redis-cli (redis-tools), python3-redis, c-icap-client (c-icap), squid with curl.
Nothing of the system is started or changed.
SPDX-License-Identifier: Apache-2.0
"""
import base64
import contextlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import unittest

from interception_site import BUILD, WAIT, Origin, main, run, until, whole_lines
from ports import free_ports
from seed import test_seed

PAGE = (pathlib.Path(__file__).resolve().parent.parent / "docs/answers.md").read_text()
REDIS_CLIENT = """
import json, redis, sys
with redis.Redis(port=int(sys.argv[1]), socket_timeout=float(sys.argv[2])) as client:
    out = {"ping": client.ping(), "two": client.execute_command("BF.MEXISTS", "spam", "key 1", "no")}
    try:
        client.execute_command("BF.EXISTS", "none", "x")
    except redis.exceptions.ResponseError:
        out["none"] = "refused"
    with client.pipeline(transaction=False) as pipe:
        for key in ("key 1", "no", "key 1"):
            pipe.execute_command("BF.EXISTS", "spam", key)
        out["pipe"] = pipe.execute()
print(json.dumps(out))
"""
DOORS = ["socketmap", "tcp_table", "resp", "icap"]
GET = "GET http://{host}/{path} HTTP/1.1\r\nHost: {host}\r\nAccept-Language: de\r\n\r\n"


def need(test, *programs):
    absent = [p for p in programs if not shutil.which(p, path=os.environ["PATH"] + ":/usr/sbin:/sbin")]
    if absent:
        miss(test, *absent)


def miss(test, *names):
    if os.environ.get("BLOOMWALL_EVERY_CLIENT") == "1":
        test.fail(f"not installed: {', '.join(names)}")
    test.skipTest(f"not installed: {', '.join(names)}")


def example(language, of):
    """The block of code of that language in the manual that holds a text."""
    return next(block for block in re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL) if of in block)


def netstring(text):
    return f"{len(text)}:{text},".encode()


def command(*words):
    return f"*{len(words)}\r\n".encode() + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in (w.encode() for w in words))


def reqmod(head, body=None, fields="Allow: 204\r\n", preview=None):
    """A question of ICAP; of the body the preview alone where there is one."""
    kind = "null-body" if body is None else "req-body"
    fields += "" if preview is None else f"Preview: {preview}\r\n"
    out = f"REQMOD icap://p/reqmod ICAP/1.0\r\nHost: p\r\n{fields}Encapsulated: req-hdr=0, {kind}={len(head)}\r\n\r\n{head}".encode()
    if body is None:
        return out
    part = body if preview is None else body[:preview]
    chunks = b"%x\r\n%s\r\n" % (len(part), part) if part else b""
    return out + chunks + (b"0; ieof\r\n\r\n" if preview is not None and len(part) == len(body) else b"0\r\n\r\n")


class Daemon:
    def __init__(self, folder, more="", clients="127.0.0.0/8, 203.0.113.0/24", filters=""):
        self.folder, self.file = folder, folder / "c.yaml"
        self.ports = dict(zip(DOORS, free_ports(len(DOORS))))
        doors = "".join(f"- {{address: 127.0.0.1:{self.ports[d]}, protocol: {d}, trust: [127.0.0.1]{more}{', users: true' if d == 'icap' else ''}}}\n" for d in DOORS)
        self.file.write_text(f"""
listeners: [{{address: "127.0.0.1:0"}}]
answers:
{doors}- {{address: "unix:{folder}/map", protocol: socketmap, trust: [127.0.0.1]}}
workers: 2
filters:
- {{name: spam, file: {folder}/spam.bwf}}
- {{name: watch, file: {folder}/watch.bwf, action: monitor}}
- {{name: hosts, file: {folder}/hosts.bwf}}
{filters}
access: {{clients: [{clients}], deny_destinations: []}}
admin: {{address: "127.0.0.1:0", control_socket: {folder}/control.sock}}
log: {{access: {{file: {folder}/access.log}}}}
state_dir: {folder}/state
timeouts: {{announce: 0, drain: 5s, request_header: 2s}}
""")
        self.process = subprocess.Popen([BUILD / "bloomwall", "run", "--config", self.file], stderr=subprocess.PIPE, text=True)
        self.lines = []
        for line in self.process.stderr:
            self.lines.append(line)
            if "listening on" in line:
                break
        threading.Thread(target=lambda: self.lines.extend(self.process.stderr), daemon=True).start()
        for port in self.ports.values():
            until(lambda: self.process.poll() is None and self.answers(port))

    @staticmethod
    def answers(port):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=WAIT):
            return True
        return False

    def connect(self, door, source="127.0.0.1"):
        return socket.create_connection(("127.0.0.1", self.ports[door]), timeout=WAIT, source_address=(source, 0))

    def command(self, *words):
        return run(BUILD / "bloomwall", *words, "--config", self.file)

    def log(self):
        return [json.loads(line) for line in whole_lines(self.folder / "access.log")]

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)
        self.process.stderr.close()
        return self.process.returncode


class Doors(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="bloomwall-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        (cls.folder / "state").mkdir()
        (cls.folder / "spam.txt").write_text("spammer@example.test\nkey 1\n192.0.2.9\n")
        (cls.folder / "watch.txt").write_text("odd@example.test\n")
        (cls.folder / "hosts.txt").write_text("bad.test\n198.51.100.0/24\nhttp://files.test/bad/\n")
        for name in ("spam", "watch"):
            run(BUILD / "bloomwall-filter", "build", "--raw", "-o", cls.folder / f"{name}.bwf", cls.folder / f"{name}.txt")
        run(BUILD / "bloomwall-filter", "build", "-o", cls.folder / "hosts.bwf", cls.folder / "hosts.txt")
        cls.daemon = Daemon(cls.folder)
        cls.addClassCleanup(lambda: cls.daemon.process.poll() is None and cls.daemon.end())
        cls.random = random.Random(test_seed())

    def exchange(self, door, octets, source="127.0.0.1", cut=True):
        """All that comes back until the end, of questions that are sent in pieces; our side is ended behind them."""
        with self.daemon.connect(door, source) as stream:
            while octets:
                size = self.random.choice([1, 7, 100, len(octets)]) if cut else len(octets)
                stream.sendall(octets[:size])
                octets = octets[size:]
            stream.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: stream.recv(65536), b""))


class MailTables(Doors):
    def test_socketmap(self):
        asked = ["mail spammer@example.test", "mail odd@example.test", "mail ok@example.test", "mail x@bad.test", "mail x@sub.bad.test",
                 "mail bad.test", "mail 198.51.100.7", "mail x@[198.51.100.7]", "mail 192.0.2.9", "mail files.test", "mail unknown",
                 "spam spammer@example.test", "spam bad.test", "hosts bad.test", "none x", "mail", "mail "]
        answers = self.exchange("socketmap", b"".join(map(netstring, asked))).decode()
        texts = []
        while answers:
            size, _, rest = answers.partition(":")
            texts.append(re.sub(r"decision \w+", "decision ID", rest[:int(size)]))
            self.assertEqual(rest[int(size)], ",")
            answers = rest[int(size) + 1:]
        found = "OK REJECT listed in {}, decision ID".format
        self.assertEqual(dict(zip(asked, texts, strict=True)), {
            "mail spammer@example.test": found("spam"), "mail odd@example.test": "NOTFOUND ", "mail ok@example.test": "NOTFOUND ",
            "mail x@bad.test": found("hosts"), "mail x@sub.bad.test": found("hosts"), "mail bad.test": found("hosts"),
            "mail 198.51.100.7": found("hosts"), "mail x@[198.51.100.7]": found("hosts"), "mail 192.0.2.9": found("spam"),
            "mail files.test": "NOTFOUND ", "mail unknown": "NOTFOUND ", "spam spammer@example.test": found("spam"),
            "spam bad.test": "NOTFOUND ", "hosts bad.test": "PERM the filter has no raw keys", "none x": "PERM no filter has this name",
            "mail": "PERM a question is a name, a blank and a key", "mail ": "PERM the key is empty"})

    def test_tcp_table(self):
        answers = self.exchange("tcp_table", b"get spammer@example.test\nget key%201\nget ok@example.test\nput a b\nget a b\nget\n")
        self.assertEqual(re.sub(rb"decision%20\w+", b"decision%20ID", answers).split(b"\n"), [
            b"200 REJECT%20listed%20in%20spam,%20decision%20ID", b"200 REJECT%20listed%20in%20spam,%20decision%20ID", b"500 not%20listed",
            b"400 only%20get%20is%20answered,%20with%20one%20blank%20and%20a%20key",
            b"400 blanks%20and%20control%20octets%20of%20a%20key%20are%20written%20as%20%25XX",
            b"400 only%20get%20is%20answered,%20with%20one%20blank%20and%20a%20key", b""])

    def test_broken_frames_are_answered_and_end_the_connection(self):
        self.assertEqual(self.exchange("socketmap", netstring("mail ok@example.test") + b"GET / HTTP/1.1\r\n\r\n")[:11], b"9:NOTFOUND ")
        self.assertIn(b"PERM this is no question", self.exchange("socketmap", b"99999:x"))
        self.assertTrue(self.exchange("tcp_table", b"get " + b"x" * 5000 + b"\n").startswith(b"400 this%20is%20no%20question"))

    def test_questions_are_logged_and_counted(self):
        key = "logged@bad.test"
        answer = self.exchange("socketmap", netstring(f"mail {key}")).decode()
        [line] = until(lambda: [line for line in self.daemon.log() if line["url"] == key])
        self.assertIn(f"decision {line['id']}", answer)
        self.assertEqual((line["method"], line["decision"], line["filter"], line["status"]), ("SOCKETMAP", "blocked", "hosts", 403))

    def test_exceptions_hold(self):
        question = netstring("mail x@opened.bad.test")
        self.assertIn(b"OK REJECT", self.exchange("socketmap", question))
        self.daemon.command("allow", "opened.bad.test", "--why", "test", "--for", "1m")
        self.assertIn(b"NOTFOUND", self.exchange("socketmap", question))

    def test_unix_socket(self):
        with socket.socket(socket.AF_UNIX) as stream:
            stream.settimeout(WAIT)
            stream.connect(str(self.folder / "map"))
            stream.sendall(netstring("mail ok@example.test"))
            self.assertEqual(stream.recv(100), b"9:NOTFOUND ,")

    def test_postmap(self):
        need(self, "postmap")
        folder = self.folder / "postfix"
        folder.mkdir()
        (folder / "main.cf").write_text("compatibility_level = 3.6\n")
        path = os.environ["PATH"] + ":/usr/sbin:/sbin"
        ports = self.daemon.ports
        table = re.search(r"check_sender_access (\S+)", example("postfix", "check_sender_access"))[1]
        for table in (table.replace(":3133:", f":{ports['socketmap']}:"), f"tcp:127.0.0.1:{ports['tcp_table']}"):
            for key, found in (("spammer@example.test", True), ("x@bad.test", True), ("ok@example.test", False)):
                done = subprocess.run([shutil.which("postmap", path=path), "-c", folder, "-q", key, table], capture_output=True, text=True,
                                      timeout=WAIT * 3)
                self.assertEqual(done.returncode, 0 if found else 1, done.stderr)
                self.assertEqual(done.stdout.startswith("REJECT listed in "), found, done.stdout)
        done = subprocess.run([shutil.which("postmap", path=path), "-c", folder, "-q", "x", f"socketmap:inet:127.0.0.1:{ports['socketmap']}:none"],
                              capture_output=True, text=True, timeout=WAIT * 3)
        self.assertIn("no filter has this name", done.stderr)


class Redis(Doors):
    def test_commands_in_order(self):
        asked = [command("PING"), command("ping", "x"), command("ECHO", "y"), command("BF.EXISTS", "spam", "key 1"),
                 command("bf.exists", "spam", "key 2"), command("BF.MEXISTS", "spam", "key 1", "no", "spammer@example.test"),
                 command("BF.EXISTS", "watch", "odd@example.test"), command("BF.EXISTS", "none", "x"), command("BF.EXISTS", "hosts", "x"),
                 command("BF.ADD", "spam", "x"), command("BF.EXISTS", "spam"), command("SELECT", "0"), command("SELECT", "1"),
                 command("NOPE", "a\r\nb"), command("HELLO", "4"), command("COMMAND", "COUNT"), command("QUIT"), command("PING")]
        self.assertEqual(self.exchange("resp", b"".join(asked)).split(b"\r\n"), [
            b"+PONG", b"$1", b"x", b"$1", b"y", b":1", b":0", b"*3", b":1", b":0", b":1", b":1", b"-ERR no filter has this name",
            b"-ERR the filter has no raw keys", b"-READONLY filters are files, which bloomwall-filter builds",
            b"-ERR wrong number of arguments for 'bf.exists' command", b"+OK", b"-ERR DB index is out of range",
            b"-ERR unknown command 'NOPE'", b"-NOPROTO unsupported protocol version", b":9", b"+OK", b""])

    def test_version_3(self):
        answer = self.exchange("resp", command("HELLO", "3") + command("BF.MEXISTS", "spam", "key 1", "no") + command("RESET") +
                               command("BF.EXISTS", "spam", "key 1"))
        self.assertTrue(answer.startswith(b"%7\r\n$6\r\nserver\r\n$9\r\nbloomwall\r\n"))
        self.assertTrue(answer.endswith(b"*2\r\n#t\r\n#f\r\n+RESET\r\n:1\r\n"))

    def test_inline_commands_end_the_connection(self):
        self.assertEqual(self.exchange("resp", command("PING") + b"PING\r\n" + command("PING")),
                         b"+PONG\r\n-ERR Protocol error: expected '*'; inline commands are not taken\r\n")

    def test_many_pipelined(self):
        keys = [self.random.choice(["key 1", "no"]) for _ in range(3000)]
        answers = self.exchange("resp", b"".join(command("BF.EXISTS", "spam", key) for key in keys), cut=False)
        self.assertEqual(answers, b"".join(b":1\r\n" if key == "key 1" else b":0\r\n" for key in keys))

    def test_redis_cli(self):
        need(self, "redis-cli")
        for version in ("-2", "-3"):
            done = run("redis-cli", "-p", self.daemon.ports["resp"], version, "BF.EXISTS", "spam", "key 1", timeout=WAIT * 3)
            self.assertIn(done.stdout.strip(), ("1", "(integer) 1", "true", "(true)"))

    def test_python_redis(self):
        # By Debian's Python where the one that runs this has not got it: another one that comes first in PATH sees no packages of Debian.
        has_it = lambda python: subprocess.run([python, "-c", "import redis"], stderr=subprocess.DEVNULL, check=False).returncode == 0
        python = next(filter(has_it, (sys.executable, "/usr/bin/python3")), None)
        if python is None:
            miss(self, "python3-redis")
        done = run(python, "-c", REDIS_CLIENT, self.daemon.ports["resp"], WAIT, timeout=WAIT * 3)
        self.assertEqual(json.loads(done.stdout), {"ping": True, "two": [1, 0], "none": "refused", "pipe": [1, 0, 1]})


def icap_answers(octets):
    """(status, fields, sections) of each, where a section is the head and the body of the HTTP message in it."""
    out = []
    while octets:
        head, octets = octets.split(b"\r\n\r\n", 1)
        lines = head.decode().split("\r\n")
        fields = dict(line.split(": ", 1) for line in lines[1:])
        sections = dict(part.split("=") for part in fields["Encapsulated"].split(", "))
        http, body = b"", b""
        for name, at in sections.items():
            if name.endswith("-body"):
                http, octets = octets[:int(at)], octets[int(at):]
                while name != "null-body":
                    size, octets = octets.split(b"\r\n", 1)
                    body += octets[:int(size, 16)]
                    octets = octets[int(size, 16) + 2:]
                    if int(size, 16) == 0:
                        break
        out.append((int(lines[0].split()[1]), fields, http, body))
    return out


class Icap(Doors):
    def ask(self, *questions, source="127.0.0.1"):
        return icap_answers(self.exchange("icap", b"".join(questions), source))

    def test_options(self):
        options = b"OPTIONS icap://p/reqmod ICAP/1.0\r\nHost: p\r\n\r\n"
        [(status, fields, _, _)] = self.ask(options)
        self.assertEqual((status, fields["Methods"], fields["Allow"], fields["Preview"]), (200, "REQMOD", "204", "0"))
        self.assertRegex(fields["ISTag"], r'^"[^"]{1,30}"$')
        self.assertEqual(self.ask(options)[0][1]["ISTag"], fields["ISTag"])
        self.daemon.command("reload")
        self.assertNotEqual(self.ask(options)[0][1]["ISTag"], fields["ISTag"])

    def test_verdicts_in_order(self):
        bad, ok = GET.format(host="BAD.test", path=""), GET.format(host="ok.test", path="")
        url = GET.format(host="files.test", path="x/../bad/%2e/n")
        post = "POST http://{}/ HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n".format
        connect = "CONNECT bad.test:443 HTTP/1.1\r\nHost: bad.test:443\r\n\r\n"
        origin_form = "GET /bad/ HTTP/1.1\r\nHost: files.test\r\n\r\n"
        answers = self.ask(reqmod(ok), reqmod(bad), reqmod(url), reqmod(connect), reqmod(origin_form), reqmod(post("ok.test"), b"something"),
                           reqmod(post("ok.test"), b"something", "", preview=0), reqmod(post("bad.test"), b"something", "", preview=4),
                           reqmod(post("ok.test"), b"something", "", preview=9), reqmod(ok, fields=""),
                           reqmod(post("ok.test"), b"something", fields=""), reqmod(ok))
        self.assertEqual([status for status, *_ in answers], [204, 200, 200, 200, 200, 204, 204, 200, 204, 200, 200, 204])
        for place in (1, 2, 3, 4, 7):
            _, fields, http, body = answers[place]
            self.assertTrue(http.startswith(b"HTTP/1.1 403 "), http)
            self.assertIn(b"Proxy-Status: ", http)
            self.assertNotIn(b"Connection:", http)
            self.assertIn("res-hdr=0", fields["Encapsulated"])
            self.assertEqual(int(re.search(rb"Content-Length: (\d+)", http)[1]), len(body))
        self.assertIn(b"Content-Language: de", answers[1][2])
        self.assertEqual(answers[9][2:], (ok.encode(), b""))
        self.assertEqual(answers[10][2:], (post("ok.test").encode(), b"something"))

    def test_a_long_body_comes_back_whole_where_nothing_else_may_be_said(self):
        body = self.random.randbytes(3_000_000)
        head = "POST http://ok.test/ HTTP/1.1\r\nHost: ok.test\r\n\r\n"
        with self.daemon.connect("icap") as stream:
            question = reqmod(head, body, fields="") + reqmod(GET.format(host="ok.test", path=""))
            writer = threading.Thread(target=lambda: (stream.sendall(question), stream.shutdown(socket.SHUT_WR)))
            writer.start()
            answers = icap_answers(b"".join(iter(lambda: stream.recv(65536), b"")))
            writer.join()
        self.assertEqual([status for status, *_ in answers], [200, 204])
        self.assertEqual(answers[0][3], body)

    def test_a_page_for_a_body_without_preview_ends_the_connection(self):
        head = "POST http://bad.test/ HTTP/1.1\r\nHost: bad.test\r\n\r\n"
        answers = self.ask(reqmod(head, b"something"), reqmod(GET.format(host="ok.test", path="")))
        self.assertEqual([(status, fields.get("Connection")) for status, fields, *_ in answers], [(200, "close")])

    def test_faults(self):
        get = GET.format(host="ok.test", path="")
        for question, wanted in ((b"GET / HTTP/1.1\r\nHost: p\r\n\r\n", 400), (b"REQMOD icap://p/reqmod ICAP/1.0\r\nHost: p\r\n\r\n", 400),
                                 (reqmod(get).replace(b"/reqmod", b"/other"), 404),
                                 (b"RESPMOD icap://p/reqmod ICAP/1.0\r\nHost: p\r\n\r\n", 405),
                                 (reqmod(get).replace(b"ICAP/1.0", b"ICAP/2.0"), 505)):
            [(status, fields, _, _)] = self.ask(question, reqmod(get))
            self.assertEqual((status, fields["Connection"]), (wanted, "close"), question)
        [(status, _, http, _)] = self.ask(reqmod("GET http://ok.test/ HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"))
        self.assertEqual((status, http[:12]), (200, b"HTTP/1.1 400"))

    def test_what_does_not_come_in_time(self):
        with self.daemon.connect("icap") as stream:
            stream.sendall(b"REQMOD icap://p/reqmod")
            self.assertIn(b"ICAP/1.0 408 ", b"".join(iter(lambda: stream.recv(65536), b"")))

    def said_of(self, path, sources):
        """Client and user in the log, of questions that name both."""
        user = base64.b64encode(b"Local://alice").decode()
        question = reqmod(GET.format(host="bad.test", path=path), fields=f"Allow: 204\r\nX-Client-IP: 203.0.113.5\r\nX-Authenticated-User: {user}\r\n")
        for source in sources:
            [(status, _, http, _)] = self.ask(question, source=source)
            self.assertEqual((status, http[:12]), (200, b"HTTP/1.1 403"))
        lines = until(lambda: (lines := [l for l in self.daemon.log() if l.get("url", "").endswith("/" + path)])[len(sources) - 1:] and lines)
        return {(line["inbound_remote_addr"].rsplit(":", 1)[0], line.get("user")) for line in lines}

    def test_clients_and_users_are_believed_from_trust_alone(self):
        self.assertEqual(self.said_of("who", ("127.0.0.1", "127.0.0.2")), {("203.0.113.5", "alice"), ("127.0.0.2", None)})

    def test_users_are_believed_where_the_door_says_so_alone(self):
        text = self.daemon.file.read_text()
        self.addCleanup(lambda: (self.daemon.file.write_text(text), self.daemon.command("reload")))
        self.daemon.file.write_text(text.replace(", users: true", ""))
        self.daemon.command("reload")
        self.assertEqual(self.said_of("nobody", ("127.0.0.1",)), {("203.0.113.5", None)})

    def test_c_icap_client(self):
        need(self, "c-icap-client")
        for host, wanted in (("bad.test", "403"), ("ok.test", "No modification needed")):
            done = subprocess.run(["c-icap-client", "-i", "127.0.0.1", "-p", str(self.daemon.ports["icap"]), "-s", "reqmod", "-v",
                                   "-req", f"http://{host}/", "-d", "3"], capture_output=True, text=True, timeout=WAIT * 3)
            self.assertIn(wanted, done.stdout + done.stderr)


SQUID = """
http_port 127.0.0.1:{port}
visible_hostname test
pid_filename {folder}/squid.pid
cache_log {folder}/cache.log
access_log none
cache deny all
coredump_dir {folder}
http_access allow all
shutdown_lifetime 0
hosts_file {folder}/hosts
{icap}
"""


class Squid(Doors):
    def setUp(self):
        need(self, "squid", "curl")
        self.origin = Origin()
        self.site = self.folder / "squid"
        self.site.mkdir()
        self.site.chmod(0o777)
        self.folder.chmod(0o755)
        (self.site / "hosts").write_text("127.0.0.1 ok.test bad.test files.test\n")
        [self.port] = free_ports(1)
        (self.site / "squid.conf").write_text(SQUID.format(port=self.port, folder=self.site, icap=example(
            "squid", "icap_enable").replace(":1344/", f":{self.daemon.ports['icap']}/")))
        squid = shutil.which("squid", path=os.environ["PATH"] + ":/usr/sbin:/sbin")
        self.process = subprocess.Popen([squid, "-N", "-f", self.site / "squid.conf"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(lambda: (self.process.kill(), self.process.wait()))
        until(lambda: Daemon.answers(self.port), WAIT * 3)

    def curl(self, *words):
        done = subprocess.run(["curl", "-s", "-x", f"http://127.0.0.1:{self.port}", "-w", "\n%{http_code} %{http_connect}", *map(str, words)],
                              capture_output=True, text=True, timeout=WAIT * 3)
        body, _, codes = done.stdout.rpartition("\n")
        return body, codes.split()

    def test_reqmod_precache(self):
        where = f"ok.test:{self.origin.port}"
        until(lambda: self.curl(f"http://{where}/first")[1][0] == "200", WAIT * 3)
        body, codes = self.curl("-H", "Accept: text/html", "-H", "Accept-Language: de", f"http://FILES.test:{self.origin.port}/x/../bad/%2e/n",
                                "--path-as-is")
        self.assertEqual(codes[0], "403")
        self.assertIn('lang="de"', body)
        self.assertEqual(self.curl(f"https://bad.test:{self.origin.port}/")[1], ["000", "403"])
        big = self.site / "big"
        with big.open("wb") as file:
            file.truncate(20_000_000)
        self.assertEqual(self.curl("--data-binary", f"@{big}", f"http://{where}/post")[:2], ("origin:/post", ["200", "000"]))
        self.assertEqual(self.curl("--data-binary", f"@{big}", f"http://bad.test:{self.origin.port}/post")[1][0], "403")
        self.assertEqual(self.curl(f"http://{where}/after")[1][0], "200")


if __name__ == "__main__":
    main()
