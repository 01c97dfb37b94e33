#!/usr/bin/env python3
"""Programs that people use, told of the proxy as its page /setup says: without a login, with a password, with a token, and
where they are denied. Each must work, say the decision's id where it is denied, and leave lines with user and group.

Usage: client_setup_test.py BUILD_DIR [unittest arguments]. A program that is not installed is skipped, and said so; with
BLOOMWALL_EVERY_CLIENT=1 (`./dev clients` sets it and installs them) that is a failure.
SPDX-License-Identifier: Apache-2.0
"""
import base64
import contextlib
import datetime
import functools
import hashlib
import http.server
import io
import json
import os
import pathlib
import re
import shutil
import ssl
import subprocess
import sys
import tarfile
import tempfile
import threading
import unittest
import warnings
import zipfile

import browsers
from interception_site import BUILD, Authority, main, run, until, whole_lines

HERE = pathlib.Path(__file__).resolve().parent / "clients"
EVERY_CLIENT = os.environ.get("BLOOMWALL_EVERY_CLIENT") == "1"
FOREIGN = re.compile(r"(?i)proxy|_CA_|CA_?(BUNDLE|INFO|CERTS)|SSL|GIT_|JAVA_|NODE_|npm_|PIP_")  # this machine's settings
BODY = "the origin's own words"
WAY = {"open": "", "basic": "anna:secret@", "token": "ci:{token}@"}


class Site:
    """An origin in http and https with a page and a package of each kind; a proxy for everybody and one that asks for a login."""

    def __init__(self):
        self.folder = folder = pathlib.Path(tempfile.mkdtemp(prefix="bloomwall-test-"))
        folder.chmod(0o755)
        self.www = folder / "www"
        self.make_pages()
        certificate, key = Authority(folder).issue("good", ["ok.test", "denied.test"])
        self.servers = [self.serve(), self.serve((certificate, key))]
        self.http, self.https = (server.server_port for server in self.servers)
        (self.www / "npm/bloomwall-example").write_text(json.dumps(self.npm_metadata()))
        (folder / "list.txt").write_text("denied.test\n")
        run(BUILD / "bloomwall-filter", "build", "-q", "-o", folder / "list.bwf", folder / "list.txt")
        hashed = run("openssl", "passwd", "-6", "secret").stdout.strip()
        (folder / "users").write_text(f"anna:{hashed}:staff\n")
        (folder / "users").chmod(0o600)
        self.proxies = {"open": self.start("open", ""), "login": self.start("login", "authentication: {require: [127.0.0.0/8], users_file: users}\n")}
        self.token = run(BUILD / "bloomwall", "token", "add", "ci", "--group", "staff", "--for", "1h", "--config", folder / "login.yaml").stdout.strip()

    def make_pages(self):
        www = self.www
        for name in ("apt", "npm", "simple/bloomwall-example"):
            (www / name).mkdir(parents=True)
        (www / "page.txt").write_text(BODY + "\n")
        (www / "apt/Packages").write_text("Package: bloomwall-example\nVersion: 1\nArchitecture: all\nMaintainer: a\nFilename: ./none.deb\n"
                                          f"Size: 1\nSHA256: {'0' * 64}\nDescription: x\n\n")
        wheel = io.BytesIO()
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr("bloomwall_example.py", "WORDS = 1\n")
            info = "bloomwall_example-1.dist-info"
            archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: bloomwall-example\nVersion: 1\n")
            archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: a\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            archive.writestr(f"{info}/RECORD", "")
        name = "bloomwall_example-1-py3-none-any.whl"
        (www / "simple/bloomwall-example" / name).write_bytes(wheel.getvalue())
        (www / "simple/bloomwall-example/index.html").write_text(f'<html><body><a href="{name}">{name}</a></body></html>')
        ball = io.BytesIO()
        with tarfile.open(fileobj=ball, mode="w:gz") as archive:
            text = b'{"name": "bloomwall-example", "version": "1.0.0"}'
            member = tarfile.TarInfo("package/package.json")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))
        self.ball = ball.getvalue()
        (www / "npm/example.tgz").write_bytes(self.ball)
        work = self.folder / "work"
        git = ["git", "-C", work, "-c", "user.name=a", "-c", "user.email=a@ok.test", "-c", "init.defaultBranch=main"]
        work.mkdir()
        if shutil.which("git"):
            for command in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", BODY]):
                run(*git, *command)
            run("git", "clone", "-q", "--bare", work, www / "repository.git")
            run("git", "-C", www / "repository.git", "update-server-info")

    def npm_metadata(self):
        integrity = "sha512-" + base64.b64encode(hashlib.sha512(self.ball).digest()).decode()
        return {"name": "bloomwall-example", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": {
            "name": "bloomwall-example", "version": "1.0.0",
            "dist": {"tarball": f"http://ok.test:{self.http}/npm/example.tgz", "integrity": integrity}}}}

    def serve(self, certificate=None):
        class Handler(http.server.SimpleHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def finish_request(self, request, address):
                with contextlib.suppress(ssl.SSLError, OSError):
                    super().finish_request(context.wrap_socket(request, server_side=True) if certificate else request, address)

        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
        server = Server(("127.0.0.1", 0), functools.partial(Handler, directory=str(self.www)))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server

    def start(self, name, more):
        folder = self.folder
        (folder / f"{name}.yaml").write_text(f"""
listeners: [{{address: "127.0.0.1:0"}}]
filters: [{{name: list, file: list.bwf}}]
groups: [{{name: staff, {'user_groups: [staff]' if more else 'clients: [127.0.0.0/8]'}}}]
access: {{connect_ports: [], deny_destinations: []}}
dns: {{hosts: {{ok.test: 127.0.0.1, denied.test: 127.0.0.1}}}}
state_dir: {name}
timeouts: {{announce: 0, drain: 1s}}
admin: {{address: null, control_socket: {name}.sock}}
log: {{file: {name}.err, access: {{file: {name}.log}}}}
{more}""")
        process = subprocess.Popen([BUILD / "bloomwall", "run", "--config", folder / f"{name}.yaml"])
        said = until(lambda: (folder / f"{name}.err").exists() and "listening on" in (folder / f"{name}.err").read_text() and (folder / f"{name}.err").read_text())
        return process, int(re.search(r"listening on 127\.0\.0\.1:(\d+)", said)[1])

    def proxy(self, way):
        _, port = self.proxies["open" if way == "open" else "login"]
        return f"http://{WAY[way].format(token=self.token)}127.0.0.1:{port}"

    def lines(self, way):
        name = "open" if way == "open" else "login"
        return [json.loads(line) for line in whole_lines(self.folder / f"{name}.log")]

    def close(self):
        for process, _ in self.proxies.values():
            process.terminate()
            assert process.wait(60) == 0
        for server in self.servers:
            server.shutdown()
            server.server_close()
        shutil.rmtree(self.folder)


def setUpModule():
    global SITE
    warnings.simplefilter("ignore", ResourceWarning)  # of the origin's connections
    SITE = Site()


def tearDownModule():
    SITE.close()


def program(*command, env=None, **more):
    """Status and all that was said, by a program that knows of proxies by what it is given here alone."""
    clean = {k: v for k, v in os.environ.items() if not FOREIGN.search(k)}
    done = subprocess.run([str(c) for c in command], env={**clean, **(env or {})}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace", timeout=120, check=False, stdin=subprocess.DEVNULL, **more)
    return done.returncode, done.stdout


def environment(proxy):
    """As `bloomwall env` prints it."""
    return {name: proxy for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")} | {
        "no_proxy": "localhost,127.0.0.1,::1", "NO_PROXY": "localhost,127.0.0.1,::1", "NODE_USE_ENV_PROXY": "1"}


class Cases:
    """Every program. use() asks for what this kind of program wants, of a host; returns status and all that it said."""
    needs, path, shows_id, scheme = (), "/page.txt", True, "http"

    def setUp(self):
        absent = [name for name in self.needs if not shutil.which(name)]
        if absent and EVERY_CLIENT:
            self.fail(f"not installed: {', '.join(absent)}")
        if absent:
            self.skipTest(f"not installed: {', '.join(absent)} (./dev clients installs every client)")
        self.home = pathlib.Path(tempfile.mkdtemp(dir=SITE.folder))

    def url(self, host):
        return f"{self.scheme}://{host}:{SITE.https if self.scheme == 'https' else SITE.http}{self.path}"

    def ask(self, way, host, shows_id=False):
        """What it said, and the lines that this left; with shows_id that of a decision it names is among them."""
        begun = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"  # lines of the case before may come late
        code, said = self.use(SITE.proxy(way), self.url(host))

        def new():
            return [line for line in SITE.lines(way) if line["start_time"] >= begun and line.get("requested_host") == host and line["status"] != 407]
        try:
            until(lambda: [line for line in new() if not shows_id or line["id"] in said])
        except AssertionError:
            self.fail(f"the log has {new()}; it said: {said}")
        return code, said, new()

    def check_works(self, way, user):
        code, said, lines = self.ask(way, "ok.test")
        self.assertEqual(code, 0, said)
        for line in lines:
            self.assertEqual((line.get("user"), line["group"], line["decision"]), (user, "staff", "allowed"), line)

    def test_open(self):
        self.check_works("open", None)

    def test_with_a_password(self):
        self.check_works("basic", "anna")

    def test_with_a_token(self):
        self.check_works("token", "ci")

    def test_denied_it_says_the_decision(self):
        code, said, lines = self.ask("basic", "denied.test", self.shows_id)
        self.assertNotEqual(code, 0, said)
        for line in lines:
            self.assertEqual((line.get("user"), line["group"], line["decision"], line["filter"]), ("anna", "staff", "blocked", "list"), line)
        if not self.shows_id:
            self.assertIn("403", said)


class Curl(Cases, unittest.TestCase):
    needs = ("curl",)

    def use(self, proxy, url):
        return program("curl", "-sS", "--fail-with-body", url, env=environment(proxy))


class CurlHttps(Cases, unittest.TestCase):
    needs, scheme = ("curl",), "https"

    def use(self, proxy, url):  # the answer to CONNECT is shown by -v alone
        return program("curl", "-sSv", "--cacert", SITE.folder / "oca.crt", url, env=environment(proxy))


class Wget(Cases, unittest.TestCase):
    needs = ("wget",)

    def use(self, proxy, url):
        return program("wget", "--tries=1", "-O", "-", url, env=environment(proxy))


class WgetHttps(Wget):
    scheme = "https"

    def use(self, proxy, url):
        return program("wget", "--tries=1", f"--ca-certificate={SITE.folder}/oca.crt", "-O", "-", url, env=environment(proxy))


class Git(Cases, unittest.TestCase):
    needs, path = ("git",), "/repository.git"

    def use(self, proxy, url):
        return program("git", "-c", f"http.proxy={proxy}", "clone", url, self.home / "clone", env={"GIT_TERMINAL_PROMPT": "0"})


class Apt(Cases, unittest.TestCase):
    needs, path = ("apt-get",), "/apt"

    def use(self, proxy, url):
        for name in ("lists/partial", "cache/archives/partial", "parts"):
            (self.home / name).mkdir(parents=True)
        (self.home / "sources.list").write_text(f"deb [trusted=yes] {url} ./\n")
        (self.home / "apt.conf").write_text(f"""Acquire::http::Proxy "{proxy}";
Dir::State::lists "{self.home}/lists"; Dir::Cache "{self.home}/cache"; Dir::Etc::sourcelist "{self.home}/sources.list";
Dir::Etc::sourceparts "{self.home}/parts"; Dir::Etc::parts "{self.home}/parts"; Dir::Etc::preferencesparts "{self.home}/parts";
Acquire::Languages "none"; APT::Sandbox::User "root"; Acquire::Retries "0"; APT::Update::Error-Mode "any";
""")
        return program("apt-get", "update", env={"APT_CONFIG": str(self.home / "apt.conf")})


class Npm(Cases, unittest.TestCase):
    needs, path = ("npm",), "/npm/"

    def use(self, proxy, url):
        (self.home / "package.json").write_text('{"name": "test", "version": "1.0.0"}')
        return program("npm", "install", "--no-audit", "--no-fund", "--fetch-retries=0", f"--registry={url}", f"--proxy={proxy}", f"--https-proxy={proxy}",
                       f"--cache={self.home}/cache", "bloomwall-example", cwd=self.home, env={"HOME": str(self.home)})


class Pip(Cases, unittest.TestCase):
    path = "/simple/"

    def setUp(self):
        if program(sys.executable, "-m", "pip", "--version")[0] != 0:
            self.skipTest("not installed: pip")
        super().setUp()

    def use(self, proxy, url):
        host = re.match(r"\w+://([^:/]+)", url)[1]
        return program(sys.executable, "-m", "pip", "-vvv", "--disable-pip-version-check", "--retries=0", f"--proxy={proxy}", "download", "--no-cache-dir", "--no-deps",
                       "--index-url", url, "--trusted-host", host, "-d", self.home, "bloomwall-example", env={"HOME": str(self.home), "PIP_CONFIG_FILE": "/dev/null"})


class PythonUrllib(Cases, unittest.TestCase):
    def use(self, proxy, url):
        script = ("import sys, urllib.request, urllib.error\ntry:\n  print(urllib.request.urlopen(sys.argv[1], timeout=20).read())\n"
                  "except urllib.error.HTTPError as error:\n  sys.exit(f'{error}')\n")
        return program(sys.executable, "-c", script, url, env=environment(proxy))


class PythonRequests(Cases, unittest.TestCase):
    def setUp(self):
        if program(sys.executable, "-c", "import requests")[0] != 0:
            if EVERY_CLIENT:
                self.fail("not installed: python3-requests")
            self.skipTest("not installed: python3-requests (./dev clients installs every client)")
        super().setUp()

    def use(self, proxy, url):
        script = "import requests, sys\nanswer = requests.get(sys.argv[1], timeout=20)\nsys.exit(0 if answer.ok else f'{answer.status_code} {answer.reason}')\n"
        return program(sys.executable, "-c", script, url, env=environment(proxy))


class Browser(Cases):
    """One for each case: what it has been told once it remembers."""

    def use(self, proxy, url):
        login, port = re.match(r"http://(?:(.*)@)?127\.0\.0\.1:(\d+)$", proxy).groups()
        browser = self.kind(self.home / "browser", int(port), login=login.split(":") if login else None)
        try:
            visit = browser.go(url)
        finally:
            browser.close()
        return 0 if (visit.status, visit.text.strip()) == (200, BODY) else 1, f"{visit.status} {visit.error} {visit.text}"


class ChromiumBrowser(Browser, unittest.TestCase):
    needs, kind = ("chromium",), browsers.Chromium


class FirefoxBrowser(Browser, unittest.TestCase):
    needs, kind = ("firefox",), browsers.Firefox


class Go(Cases, unittest.TestCase):
    needs = ("go",)
    trusts = {}

    def use(self, proxy, url):
        built = SITE.folder / "go"
        if not built.exists():
            built.mkdir()
            shutil.copy(HERE / "fetch.go", built)
            (built / "go.mod").write_text("module fetch\n\ngo 1.19\n")
            code, said = program("go", "build", "-o", built / "fetch", ".", cwd=built,
                                 env={"GOCACHE": str(BUILD / "go-cache"), "GOPATH": str(built / "path"), "GOPROXY": "off", "GOFLAGS": "-mod=mod"})
            self.assertEqual(code, 0, said)
        _, said = program(built / "fetch", url, env={**environment(proxy), **self.trusts})
        return 0 if said.startswith("200\t") else 1, said

    shows_id = False  # the program shows a status and the first line of a body


class GoHttps(Go):
    scheme, shows_id = "https", True  # the reason phrase of the answer to CONNECT is the error

    def setUp(self):
        super().setUp()
        self.trusts = {"SSL_CERT_FILE": str(SITE.folder / "oca.crt")}


class Java(Cases):
    needs = ("java", "javac")

    def use(self, proxy, url):
        built = SITE.folder / "java"
        if not built.exists():
            run("javac", "-d", built, HERE / "Fetch.java")
        login, host, port = re.match(r"http://(.*@)?([^:@]+):(\d+)$", proxy).groups()
        user, _, password = (login or "").rstrip("@").partition(":")
        given = [f"-Dtest.user={user}", f"-Dtest.password={password}"] if user else []
        _, said = program("java", "-XX:TieredStopAtLevel=1", f"-Dhttp.proxyHost={host}", f"-Dhttp.proxyPort={port}", f"-Dhttps.proxyHost={host}",
                          f"-Dhttps.proxyPort={port}", "-Djdk.http.auth.tunneling.disabledSchemes=", *given, "-cp", built, "Fetch", self.kind, url)
        return 0 if said.startswith("200\t") else 1, said


class JavaConnection(Java, unittest.TestCase):
    kind = "connection"


class JavaHttpClient(Java, unittest.TestCase):
    kind = "client"


class Php(Cases, unittest.TestCase):
    needs = ("php",)

    def use(self, proxy, url):
        login, address = re.match(r"http://(?:(.*)@)?(.+)$", proxy).groups()
        field = f"Proxy-Authorization: Basic {base64.b64encode(login.encode()).decode()}" if login else ""
        script = (f"$c = stream_context_create(['http' => ['proxy' => 'tcp://{address}', 'request_fulluri' => true, 'ignore_errors' => true, "
                  f"'header' => '{field}']]); echo file_get_contents('{url}', false, $c); exit(strpos($http_response_header[0], '200') ? 0 : 1);")
        return program("php", "-r", script)


if __name__ == "__main__":
    main()
