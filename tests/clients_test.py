#!/usr/bin/env python3
"""Programs that people use, through the proxy that decrypts TLS: each trusts its authority, and each does not.

Usage: clients_test.py BUILD_DIR [unittest arguments]. A client that is not installed is skipped, and said so; with
BLOOMWALL_EVERY_CLIENT=1 (`./dev clients` sets it and installs them all) that is a failure. What browsers showed stands in
BUILD_DIR/pages. Exit status 77 (skipped) where the origin's programs are missing.
SPDX-License-Identifier: Apache-2.0
"""
import collections
import itertools
import os
import pathlib
import re
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import unittest

from browsers import Chromium, Firefox
from interception_site import BUILD, Authority, Client, Origin, Proxy, run, until

HERE = pathlib.Path(__file__).resolve().parent / "clients"
EVERY_CLIENT = os.environ.get("BLOOMWALL_EVERY_CLIENT") == "1"
# A name for each refusal: what the proxy remembers of one client and host must not meet another test.
FRESH = [f"n{i}.fresh.test" for i in range(40)]
HOSTS = ["ok.test", "marked.test", "blocked.test", "rpc.test", *FRESH]
LIST = "marked.test/bad/\nrpc.test/bad/\nblocked.test\n"
BODY = "the origin's own words"
FOREIGN = re.compile(r"(?i)proxy|_CA_|CA_?(BUNDLE|INFO|CERTS)|SSL|GIT_|JAVA_|NODE_")  # what this machine's settings are called
Answer = collections.namedtuple("Answer", "status body said")  # status None: the client went no further


class Site:
    """An origin of HTTP/2 and HTTP/1.1 with a page and a repository, and a proxy in each mode."""

    def __init__(self):
        self.folder = folder = pathlib.Path(tempfile.mkdtemp(prefix="bloomwall-test-"))
        folder.chmod(0o755)
        run(BUILD / "bloomwall", "ca", "init", "--out", folder)
        self.own = folder / "ca.crt"
        self.authority = Authority(folder)
        self.certificate = self.authority.issue("good", ["ok.test", "marked.test", "blocked.test", "rpc.test", "*.fresh.test"])
        (folder / "list.txt").write_text(LIST)
        (folder / "allow.txt").touch()
        (folder / "never.txt").touch()
        run(BUILD / "bloomwall-filter", "build", "-o", folder / "list.bwf", folder / "list.txt")
        self.make_pages()
        self.start_origin()
        self.rpc = None
        self.proxies = {mode: Proxy(folder, mode, [], names=HOSTS) for mode in ("blocked", "urls", "all")}
        self.fresh = iter(FRESH)
        self.count = itertools.count()

    def make_pages(self):
        www = self.folder / "www"
        (www / "bad").mkdir(parents=True)
        (www / "page.txt").write_text(BODY + "\n")
        (www / "bad/page.txt").write_text("what must not be seen\n")
        work = self.folder / "work"
        git = ["git", "-C", work, "-c", "user.name=a", "-c", "user.email=a@ok.test", "-c", "init.defaultBranch=main"]
        work.mkdir()
        for command in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", BODY]):
            run(*git, *command)
        for repository in (www / "repository.git", www / "bad/repository.git"):
            run("git", "clone", "-q", "--bare", work, repository)
            run("git", "-C", repository, "update-server-info")

    def start_origin(self):
        folder = self.folder / "nginx"
        folder.mkdir()
        certificate, key = self.certificate
        for _ in range(5):  # somebody else may take the port meanwhile
            with socket.create_server(("127.0.0.1", 0)) as held:
                self.port = held.getsockname()[1]
            temporary = "\n".join(f"  {kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
            (folder / "nginx.conf").write_text(f"""
daemon off; pid {folder}/pid; {"user root;" if os.geteuid() == 0 else ""}
events {{ worker_connections 512; }}
http {{
{temporary}
  access_log {folder}/access.log;
  default_type text/plain;
  server {{ listen 127.0.0.1:{self.port} ssl http2; ssl_certificate {certificate}; ssl_certificate_key {key}; root {self.folder}/www; }}
}}
""")
            self.nginx = subprocess.Popen(["nginx", "-p", folder, "-c", folder / "nginx.conf", "-e", folder / "error.log"])
            try:
                until(lambda: self.nginx.poll() is not None or accepts(self.port))
            except AssertionError:
                pass
            if self.nginx.poll() is None:
                return
        raise AssertionError((folder / "error.log").read_text())

    def url(self, host, path="/page.txt"):
        return f"https://{host}:{self.port}{path}"

    def new_folder(self, name):
        return self.folder / f"{name}-{next(self.count)}"

    def close(self):
        ends = {mode: proxy.end() for mode, proxy in self.proxies.items()}
        self.nginx.terminate()
        self.nginx.wait()
        shutil.rmtree(self.folder)
        assert set(ends.values()) == {0}, ends


def accepts(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    except OSError:
        return False


def setUpModule():
    global SITE
    SITE = Site()


def tearDownModule():
    SITE.close()


def need(test, *programs):
    absent = [program for program in programs if not shutil.which(program)]
    if absent and EVERY_CLIENT:
        test.fail(f"not installed: {', '.join(absent)}")
    if absent:
        test.skipTest(f"not installed: {', '.join(absent)} (./dev clients installs every client)")


def program(*command, env=None, **more):
    """Status, output and errors of a program that knows of proxies and authorities by what it is given here alone."""
    clean = {k: v for k, v in os.environ.items() if not FOREIGN.search(k)}
    done = subprocess.run([str(c) for c in command], env={**clean, **(env or {})}, capture_output=True, text=True,
                          errors="replace", timeout=120, check=False, stdin=subprocess.DEVNULL if "input" not in more else None, **more)
    return done.returncode, done.stdout, done.stderr


def lines_of(output):
    """What the programs of tests/clients print: a status and a body a line."""
    rows = [line.split("\t", 1) for line in output.splitlines() if "\t" in line]
    return [Answer(int(word) if word.isdigit() else None, rest, rest) for word, rest in rows]


class ClientCases:
    """Every client: what it must see. get() answers with what it saw."""

    needs, signal = (), "alert"

    def setUp(self):
        need(self, *self.needs)

    def test_sees_the_origin_and_the_denial_of_a_listed_url(self):
        for mode, host in (("all", "ok.test"), ("urls", "marked.test")):
            proxy = SITE.proxies[mode]
            answer = self.get(proxy, SITE.url(host, self.path()), True)
            self.assertEqual(answer.status, 200, (mode, answer))
            self.assertIn(BODY, answer.body)
            until(lambda: any(row.get("tls_action") == "intercepted" and row.get("requested_host") == host for row in proxy.log()))
            answer = self.get(proxy, SITE.url("marked.test", "/bad" + self.path()), True)
            self.assertEqual(answer.status, 403, (mode, answer))
            self.assertNotIn("must not be seen", answer.body)

    def test_without_the_authority_it_refuses_and_the_proxy_knows(self):
        proxy, host = SITE.proxies["all"], next(SITE.fresh)
        metric = f'tls_client_refusals_total{{signal="{self.signal}"}}'
        before = proxy.metric(metric)
        for attempt in range(3):  # what a busy machine makes a client say a second late is no sign
            answer = self.get(proxy, SITE.url(host, self.path()), False)
            self.assertIsNone(answer.status, answer)
            try:
                until(lambda: proxy.metric(metric) > before, 5)
                break
            except AssertionError:
                self.assertLess(attempt, 2, self.signal)
        until(lambda: any(row.get("requested_host") == host and row.get("tls_action") == "intercepted" for row in proxy.log()))
        self.assertFalse([row for row in proxy.log() if row.get("requested_host") == host and row.get("method") == "GET"])

    def path(self):
        return "/page.txt"


class Curl(ClientCases, unittest.TestCase):
    needs = ("curl",)

    def get(self, proxy, url, trusts):
        _, out, said = program("curl", "-sS", "-m", "20", "-x", f"http://127.0.0.1:{proxy.port}", "-w", "\n%{http_code}", url,
                               *(["--cacert", SITE.own] if trusts else []))
        body, _, status = out.rpartition("\n")
        return Answer(int(status) or None, body, said)

    def test_blocked_host_is_403_to_connect_in_words_for_programs(self):
        need(self, "curl")
        _, out, said = program("curl", "-sS", "-i", "-m", "20", "-x", f"http://127.0.0.1:{SITE.proxies['blocked'].port}",
                               SITE.url("blocked.test"))
        self.assertTrue(out.startswith("HTTP/1.1 403 "), out)
        self.assertIn("proxy-status:", out.lower())
        self.assertIn("403", said)


class Wget(ClientCases, unittest.TestCase):  # GnuTLS: it finishes the handshake before it looks at the certificate
    needs, signal = ("wget",), "silent"

    def get(self, proxy, url, trusts):
        _, out, said = program("wget", "--tries=1", "--timeout=20", "-S", "-O", "-", url, *([f"--ca-certificate={SITE.own}"] if trusts else []),
                               env={"https_proxy": f"http://127.0.0.1:{proxy.port}"})
        status = re.findall(r"^ +HTTP/\S+ (\d+)", said, re.M)
        return Answer(int(status[-1]) if status else None, out, said)


class Git(ClientCases, unittest.TestCase):  # GnuTLS
    needs, signal = ("git",), "silent"

    def path(self):
        return "/repository.git"

    def get(self, proxy, url, trusts):
        folder = SITE.new_folder("clone")
        trust = ["-c", f"http.sslCAInfo={SITE.own}"] if trusts else []
        code, _, said = program("git", "-c", f"http.proxy=http://127.0.0.1:{proxy.port}", *trust, "clone", "-q", url, folder,
                                env={"GIT_TERMINAL_PROMPT": "0"})
        if code == 0:
            return Answer(200, run("git", "-C", folder, "log", "--format=%s").stdout, said)
        status = re.search(r"returned error: (\d+)", said)
        return Answer(int(status[1]) if status else None, "", said)


class Openssl(ClientCases, unittest.TestCase):
    needs = ("openssl",)
    before = ()

    def get(self, proxy, url, trusts):
        host, path = re.match(r"https://([^:/]+):\d+(/.*)", url).groups()
        request = f"GET {path} HTTP/1.1\r\nHost: {host}:{SITE.port}\r\nConnection: close\r\n\r\n"
        _, out, said = program(*self.before, "openssl", "s_client", "-proxy", f"127.0.0.1:{proxy.port}", "-connect", f"{host}:{SITE.port}",
                               "-servername", host, "-verify_hostname", host, "-verify_return_error", "-x509_strict", "-ign_eof", "-quiet",
                               *(["-CAfile", SITE.own] if trusts else []), input=request)
        status = re.search(r"^HTTP/1.1 (\d+)", out, re.M)
        return Answer(int(status[1]) if status else None, out, said)


class SlowClock(Openssl):
    """A client whose clock is a day and a half behind."""
    needs = ("openssl", "faketime")
    before = ("faketime", "-f", "-36h")

    def test_without_the_authority_it_refuses_and_the_proxy_knows(self):
        """Its clock makes no difference."""


class Scripted(ClientCases):
    """Programs of tests/clients: command(proxy, url, trusts) and environment(proxy, trusts)."""

    def get(self, proxy, url, trusts):
        _, out, said = program(*self.command(proxy, url, trusts), env=self.environment(proxy, trusts))
        answers = lines_of(out)
        self.assertEqual(len(answers), 1, out + said)
        return answers[0]

    def environment(self, proxy, trusts):
        del proxy, trusts
        return {}


class Python(Scripted, unittest.TestCase):
    def command(self, proxy, url, trusts):
        return sys.executable, HERE / "fetch.py", url

    def environment(self, proxy, trusts):
        return {"https_proxy": f"http://127.0.0.1:{proxy.port}", **({"SSL_CERT_FILE": str(SITE.own)} if trusts else {})}


class Node(Scripted, unittest.TestCase):  # it leaves before its Finished is sent, without a word
    needs, signal = ("node",), "eof"

    def command(self, proxy, url, trusts):
        return "node", HERE / "fetch.mjs", f"127.0.0.1:{proxy.port}", url

    def environment(self, proxy, trusts):
        return {"NODE_EXTRA_CA_CERTS": str(SITE.own)} if trusts else {}


class Go(Scripted, unittest.TestCase):
    needs = ("go",)

    def setUp(self):
        super().setUp()
        folder = SITE.folder / "go"
        if not folder.exists():
            folder.mkdir()
            shutil.copy(HERE / "fetch.go", folder)
            (folder / "go.mod").write_text("module fetch\n\ngo 1.19\n")
            code, out, said = program("go", "build", "-o", folder / "fetch", ".", cwd=folder,
                                      env={"GOCACHE": str(BUILD / "go-cache"), "GOPATH": str(folder / "path"), "GOPROXY": "off", "GOFLAGS": "-mod=mod"})
            self.assertEqual(code, 0, out + said)

    def command(self, proxy, url, trusts):
        return SITE.folder / "go/fetch", url

    def environment(self, proxy, trusts):
        return {"HTTPS_PROXY": f"http://127.0.0.1:{proxy.port}", **({"SSL_CERT_FILE": str(SITE.own)} if trusts else {})}


class Java:
    needs = ("java", "javac", "keytool")

    def setUp(self):
        super().setUp()
        if not (SITE.folder / "java").exists():
            run("javac", "-d", SITE.folder / "java", HERE / "Fetch.java")
            run("keytool", "-importcert", "-noprompt", "-alias", "bloomwall", "-file", SITE.own, "-keystore", SITE.folder / "trust.p12",
                "-storepass", "changeit")

    def command(self, proxy, url, trusts):
        trust = [f"-Djavax.net.ssl.trustStore={SITE.folder}/trust.p12", "-Djavax.net.ssl.trustStorePassword=changeit"] if trusts else []
        return ("java", "-XX:TieredStopAtLevel=1", "-Dhttps.proxyHost=127.0.0.1", f"-Dhttps.proxyPort={proxy.port}", *trust, "-cp",
                SITE.folder / "java", "Fetch", self.kind, url)


class JavaConnection(Java, Scripted, unittest.TestCase):
    kind = "connection"


class JavaHttpClient(Java, Scripted, unittest.TestCase):  # it leaves during the handshake, without a word
    kind, signal = "client", "eof"


class Browser(ClientCases):
    """One browser for each proxy."""

    started = None

    def get(self, proxy, url, trusts):
        if self.started is None or self.started[0] != (proxy, trusts):
            browser = self.browser(SITE.new_folder(type(self).__name__), proxy.port, SITE.own if trusts else None)
            self.addCleanup(browser.close)
            self.started = (proxy, trusts), browser
        visit = self.started[1].go(url)
        return Answer(visit.status, visit.text, visit.error)


class ChromiumBrowser(Browser, unittest.TestCase):
    needs, browser = ("chromium", "certutil"), Chromium


class FirefoxBrowser(Browser, unittest.TestCase):
    needs, browser = ("firefox",), Firefox


class Pages(unittest.TestCase):
    """What people see; BUILD_DIR/pages keeps it."""

    def setUp(self):
        self.shown = BUILD / "pages"
        self.shown.mkdir(exist_ok=True)

    def browse(self, browser, mode, trusts=True):
        started = browser(SITE.new_folder("browser"), SITE.proxies[mode].port, SITE.own if trusts else None)
        self.addCleanup(started.close)
        return started

    def assert_page(self, visit, url, proxy):
        self.assertEqual(visit.status, 403, visit)
        self.assertIn(url, visit.text)
        rows = []
        until(lambda: rows.extend(row for row in proxy.log() if row.get("url") == url.split("?")[0] and row["id"] in visit.text) or rows)
        self.assertEqual(rows[0]["decision"], "blocked")

    def test_chromium_shows_why_in_light_and_dark(self):
        need(self, "chromium", "certutil")
        for mode in ("blocked", "urls"):
            browser = self.browse(Chromium, mode)
            url = SITE.url("blocked.test", f"/a/long/path/of/{mode}?and=query")
            self.assert_page(browser.go(url), url, SITE.proxies[mode])
            for dark in (False, True):
                browser.show(self.shown / f"{mode}-{'dark' if dark else 'light'}.png", dark)
                self.assertEqual(browser.evaluate("matchMedia('(prefers-color-scheme: dark)').matches"), dark)
        url = SITE.url("marked.test", "/bad/page.txt")
        self.assert_page(browser.go(url), url, SITE.proxies["urls"])
        browser.show(self.shown / "url-phone.png", False, 390, 844)

    def test_firefox_shows_why(self):
        need(self, "firefox")
        for mode in ("blocked", "urls"):
            url = SITE.url("blocked.test", f"/seen/by/firefox/{mode}")
            self.assert_page(self.browse(Firefox, mode).go(url), url, SITE.proxies[mode])

    def test_chromium_without_the_authority_sees_its_own_error_then_that_of_the_proxy(self):
        need(self, "chromium", "certutil")
        browser = self.browse(Chromium, "blocked", trusts=False)
        # Whichever worker it comes to; and a connection that Chromium opens ahead of need may be refused before the one that
        # carries the visit.
        errors = [browser.go(SITE.url("distrusted.blocked.test", f"/{i}")).error for i in range(3)]
        refused = "net::ERR_TUNNEL_CONNECTION_FAILED"
        self.assertIn(errors[0], ("net::ERR_CERT_AUTHORITY_INVALID", refused))
        self.assertEqual(errors[1:], [refused] * 2)

    def test_chromium_shows_the_authority_and_a_bad_origin(self):
        need(self, "chromium", "certutil")
        browser = self.browse(Chromium, "all")
        visit = browser.go(f"http://127.0.0.1:{SITE.proxies['all'].port}/ca")
        self.assertEqual(visit.status, 200)
        fingerprint = run("openssl", "x509", "-in", SITE.own, "-noout", "-fingerprint", "-sha256").stdout.split("=")[1].strip()
        self.assertIn(fingerprint, visit.text)
        for dark in (False, True):
            browser.show(self.shown / f"authority-{'dark' if dark else 'light'}.png", dark, height=1500)
        wrong = Origin(*SITE.authority.issue("wrong", ["elsewhere.test"]))
        self.addCleanup(wrong.close)
        visit = browser.go(f"https://ok.test:{wrong.port}/of/a/bad/origin")
        self.assertEqual(visit.status, 502, visit)
        for dark in (False, True):
            browser.show(self.shown / f"bad-origin-{'dark' if dark else 'light'}.png", dark)


class Grpc(unittest.TestCase):
    """Needs HTTP/2 from end to end: to an origin that speaks nothing else."""

    def setUp(self):
        python = next((p for p in (sys.executable, "/usr/bin/python3") if program(p, "-c", "import grpc")[0] == 0), None)
        if python is None and EVERY_CLIENT:
            self.fail("not installed: grpc for Python")
        if python is None:
            self.skipTest("not installed: python3-grpcio (./dev clients installs every client)")
        try:  # of a host with listed URLs such a client is refused until the proxy speaks HTTP/2
            Client(SITE.proxies["urls"], "marked.test", SITE.port).tls(SITE.own, alpn=("h2",)).socket.close()
        except ssl.SSLError as error:
            self.assertIn("no application protocol", str(error))
            self.skipTest("the proxy does not speak HTTP/2 inside TLS")
        self.python = python
        certificate, key = SITE.certificate
        server = subprocess.Popen([python, HERE / "grpc_echo.py", "server", certificate, key], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (server.communicate(), server.wait()))
        self.port = int(server.stdout.readline())

    def ask(self, mode, host, roots):
        code, out, said = program(self.python, HERE / "grpc_echo.py", "client", f"{host}:{self.port}", roots,
                                  env={"https_proxy": f"http://127.0.0.1:{SITE.proxies[mode].port}"})
        self.assertEqual(code, 0, said)
        return out.splitlines()

    def test_calls_streams_and_errors_come_through(self):
        for mode, host in (("all", "ok.test"), ("urls", "rpc.test")):
            once, many, error = self.ask(mode, host, SITE.own)
            self.assertEqual((once, many), ("once\tcba", "many\tx0 x1 x2 x3 x4"), mode)
            self.assertTrue(error.startswith("UNIMPLEMENTED\t"), error)
            until(lambda: any(row.get("tls_action") == "intercepted" and row.get("requested_host") == host for row in SITE.proxies[mode].log()))

    def test_without_the_authority_it_refuses(self):
        proxy = SITE.proxies["all"]
        before = proxy.metric("tls_client_refusals_total")
        self.assertTrue(self.ask("all", next(SITE.fresh), SITE.authority.folder / "oca.crt")[0].startswith("UNAVAILABLE\t"))
        until(lambda: proxy.metric("tls_client_refusals_total") > before)


if __name__ == "__main__":
    if BUILD is None:
        sys.exit(__doc__)
    missing = [name for name in ("openssl", "nginx", "git") if not shutil.which(name)]
    if missing:
        print("skipped: not installed:", ", ".join(missing))
        sys.exit(1 if EVERY_CLIENT else 77)
    unittest.main(verbosity=2)
