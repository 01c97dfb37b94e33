#!/usr/bin/env python3
"""Programs that ask the running proxy: nginx by auth_request, Caddy by forward_auth and Squid by its helper, configured as docs/answers.md
says, and the helper alone.

Usage: answers_test.py BUILD_DIR [unittest arguments]. Tests of programs that are not installed are skipped, except with BLOOMWALL_EVERY_CLIENT=1.
SPDX-License-Identifier: Apache-2.0
"""
import concurrent.futures
import contextlib
import grp
import http.client
import http.server
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import unittest

from interception_site import BUILD, WAIT, until, whole_lines
from ports import free_ports

PAGE = (pathlib.Path(__file__).resolve().parent.parent / "docs/answers.md").read_text()


def example(language, of):
    """The block of code of that language that holds a text."""
    blocks = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return next(block for block in blocks if of in block)


def program(name):
    found = shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/usr/local/sbin")
    if found is None and os.environ.get("BLOOMWALL_EVERY_CLIENT") != "1":
        raise unittest.SkipTest(f"{name} is not installed")
    return found


def group_of_squid():
    """Squid's own group on Debian; where this is not root Squid runs as the same user."""
    with contextlib.suppress(KeyError):
        return ", group: " + grp.getgrnam("proxy").gr_name if os.geteuid() == 0 else ""
    return ""


def end(process):
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


def successor_in(log, seen=0):
    """The process that an upgrade has left; the log's thread writes its line a little later than the answer comes."""
    said = re.compile(r"process (\d+) serves from now on")
    until(lambda: said.search(log.read_text(), seen))
    return int(said.search(log.read_text(), seen)[1])


def is_there(port):
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


class Origin(http.server.ThreadingHTTPServer):
    """Says ok to everybody."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, *_):
            pass

    def __init__(self):
        super().__init__(("127.0.0.1", 0), self.Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def port(self):
        return self.server_address[1]


class Site:
    """The proxy with doors for both, in a folder that other users may look into."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="bloomwall-test-"))
        self.folder.chmod(0o755)
        self.process = None
        self.socket = self.folder / "squid.sock"
        self.runs = 0
        self.build("blocked.test\nhttp://mixed.test/bad/\nhttp://mixed.test/?a=b\n")
        (self.folder / "bloomwall.yaml").write_text(f"""
listeners: [{{address: "127.0.0.1:0"}}]
answers:
- {{address: "127.0.0.1:0", protocol: http, trust: [127.0.0.0/8], users: true}}
- {{address: "unix:{self.socket}", protocol: squid, trust: [127.0.0.0/8]{group_of_squid()}}}
filters: [{{name: listed, file: listed.bwf}}]
access: {{clients: [127.0.0.0/8, 192.0.2.0/24], connect_ports: []}}
admin: {{address: null, control_socket: {self.folder}/control}}
state_dir: null
timeouts: {{announce: 0s, drain: 5s}}
log: {{access: {{file: access.log}}}}
""")

    def build(self, entries):
        (self.folder / "listed.txt").write_text(entries)
        subprocess.run([BUILD / "bloomwall-filter", "build", "-o", self.folder / "listed.bwf", self.folder / "listed.txt"],
                       check=True, capture_output=True)

    def start(self, under=()):
        self.runs += 1
        log = self.folder / f"daemon{self.runs}.log"
        with log.open("w") as out:
            self.process = subprocess.Popen([*under, BUILD / "bloomwall", "run", "--config", self.folder / "bloomwall.yaml"], stderr=out)
        until(lambda: "is served" in log.read_text())
        self.port = int(re.search(r"answering on 127\.0\.0\.1:(\d+)", log.read_text())[1])
        return log

    def kill(self, number=signal.SIGKILL):
        self.process.send_signal(number)
        self.process.wait(WAIT)

    def close(self):
        if self.process is not None and self.process.poll() is None:
            self.kill()
        shutil.rmtree(self.folder)


class WithSite(unittest.TestCase):
    def setUp(self):
        self.site = Site()
        self.addCleanup(self.site.close)
        self.log = self.site.start()


class Helper(WithSite):
    """Squid's end of the helper's pipes: packets, so that each write of the helper is seen as it was made."""

    @contextlib.contextmanager
    def helper(self, *options):
        ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with subprocess.Popen([BUILD / "bloomwall", "answer", "squid", "--socket", self.site.socket, *options],
                              stdin=subprocess.PIPE, stdout=its.fileno(), bufsize=0) as process:
            its.close()
            ours.settimeout(WAIT)
            yield process.stdin, ours
            process.stdin.close()
            self.assertEqual(process.wait(WAIT), 0)
        ours.close()

    def ask(self, peer, line):
        said, heard = peer
        said.write(line.encode() + b"\n")
        return heard.recv(65536).decode()

    def test_each_answer_is_one_write(self):
        with self.helper() as peer:
            said, heard = peer
            lines = [f"{i} http://{'ok' if i % 2 else 'blocked'}.test/{i} GET 192.0.2.1 -\n" for i in range(2000)]
            threading.Thread(target=lambda: said.write("".join(lines).encode()), daemon=True).start()
            answers = {}
            for _ in lines:
                packet = heard.recv(65536).decode()
                self.assertRegex(packet, r"\A\d+ (OK|ERR [^\n]*)\n\Z")
                answers[int(packet.split()[0])] = packet.split()[1]
            self.assertEqual(answers, {i: "OK" if i % 2 else "ERR" for i in range(2000)})

    def test_a_burst_has_no_answer_that_the_proxy_did_not_give(self):
        """More than its socket and that of the proxy take, before anything of the answers is read."""
        with self.helper() as peer:
            said, heard = peer
            tail = "x" * 200
            lines = [f"{i} http://ok.test/{tail} GET 192.0.2.1 -\n" for i in range(5000)]
            threading.Thread(target=lambda: said.write("".join(lines).encode()), daemon=True).start()
            self.assertEqual({heard.recv(65536).decode().split(" ", 1)[1] for _ in lines}, {"OK\n"})

    def test_a_last_line_without_an_end_is_answered(self):
        with self.helper() as peer:
            said, heard = peer
            said.write(b"1 http://ok.test/ GET\n2 http://blocked.test/ GET")
            said.close()
            self.assertEqual(sorted(heard.recv(65536).decode().split()[:2] for _ in range(2)), [["1", "OK"], ["2", "ERR"]])

    def test_a_line_without_end_leaves_no_question_open(self):
        ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ours, subprocess.Popen([BUILD / "bloomwall", "answer", "squid", "--socket", self.site.folder / "nobody"], stdin=subprocess.PIPE,
                                    stdout=its.fileno(), bufsize=0) as process:
            its.close()
            ours.settimeout(WAIT)
            process.stdin.write(b"1 http://ok.test/ GET\n" + b"x" * 200_000)
            self.assertRegex(ours.recv(65536).decode(), "^1 BH ")
            self.assertEqual(process.wait(WAIT), 2)

    def test_a_page_that_would_end_its_quotes_is_refused(self):
        for page in ('http://p/" url="x', "http://p/ x", "http://p/\n"):
            done = subprocess.run([BUILD / "bloomwall", "answer", "squid", "--socket", "s", "--rewrite", "--page", page], capture_output=True,
                                  text=True, timeout=WAIT, check=False)
            self.assertEqual(done.returncode, 2, page)
            self.assertIn("without blanks and quotes", done.stderr)

    def test_without_channels(self):
        with self.helper() as peer:
            self.assertEqual(self.ask(peer, "http://ok.test/ GET 192.0.2.1"), "OK\n")
            self.assertRegex(self.ask(peer, "blocked.test:443 CONNECT 192.0.2.1"), r"^ERR message=.*filter listed.* log=\w{16}\n$")

    def test_the_proxy_goes_and_comes(self):
        with self.helper() as peer:
            self.assertEqual(self.ask(peer, "1 http://ok.test/ GET"), "1 OK\n")
            self.site.kill()
            self.assertRegex(self.ask(peer, "2 http://ok.test/ GET"), r"^2 BH ")
            self.assertRegex(self.ask(peer, "http://ok.test/ GET"), r"^BH ")
            self.site.start()
            self.assertEqual(self.ask(peer, "3 http://ok.test/ GET"), "3 OK\n")
            self.site.kill(signal.SIGTERM)
            self.assertFalse(self.site.socket.exists())
            self.assertRegex(self.ask(peer, "4 http://ok.test/ GET"), r"^4 BH ")
            self.site.start()
            self.assertRegex(self.ask(peer, "5 http://blocked.test/ GET"), r"^5 ERR ")

    def test_an_upgrade_gives_the_socket_to_its_new_group(self):
        if not group_of_squid():
            self.skipTest("takes root, and a group proxy")
        file = self.site.folder / "bloomwall.yaml"
        self.assertEqual(self.site.socket.group(), "proxy")
        for text, wanted in ((file.read_text().replace(group_of_squid(), ""), os.getegid()), (file.read_text(), grp.getgrnam("proxy").gr_gid)):
            file.write_text(text)
            before = self.log.read_text()
            subprocess.run([BUILD / "bloomwall", "upgrade", "--config", file], check=True, stdout=subprocess.DEVNULL, timeout=WAIT * 3)
            self.addCleanup(end, successor_in(self.log, len(before)))
            self.assertEqual(self.site.socket.stat().st_gid, wanted)
            self.assertEqual(self.site.socket.stat().st_mode & 0o777, 0o660)

    def test_an_upgrade_that_may_not_give_the_socket_away_changes_nothing(self):
        if not group_of_squid():
            self.skipTest("takes root, and a group proxy")
        self.site.kill()
        file, group = self.site.folder / "bloomwall.yaml", group_of_squid()
        with_group = file.read_text()
        file.write_text(with_group.replace(group, ""))
        self.log = self.site.start(("setpriv", "--bounding-set=-chown", "--inh-caps=-chown", "--groups=0"))
        with self.helper() as peer:
            for text, why in ((with_group, "may not be given to the group proxy"), (with_group.replace(group, ", group: no-such-group"), "no group")):
                file.write_text(text)
                done = subprocess.run([BUILD / "bloomwall", "upgrade", "--config", file], capture_output=True, text=True, timeout=WAIT * 3, check=False)
                self.assertEqual(done.returncode, 1, done.stderr)
                until(lambda why=why, done=done: why in done.stderr + self.log.read_text())
                self.assertIsNone(self.site.process.poll())
                self.assertEqual(self.site.socket.stat().st_gid, os.getegid())
                self.assertEqual(self.ask(peer, "1 http://ok.test/ GET"), "1 OK\n")

    def test_an_upgrade_loses_no_question(self):
        with self.helper() as peer:
            said, heard = peer
            upgrade = subprocess.Popen([BUILD / "bloomwall", "upgrade", "--config", self.site.folder / "bloomwall.yaml"],
                                       stdout=subprocess.DEVNULL)
            asked = 0
            while upgrade.poll() is None or asked < 100:
                asked += 1
                self.assertEqual(self.ask(peer, f"{asked} http://ok.test/ GET"), f"{asked} OK\n")
            self.assertEqual(upgrade.returncode, 0)
            self.assertEqual(self.site.process.wait(WAIT), 0)
            successor = successor_in(self.log)
            try:
                self.assertRegex(self.ask(peer, "0 http://blocked.test/ GET"), r"^0 ERR ")
            finally:
                os.kill(successor, signal.SIGTERM)
            until(lambda: not self.site.socket.exists())

    def test_a_proxy_that_says_nothing(self):
        self.site.kill()
        self.site.socket.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX) as silent:
            silent.bind(str(self.site.socket))
            silent.listen()
            with self.helper("--timeout", "1") as peer:
                self.assertRegex(self.ask(peer, "1 http://ok.test/ GET"), r"^1 BH ")

    def test_as_rewriter(self):
        with self.helper("--rewrite", "--page", "http://page.test/?{id}", "--fail-closed") as peer:
            self.assertEqual(self.ask(peer, "1 http://ok.test/ 192.0.2.1/- - GET"), "1 OK\n")
            self.assertRegex(self.ask(peer, "2 http://blocked.test/ 192.0.2.1/- - GET"),
                             r'^2 OK status=302 url="http://page.test/\?\w{16}"\n$')
            self.assertRegex(self.ask(peer, "3 http://mixed.test/?a=b#x 192.0.2.1/- - GET"), r"^3 OK status=302 ")
            self.assertEqual(self.ask(peer, "3 http://mixed.test/?a=c#x 192.0.2.1/- - GET"), "3 OK\n")
            self.site.kill()
            self.assertEqual(self.ask(peer, "3 http://ok.test/ 192.0.2.1/- - GET"), '3 OK status=302 url="http://page.test/?"\n')


class Commands(WithSite):
    """What the commands for operators say of a door at a path."""

    def command(self, *words, status=0):
        done = subprocess.run([BUILD / "bloomwall", *words, "--config", self.site.folder / "bloomwall.yaml"], capture_output=True, text=True,
                              timeout=WAIT * 3, check=False)
        self.assertIn(done.returncode, (status, 0), done.stderr)
        return done.stdout

    def test_listeners_say_who_has_the_socket(self):
        line = f"answers[1].address\tunix:{self.site.socket}\t"
        self.assertIn(f"{line}bloomwall (process {self.site.process.pid})\n", self.command("listeners"))
        self.site.kill()
        self.assertIn(f"{line}free\n", self.command("listeners"))

    def test_doctor_looks_at_doors(self):
        found = json.loads(self.command("doctor", "--json", status=1))["findings"]
        said = {each["what"]: each["grade"] for each in found if each["subject"] in ("answers", "ports")}
        self.assertEqual(said.get(f"answers[1].address: unix:{self.site.socket} listens"), "ok", said)
        [door] = [what for what in said if what.startswith("answers[1]: squid at unix:")]
        self.assertRegex(door, r"the user \S+ and the group \S+ may connect \(0660\); 127\.0\.0\.0/8 believed for clients$")
        if group_of_squid():
            self.assertIn("the group proxy may", door)

    def test_explain_knows_whom_a_door_names(self):
        file = self.site.folder / "bloomwall.yaml"
        file.write_text(file.read_text() + "groups: [{name: staff, users: [Anna], filters: {listed: \"off\"}}]\n")
        self.assertIn("anna, as a program of `answers` says", self.command("explain", "http://blocked.test/", "--user", "ANNA"))
        self.assertIn("blocked", self.command("explain", "http://blocked.test/", "--user", "otto", status=1))
        self.assertNotIn("authentication.require", self.command("check"))

    def test_a_group_that_does_not_exist_is_an_error(self):
        self.site.kill()
        text = (self.site.folder / "bloomwall.yaml").read_text()
        (self.site.folder / "bloomwall.yaml").write_text(text.replace("protocol: squid", "group: no-such-group, protocol: squid", 1)
                                                         .replace(group_of_squid() or "\0", ""))
        for words in (("check",), ("run",)):
            done = subprocess.run([BUILD / "bloomwall", *words, "--config", self.site.folder / "bloomwall.yaml"], capture_output=True, text=True,
                                  timeout=WAIT, check=False)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("this system has no group no-such-group", done.stderr)


class WebServer(WithSite):
    """One of the system that asks by HTTP, in front of an origin."""

    program = None

    def setUp(self):
        if self.program is None:
            self.skipTest("this one is for those that derive from it")
        self.path = program(self.program)
        super().setUp()
        self.origin = Origin()
        self.addCleanup(self.origin.server_close)
        self.port = free_ports(1)[0]

    def run_server(self, *words, **options):
        process = subprocess.Popen([self.path, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)
        self.addCleanup(lambda: (process.terminate(), process.wait(WAIT)))
        until(lambda: is_there(self.port))

    def get(self, host, path="/", method="GET", body=None, **fields):
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT)
        with contextlib.closing(client):
            client.request(method, path, body, headers={"Host": host, **{name.replace("_", "-"): value for name, value in fields.items()}})
            answer = client.getresponse()
            return answer.status, answer.read().decode(), answer

    def judge_requests(self):
        self.assertEqual(self.get("ok.test")[:2], (200, "ok"))
        status, page, answer = self.get("blocked.test", Accept="text/html", Accept_Language="de")
        self.assertEqual(status, 403)
        self.assertIn("listed", page)
        self.assertIn('lang="de"', page)
        self.assertIn("http_request_denied", answer.getheader("Proxy-Status"))
        self.assertEqual(self.get("mixed.test", "/good")[0], 200)
        self.assertEqual(self.get("mixed.test", "/x/../bad/%2e/y")[0], 403)
        self.assertEqual(self.get("BLOCKED.test.:80")[0], 403)


class Nginx(WebServer):
    program = "nginx"

    def setUp(self):
        super().setUp()
        server = example("nginx", "auth_request").replace("127.0.0.1:8080", f"127.0.0.1:{self.origin.port}")
        folder = self.site.folder
        (folder / "nginx.conf").write_text(f"""
daemon off; pid {folder}/nginx.pid; error_log {folder}/nginx.log; worker_processes 1; {'user root;' if os.geteuid() == 0 else ''}
events {{}}
http {{
  access_log off;
  client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c; uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
  server {{
    listen 127.0.0.1:{self.port};
    {server.replace("127.0.0.1:3130", f"127.0.0.1:{self.site.port}")}
  }}
}}
""")
        self.run_server("-p", folder, "-c", folder / "nginx.conf")

    def test_its_requests_are_judged(self):
        self.judge_requests()

    def test_a_client_cannot_ask_in_its_place(self):
        self.assertEqual(self.get("blocked.test", X_Original_URL="http://ok.test/", X_Original_URI="/", X_Forwarded_Uri="/",
                                  X_Forwarded_Host="ok.test", X_Forwarded_For="192.0.2.1", X_Forwarded_User="boss")[0], 403)
        self.assertEqual(self.get("ok.test", X_Original_URI="/", X_Forwarded_Uri="/")[0], 200)
        lines = until(lambda: [line for line in whole_lines(self.site.folder / "access.log") if "ok.test" in line])
        self.assertNotIn("boss", (self.site.folder / "access.log").read_text())
        self.assertIn('"inbound_remote_addr":"127.0.0.1', lines[0])

    def test_it_fails_closed(self):
        self.site.kill()
        self.assertEqual(self.get("ok.test")[0], 500)


class Caddy(WebServer):
    program = "caddy"

    def setUp(self):
        super().setUp()
        asks = example("caddy", "forward_auth").replace("127.0.0.1:3130", f"127.0.0.1:{self.site.port}")
        self.folder = self.site.folder
        (self.folder / "Caddyfile").write_text(f"{{\nadmin off\nauto_https off\n}}\nhttp://:{self.port} {{\nbind 127.0.0.1\n{asks}"
                                               f"reverse_proxy 127.0.0.1:{self.origin.port}\n}}\n")
        self.run_server("run", "--config", "Caddyfile", "--adapter", "caddyfile", cwd=self.folder,
                        env={**os.environ, "HOME": str(self.folder), "XDG_CONFIG_HOME": str(self.folder), "XDG_DATA_HOME": str(self.folder)})

    def lines(self, text):
        return until(lambda: [json.loads(line) for line in whole_lines(self.folder / "access.log") if text in line])

    def test_its_requests_are_judged(self):
        self.judge_requests()
        self.assertEqual(self.get("blocked.test", "/p?q", "POST", b"x" * 100_000)[0], 403)
        [line] = self.lines("/p?q")
        self.assertEqual((line["method"], line["url"]), ("POST", "http://blocked.test/p?q"))
        self.assertEqual(self.get("ok.test")[:2], (200, "ok"))  # the next question is none of the body

    def test_a_client_cannot_ask_in_its_place(self):
        said = {"X_Forwarded_Uri": "/", "X_Forwarded_Host": "ok.test", "X_Forwarded_Method": "PUT", "X_Forwarded_For": "192.0.2.1",
                "X_Forwarded_User": "boss"}
        named = "Connection", ", ".join(name.replace("_", "-") for name in said)  # which Caddy takes out of what a client says
        for fields in (said, dict([named]), {**said, named[0]: named[1]}):
            self.assertEqual(self.get("blocked.test", "/in-place", **fields)[0], 403, fields)
            self.assertEqual(self.get("ok.test", "/in-place", **fields)[0], 200, fields)
        for name in ("X_Original_URL", "X_Original_URI"):
            for host in ("blocked.test", "ok.test"):
                self.assertEqual(self.get(host, **{name: "http://ok.test/" if name.endswith("L") else "/"})[0], 400)
        lines = until(lambda: (found := self.lines("/in-place"))[5:] and found)
        self.assertEqual({(line["method"], line["inbound_remote_addr"].split(":")[0], line.get("user")) for line in lines},
                         {("GET", "127.0.0.1", None)})

    def test_it_fails_closed(self):
        self.site.kill()
        self.assertEqual(self.get("ok.test")[0], 502)


class Squid(WithSite):
    def setUp(self):
        path = program("squid")
        super().setUp()
        self.origin = Origin()
        self.addCleanup(self.origin.server_close)
        self.port = free_ports(1)[0]
        folder = self.site.folder
        shutil.copy(BUILD / "bloomwall", folder / "bloomwall")
        logs = folder / "squid"
        logs.mkdir()
        logs.chmod(0o777)
        lines = example("squid", "external_acl_type").replace("/usr/bin/bloomwall", str(folder / "bloomwall"))
        (folder / "squid.conf").write_text(f"""
http_port 127.0.0.1:{self.port}
pid_filename {logs}/pid
access_log none
cache_log {logs}/cache.log
coredump_dir {logs}
cache deny all
shutdown_lifetime 0 seconds
hosts_file {folder}/hosts
{lines.replace("/run/bloomwall/squid", str(self.site.socket))}
http_access allow all
""")
        (folder / "hosts").write_text("127.0.0.1 ok.test blocked.test mixed.test\n")
        self.squid = subprocess.Popen([path, "-N", "-f", folder / "squid.conf"], stderr=subprocess.DEVNULL)
        self.addCleanup(self.stop)
        until(lambda: is_there(self.port))

    def stop(self):
        self.squid.terminate()
        self.squid.wait(WAIT)

    def get(self, host, path="/"):
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT)
        with contextlib.closing(client):
            client.request("GET", f"http://{host}:{self.origin.port}{path}")
            answer = client.getresponse()
            answer.read()
            return answer.status

    def connect(self, host):
        with socket.create_connection(("127.0.0.1", self.port), timeout=WAIT) as client:
            client.sendall(f"CONNECT {host}:{self.origin.port} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            return int(client.recv(4096).split()[1])

    def test_its_requests_are_judged(self):
        self.assertEqual(self.get("ok.test"), 200)
        self.assertEqual(self.get("BLOCKED.test"), 403)
        self.assertEqual(self.get("mixed.test", "/good/"), 200)
        self.assertEqual(self.get("mixed.test", "/x/../bad/%2e/n"), 403)
        for query, status in (("a=b", 403), ("a=b#x", 403), ("a=b%23x", 403), ("a=c#x", 200)):
            self.assertEqual(self.get("mixed.test", "/?" + query), status, query)
        self.assertEqual(self.connect("ok.test"), 200)
        self.assertEqual(self.connect("blocked.test"), 403)

    def test_none_of_many_is_misread(self):
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            hosts = ["ok.test" if i % 4 else "blocked.test" for i in range(600)]
            self.assertEqual(list(pool.map(self.get, hosts)), [200 if host == "ok.test" else 403 for host in hosts])

    def test_a_reload_counts_at_once(self):
        self.assertEqual(self.get("ok.test"), 200)
        self.site.build("ok.test\n")
        self.site.process.send_signal(signal.SIGHUP)
        until(lambda: "generation 2 is served" in self.log.read_text())
        self.assertEqual(self.get("ok.test"), 403)
        self.assertEqual(self.get("blocked.test"), 200)

    def test_it_fails_closed_and_recovers(self):
        self.assertEqual(self.get("ok.test"), 200)
        self.site.kill()
        self.assertEqual(self.get("ok.test"), 403)
        self.site.start()
        self.assertEqual(self.get("ok.test"), 200)


if __name__ == "__main__":
    unittest.main()
