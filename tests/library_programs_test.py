#!/usr/bin/env python3
"""dnsdist, nginx, Unbound and rspamd, configured as docs/library-examples.md has it, ask filter files: their verdicts are those of the
library, new lists are swapped in while they are asked, and what fails does what the page says.

Usage: library_programs_test.py BUILD_DIRECTORY [unittest arguments]. A program that is not installed is skipped, and said so; with
BLOOMWALL_EVERY_CLIENT=1 that is a failure. Exit status 77 (skipped) where the library or its Python module is not built.
SPDX-License-Identifier: Apache-2.0
"""
import http.client
import json
import os
import pathlib
import re
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
from ctypes.util import find_library

from ports import free_ports

BUILD = pathlib.Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else None
SOURCE = pathlib.Path(__file__).resolve().parent.parent
LISTS = "/var/lib/bloomwall/"
PATIENCE = 60  # seconds, for what takes a moment
ALWAYS, FIRST, SECOND, NEVER = "always.test", "ads.example.test", "second.example.test", "ok.example.test"
HOSTS = ["ads.example.test", "img.ads.example.test", "IMG.Ads.Example.Test", "files.example.test", "www.files.example.test", "ok.example.test",
         "example.test", "_sip._tcp.ads.example.test", "xads.example.test", "always.test"]
PATHS = ["/", "/bad/", "/bad/x", "/x/../bad/y", "/%62ad/z", "/bad", "/good/bad/", "/x/%2e%2e/bad/q?p=1", "/a?b=/bad/", "//bad/"]
SERVERS = {}  # one for a whole run: who answers questions about names, and requests


def until(holds, said=lambda: ""):
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, said()
        time.sleep(0.02)


def page_blocks():
    """The text of each file that the page shows."""
    text = (SOURCE / "docs/library-examples.md").read_text()
    found = dict(re.findall(r"^`(/\S+)`[^\n]*(?:\n[^\n]+)*\n\n```\w+\n(.*?)^```$", text, re.M | re.S))
    assert len(found) == 7, sorted(found)
    return found


BLOCKS = page_blocks()


class Names(threading.Thread):
    """Says 192.0.2.1 for every name, for `life` seconds."""

    def __init__(self):
        super().__init__(daemon=True)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.life = 0
        self.start()

    def run(self):
        while True:
            question, asker = self.socket.recvfrom(4096)
            end = question.index(b"\0", 12) + 5
            answer = b"\xc0\x0c\0\1\0\1" + struct.pack("!I", self.life) + b"\0\4\xc0\0\2\1"
            self.socket.sendto(question[:2] + b"\x81\x80\0\1\0\1\0\0\0\0" + question[12:end] + answer, asker)


def ask_name(port, name, patience=PATIENCE):
    """The code and the number of answers; nothing is asked twice."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker:
        asker.settimeout(patience)
        asker.connect(("127.0.0.1", port))
        labels = b"".join(bytes([len(label)]) + label for label in name.encode().split(b"."))
        asker.send(b"\x12\x34\1\0\0\1\0\0\0\0\0\0" + labels + b"\0\0\1\0\1")
        answer = asker.recv(4096)
    return answer[3] & 15, struct.unpack("!H", answer[6:8])[0]


class Origin(threading.Thread):
    """Answers each request with its host and target."""

    def __init__(self):
        super().__init__(daemon=True)
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=100)
        self.port = self.socket.getsockname()[1]
        self.start()

    def run(self):
        while True:
            threading.Thread(target=self.answer, args=(self.socket.accept()[0],), daemon=True).start()

    @staticmethod
    def answer(client):
        with client:
            head = b""
            while b"\r\n\r\n" not in head:
                got = client.recv(4096)
                if not got:
                    return
                head += got
            host = re.search(rb"\r\nhost: *(\S*)", head, re.I)[1]
            body = host + b" " + head.split()[1]
            client.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body)


class Site:
    """A folder with the library as it is installed, lists, and the files of the page; a program that runs over it."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="bloomwall-test-"))
        self.folder.chmod(0o755)
        subprocess.run(["cmake", "--install", BUILD / "library", "--prefix", self.folder / "usr"], check=True, stdout=subprocess.DEVNULL)
        shutil.copytree(BUILD / "python", self.folder / "python")
        library = next((self.folder / "usr").rglob("libbloomwall.so.0")).parent
        self.environment = dict(os.environ, LD_LIBRARY_PATH=str(library), TMPDIR=str(self.folder / "own"))
        (self.folder / "own").mkdir()  # what the program may write to
        self.who = {}
        if os.geteuid() == 0:
            self.who = {"user": "nobody", "group": "nogroup", "extra_groups": []}
            shutil.chown(self.folder / "own", "nobody", "nogroup")
        self.process = None

    def make_list(self, host, raw=None):
        """Puts a list of this host and what every list has into place, or these octets, as bloomwall-filter does: by rename."""
        lists = self.folder / "lists"
        lists.mkdir(exist_ok=True)
        if raw is not None:
            (lists / "raw").write_bytes(raw)
            os.rename(lists / "raw", lists / "lists.bwf")
            return
        (lists / "list.txt").write_text(f"{ALWAYS}\n{host}\nhttp://files.example.test/bad/\n")
        subprocess.run([BUILD / "bloomwall-filter", "build", "-q", "--mode", "0644", "-o", lists / "new.bwf", lists / "list.txt"], check=True)
        os.rename(lists / "new.bwf", lists / "lists.bwf")

    def write(self, path, changes=()):
        """The page's file of this path in the folder, with its lists there, and with [(text, other text)] that must be in it."""
        text = BLOCKS[path].replace(LISTS, f"{self.folder}/lists/")
        for before, after in changes:
            assert text.count(before) == 1, f"{path} of the page does not have {before} once"
            text = text.replace(before, after)
        file = self.folder / pathlib.Path(path).name
        file.write_text(text)
        return file

    def start(self, command, **environment):
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            cwd=self.folder / "own", env=dict(self.environment, **environment), **self.who)

    def log(self):
        return (self.folder / "log").read_text(errors="replace")

    def end(self):
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise
        shutil.rmtree(self.folder)


class Program:
    """What is tried of each program. is_listed(URL or host) says what it answers; starts() runs it over `self.site`."""

    by_host = False
    needs = []
    opens_at_start = True  # ends where there are no lists

    @classmethod
    def setUpClass(cls):
        missing = [str(each) for each in cls.needs if not (pathlib.Path(each).exists() or shutil.which(str(each), path=os.environ["PATH"] + ":/usr/sbin"))]
        if missing:
            assert os.environ.get("BLOOMWALL_EVERY_CLIENT") != "1", f"{', '.join(missing)} is not installed"
            raise unittest.SkipTest(f"{', '.join(missing)} is not installed")
        SERVERS.setdefault("names", Names())
        SERVERS.setdefault("origin", Origin())

    def setUp(self):
        SERVERS["names"].life = 0
        self.site = Site()
        self.addCleanup(self.site.end)

    def run_program(self, host=FIRST):
        """Over a list of this host. Another process may take the port meanwhile: tried again with another one."""
        self.site.make_list(host)
        for _ in range(5):
            (self.port,) = free_ports(1)
            self.starts()
            until(lambda: self.site.process.poll() is not None or self.answers(), self.site.log)
            if self.site.process.poll() is None:
                return
            assert "in use" in self.site.log(), self.site.log()
        self.fail(self.site.log())

    def answers(self):
        try:
            self.is_listed(NEVER)
            return True
        except (OSError, http.client.HTTPException):
            return False

    def test_verdicts_are_those_of_the_library(self):
        self.run_program()
        sys.path.insert(0, str(BUILD / "python"))
        import bloomwall  # pylint: disable=import-outside-toplevel,import-error
        policy = bloomwall.open(self.site.folder / "lists/lists.bwf")
        asked = HOSTS + ["*.ads.example.test"] if self.by_host else [f"http://{host}{path}" for host in HOSTS for path in PATHS]
        wanted = [policy.ask(each.replace("*.", ""), bloomwall.HOST if self.by_host else bloomwall.URL).verdict == bloomwall.BLOCKED for each in asked]
        self.assertIn(True, wanted)
        self.assertIn(False, wanted)
        self.assertEqual([each for each, listed in zip(asked, wanted) if self.is_listed(each) != listed], [])

    def test_lists_are_swapped_while_it_is_asked(self):
        self.run_program()
        over, wrong, counts = threading.Event(), [], {}

        def ask(number, name, wanted):
            while not over.is_set():
                try:
                    if self.is_listed(name) not in wanted:
                        wrong.append(f"{name} is not {wanted}")
                except Exception as error:  # pylint: disable=broad-exception-caught
                    wrong.append(f"{name}: {error!r}")
                counts[number] = counts.get(number, 0) + 1

        askers = [(ALWAYS, (True,)), (NEVER, (False,)), (FIRST, (True, False)), (SECOND, (True, False))]
        threads = [threading.Thread(target=ask, args=(number, *asker)) for number, asker in enumerate(askers)]
        for thread in threads:
            thread.start()
        try:
            for listed, other in ((SECOND, FIRST), (FIRST, SECOND)) * 2:
                self.site.make_list(listed)
                self.until_swapped(listed, other)
                before = dict(counts)
                until(lambda: all(counts.get(number, 0) > before.get(number, 0) + 1 for number in range(len(askers))) or wrong)
        finally:
            over.set()
            for thread in threads:
                thread.join()
        self.assertEqual(wrong, [])
        self.assertIsNone(self.site.process.poll())

    def until_swapped(self, listed, other):
        """Every process of the program has the list of `listed`: so many answers in a row say it."""
        until(lambda: all(self.is_listed(listed) and self.is_listed(other) is False for _ in range(10)), self.site.log)

    def test_a_file_that_cannot_be_used_changes_nothing(self):
        self.run_program()
        self.site.make_list(None, raw=b"no filter at all")
        until(lambda: "stay as they were" in self.site.log(), self.site.log)
        self.assertIn("lists.bwf", self.site.log())
        self.assertEqual([self.is_listed(name) for name in (ALWAYS, FIRST, NEVER)], [True, True, False])
        self.site.make_list(SECOND)
        self.until_swapped(SECOND, FIRST)

    def test_without_the_library_it_does_not_start(self):
        if find_library("bloomwall"):
            self.skipTest("a libbloomwall is installed here")
        self.site.environment["LD_LIBRARY_PATH"] = ""
        shutil.rmtree(self.site.folder / "python")
        self.site.make_list(FIRST)
        (self.port,) = free_ports(1)
        self.starts()
        self.assertNotEqual(self.site.process.wait(PATIENCE), 0)
        self.assertIn("bloomwall", self.site.log())

    def test_a_damaged_page_is_met(self):
        self.run_program()
        octets = bytearray((self.site.folder / "lists/lists.bwf").read_bytes())
        octets[4096 + 100] ^= 1  # of the first page behind the header
        self.site.make_list(None, raw=octets)
        until(self.says_damaged, self.site.log)
        self.site.make_list(SECOND)
        until(lambda: not self.says_damaged(), self.site.log)
        self.until_swapped(SECOND, FIRST)

    def says_damaged(self):
        return self.is_listed(NEVER)

    def test_a_file_that_is_cut_is_lost(self):
        self.run_program()
        os.truncate(self.site.folder / "lists/lists.bwf", 0)
        until(lambda: self.is_listed(NEVER), self.site.log)
        self.site.make_list(SECOND)
        self.until_swapped(SECOND, FIRST)

    def test_without_lists_it_does_not_start(self):
        (self.port,) = free_ports(1)
        (self.site.folder / "lists").mkdir()
        self.starts()
        self.assertNotEqual(self.site.process.wait(PATIENCE), 0)
        self.assertIn("lists.bwf: cannot open", self.site.log())


class Dnsdist(Program, unittest.TestCase):
    needs = ["dnsdist"]
    by_host = True

    def starts(self):
        rules = self.site.write("/etc/dnsdist/bloomwall.lua")
        main = self.site.folder / "dnsdist.conf"
        main.write_text(f"""setSecurityPollSuffix("")
setLocal("127.0.0.1:{self.port}")
newServer({{address="127.0.0.1:{SERVERS["names"].port}", healthCheckMode="up"}})
dofile("{rules}")
""")
        self.site.start(["dnsdist", "-C", main, "--supervised", "--disable-syslog"])

    def is_listed(self, name):
        answer = ask_name(self.port, name)
        assert answer in ((3, 0), (0, 1)), answer
        return answer[0] == 3


class Unbound(Program, unittest.TestCase):
    needs = ["unbound", "/usr/lib/python3/dist-packages/unboundmodule.py"]
    by_host = True
    is_listed = Dnsdist.is_listed

    def starts(self, life="60"):
        script = self.site.write("/etc/unbound/bloomwall.py")
        more = self.site.write("/etc/unbound/unbound.conf.d/bloomwall.conf",
                               [("/etc/unbound/bloomwall.py", str(script)), ("cache-max-ttl: 60", f"cache-max-ttl: {life}")])
        main = self.site.folder / "unbound.conf"
        main.write_text(f"""server:
  directory: "{self.site.folder}"
  chroot: ""
  username: ""
  pidfile: ""
  use-syslog: no
  do-daemonize: no
  do-not-query-localhost: no
  interface: 127.0.0.1
  port: {self.port}
  local-zone: "test." nodefault
remote-control:
  control-enable: no
forward-zone:
  name: "."
  forward-addr: 127.0.0.1@{SERVERS["names"].port}
include: "{more}"
""")
        (where,) = re.findall(r"^Environment=PYTHONPATH=(\S+)$", BLOCKS["/etc/systemd/system/unbound.service.d/bloomwall.conf"], re.M)
        self.site.start([shutil.which("unbound", path="/usr/sbin:/usr/bin"), "-d", "-c", main], PYTHONPATH=f"{self.site.folder}/python:{where}")

    def test_what_the_cache_has_is_answered_until_it_is_old(self):
        SERVERS["names"].life = 3600
        self.site.make_list(FIRST)
        self.run_program()
        self.site.process.terminate()
        self.site.process.wait(PATIENCE)
        (self.port,) = free_ports(1)
        self.starts(life="2")
        until(self.answers, self.site.log)
        self.assertFalse(self.is_listed(SECOND))  # in the cache
        self.site.make_list(SECOND)
        until(lambda: self.is_listed(SECOND) and not self.is_listed(FIRST), self.site.log)

    def says_damaged(self):
        return ask_name(self.port, NEVER)[0] == 2

    def test_its_own_reload_opens_the_file_anew(self):
        self.run_program()
        for starts in (2, 3):
            self.site.process.send_signal(signal.SIGHUP)
            until(lambda wanted=starts: self.site.log().count("start of service") == wanted, self.site.log)
            until(self.answers_again, self.site.log)
        os.unlink(self.site.folder / "lists/lists.bwf")
        self.site.process.send_signal(signal.SIGHUP)
        self.assertNotEqual(self.site.process.wait(PATIENCE), 0)


    def answers_again(self):
        """What comes during its reload gets no answer, and is asked again."""
        try:
            return [ask_name(self.port, name, 2)[0] for name in (FIRST, NEVER)] == [3, 0]
        except OSError:
            return False


class Nginx(Program, unittest.TestCase):
    needs = ["nginx", "/usr/lib/nginx/modules/ngx_http_lua_module.so"]

    def starts(self):
        more = self.site.write("/etc/nginx/conf.d/bloomwall.conf", [("listen 127.0.0.1:8080;", f"listen 127.0.0.1:{self.port};"),
                                                                    ("127.0.0.1:8081;", f'127.0.0.1:{SERVERS["origin"].port};')])
        own = self.site.folder / "own"
        temporary = "\n".join(f"  {kind}_temp_path {own}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        main = self.site.folder / "nginx.conf"
        main.write_text(f"""load_module /usr/lib/nginx/modules/ndk_http_module.so;
load_module /usr/lib/nginx/modules/ngx_http_lua_module.so;
daemon off; pid {own}/pid; worker_processes 2; error_log stderr notice;
events {{ worker_connections 512; }}
http {{
{temporary}
  access_log off;
  include {more};
}}
""")
        self.site.start([shutil.which("nginx", path="/usr/sbin:/usr/bin"), "-p", own, "-c", main, "-e", "stderr"])

    def request(self, host, target):
        with socket.create_connection(("127.0.0.1", self.port), PATIENCE) as connection:
            connection.sendall(f"GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
            answer = http.client.HTTPResponse(connection)
            answer.begin()
            return answer.status, answer.read().decode()

    def is_listed(self, url):
        host, slash, path = url.removeprefix("http://").partition("/")
        status, body = self.request(host, slash + path or "/")
        assert status == 403 or (status, body) == (200, f"{host.lower()} {slash + path or '/'}"), (status, body)
        return status == 403

    def test_what_is_no_url_is_refused(self):
        self.run_program()
        self.assertEqual(self.request("a..b", "/")[0], 400)
        self.assertEqual(self.request("ok.example.test", "/%zz%00")[0], 400)

    def test_its_own_reload_opens_the_file_anew(self):
        self.run_program()
        for listed, other in ((SECOND, FIRST), (FIRST, SECOND)):
            self.site.make_list(listed)
            self.site.process.send_signal(signal.SIGHUP)
            self.until_swapped(listed, other)
        os.unlink(self.site.folder / "lists/lists.bwf")
        self.site.process.send_signal(signal.SIGHUP)
        until(lambda: "init_by_lua error" in self.site.log(), self.site.log)
        self.assertEqual([self.is_listed(name) for name in (ALWAYS, FIRST, NEVER)], [True, True, False])


class Rspamd(Program, unittest.TestCase):
    needs = ["rspamd"]

    def starts(self):
        rules = self.site.write("/etc/rspamd/rspamd.local.lua")
        own = self.site.folder / "own"
        (self.site.folder / "suffixes").write_text("com\ntest\n")
        main = self.site.folder / "rspamd.conf"
        main.write_text(f"""lua = "{rules}";
options {{ pidfile = "{own}/pid"; filters = ""; dns {{ nameserver = ["127.0.0.1:{SERVERS["names"].port}"]; }} tempdir = "{own}"; hs_cache_dir = "{own}";
  url_tld = "{self.site.folder}/suffixes"; control_socket = "{own}/socket mode=0600"; }}
lang_detection {{ languages = "{own}"; }}
logging {{ type = "console"; level = "info"; }}
actions {{ reject = 15; }}
worker "normal" {{ bind_socket = "127.0.0.1:{self.port}"; count = 2; }}
""")
        self.site.start(["rspamd", "-f", "-c", main])

    def symbols(self, url):
        message = f"From: a@b.test\r\nSubject: x\r\nContent-Type: text/plain\r\n\r\nlook at {url} please\r\n"
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request("POST", "/checkv2", message)
            return json.loads(connection.getresponse().read())["symbols"]
        finally:
            connection.close()

    def is_listed(self, url):
        found = self.symbols(url if url.startswith("http") else f"http://{url}/")
        return None if "BLOOMWALL_FAIL" in found else found.get("BLOOMWALL_URL", {}).get("score") == 8.0

    def says_damaged(self):
        return "BLOOMWALL_FAIL" in self.symbols(f"http://{ALWAYS}/")

    def test_without_lists_it_does_not_start(self):
        """It does, and mail passes until they are there."""
        (self.port,) = free_ports(1)
        (self.site.folder / "lists").mkdir()
        self.starts()
        until(lambda: self.tries_symbols() is not None, self.site.log)
        found = self.symbols(f"http://{ALWAYS}/")
        self.assertIn("BLOOMWALL_FAIL", found)
        self.assertNotIn("BLOOMWALL_URL", found)
        self.site.make_list(FIRST)
        until(lambda: all("BLOOMWALL_URL" in self.symbols(f"http://{ALWAYS}/") for _ in range(10)), self.site.log)

    def tries_symbols(self):
        try:
            return self.symbols(NEVER)
        except (OSError, http.client.HTTPException):
            return None


if __name__ == "__main__":
    if BUILD is None:
        sys.exit(__doc__)
    if not (BUILD / "libbloomwall.so.0").exists() or not (BUILD / "python").is_dir() or not (BUILD / "bloomwall-filter").exists():
        print("skipped: the library and its Python module are not built")
        sys.exit(77)
    unittest.main(verbosity=2)
