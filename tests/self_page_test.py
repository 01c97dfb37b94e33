#!/usr/bin/env python3
"""The proxy's own pages through the real program: what was blocked for whoever asks, /setup, the file for automatic
configuration as an engine of its own reads it, and the languages of all pages.

Usage: self_page_test.py BUILD_DIR [unittest arguments]. What Chromium showed stands in BUILD_DIR/pages.
SPDX-License-Identifier: Apache-2.0
"""
import base64
import html
import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import unittest
import urllib.parse

from browsers import Chromium
from interception_site import BUILD, WAIT, Authority, Client, main, run, until
from reports_site import SELF, Answer, Proxy, Site

BLOCKED = "<dt>Decision</dt><dd><code"
USERS = "authentication: {require: [127.0.0.0/8], users_file: users, basic_without_tls: true, cache: 1m}\n"
LANGUAGES = {"en": "This page is blocked", "de": "Diese Seite ist gesperrt", "fr": "Cette page est bloquée",
             "es": "Esta página está bloqueada", "it": "Questa pagina è bloccata", "nl": "Deze pagina is geblokkeerd",
             "pl": "Ta strona jest zablokowana", "pt": "Esta página está bloqueada"}


def basic(name, password):
    return f"Proxy-Authorization: Basic {base64.b64encode(f'{name}:{password}'.encode()).decode()}\r\n"


def decision_of(page):
    return re.search(r'<code[^>]*>([0-9A-Z]{16})</code>', page.text)[1]


class WithTls(Proxy):
    """With a second listener, which is set before it is started."""
    second = ""

    def start(self, clock=None):
        self.file.write_text(re.sub(r"listeners: .*", f'listeners: [{{address: "127.0.0.1:0"}}, {self.second}]', self.file.read_text()))
        super().start(clock)


class OwnPages(Site):
    def setUp(self):
        super().setUp()
        # "secret" of anna and "other" of bob, SHA-512-crypt with few rounds
        self.users = {name: run("openssl", "passwd", "-6", password).stdout.strip()
                      for name, password in (("anna", "secret"), ("bob", "other"))}
        (self.folder / "users").write_text("".join(f"{name}:{value}\n" for name, value in self.users.items()))
        (self.folder / "users").chmod(0o600)
        held = socket.create_server(("127.0.0.1", 0))
        self.closed = held.getsockname()[1]  # nobody listens there
        held.close()

    def own(self, proxy, path="/", client="127.0.0.1", fields="", accept="text/html", method="GET"):
        """One of the proxy's own pages, asked for through it."""
        return proxy.ask(method, SELF + path, client=client, fields=f"Accept: {accept}\r\n{fields}")

    def direct(self, proxy, path="/", host=None, client="127.0.0.1", fields="Accept: text/html\r\n"):
        """The same, asked of the listener itself."""
        with socket.create_connection(("127.0.0.1", proxy.port), timeout=WAIT, source_address=(client, 0)) as to:
            named = f"127.0.0.1:{proxy.port}" if host is None else host
            to.sendall(f"GET {path} HTTP/1.1\r\nHost: {named}\r\nConnection: close\r\n{fields}\r\n".encode())
            text = b""
            while piece := to.recv(65536):
                text += piece
        return Answer(text)

    def connect(self, proxy, host, port=443, client="127.0.0.1", fields=""):
        with socket.create_connection(("127.0.0.1", proxy.port), timeout=WAIT, source_address=(client, 0)) as to:
            to.sendall(f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n{fields}\r\n".encode())
            text = b""
            while piece := to.recv(65536):
                text += piece
        return Answer(text)

    def shown(self, proxy, **how):
        return json.loads(self.own(proxy, accept="application/json", **how).text)["recent"]


class Recent(OwnPages):
    def test_a_refused_connect_is_found_and_reported(self):  # REP-007
        proxy = self.proxy()
        refused = self.connect(proxy, "shop.test", client="127.0.0.2")
        self.assertEqual(refused.status, 403)
        decision = re.search(r"decision (\w{16})", refused.text)[1]
        page = self.own(proxy, client="127.0.0.2")
        self.assertEqual(page.status, 200)
        self.assertEqual(decision_of(page), decision)
        for shown in ("https://shop.test/", "ads", "pupils", ">shop.test<", "encrypted connection"):
            self.assertIn(shown, page.text)
        self.assertNotIn("set-cookie", page.fields)
        self.assertIn(f"form-action {SELF};", page.fields["content-security-policy"])
        action, ticket = page.form()
        body = urllib.parse.urlencode({"ticket": ticket, "comment": "it is a shop"}).encode()
        self.assertEqual(proxy.ask("POST", action, body, client="127.0.0.3").status, 403, "another client")
        self.assertEqual(proxy.ask("POST", action, body, client="127.0.0.2").status, 201)
        [item] = proxy.reports()
        wanted = {"url": "https://shop.test/", "host": "shop.test", "filter": "ads", "group": "pupils", "decision": decision,
                  "client": "127.0.0.2", "opens": "shop.test", "comment": "it is a shop"}
        self.assertEqual({name: item[name] for name in wanted}, wanted)
        proxy.command("report", "accept", "1")
        with socket.create_connection(("127.0.0.1", proxy.port), timeout=WAIT, source_address=("127.0.0.2", 0)) as to:
            to.sendall(f"CONNECT shop.test:{self.origin.port} HTTP/1.1\r\nHost: shop.test\r\n\r\n".encode())
            self.assertIn(b" 200 ", to.recv(65536), "it was opened")
        answer = self.connect(proxy, "bloomwall.internal")
        self.assertEqual(answer.status, 421, "a browser that tries https first falls back at once")

    def test_others_are_never_shown(self):  # REP-007
        proxy = self.proxy()
        for client in ("127.0.0.2", "127.0.0.3"):
            self.assertEqual(proxy.get(f"/of/{client}", client=client).status, 403)
        for client, other in (("127.0.0.2", "127.0.0.3"), ("127.0.0.3", "127.0.0.2")):
            fields = f"X-Forwarded-For: {other}\r\nForwarded: for={other}\r\nX-Real-IP: {other}\r\n"
            page = self.own(proxy, client=client, fields=fields)
            self.assertIn(f"/of/{client}", page.text)
            self.assertNotIn(f"/of/{other}", page.text)
        self.assertEqual(self.shown(proxy), [])
        self.assertIn("Nothing was blocked.", self.own(proxy).text)

    def test_the_last_twenty_are_shown_newest_first_and_one_url_once(self):
        proxy = self.proxy()
        for i in range(25):
            self.assertEqual(proxy.get(f"/{i}").status, 403)
        paths = [urllib.parse.urlsplit(row["url"]).path for row in self.shown(proxy)]
        self.assertEqual(paths, [f"/{i}" for i in range(24, 4, -1)])
        last = [proxy.get("/7") for _ in range(3)][-1]
        rows = self.shown(proxy)
        self.assertEqual((len(rows), rows[0]["count"], rows[0]["decision_id"]), (20, 4, decision_of(last)))
        for _ in range(8):  # whichever worker is asked
            self.assertEqual(self.shown(proxy), rows)
        text = self.own(proxy, accept="*/*")
        self.assertEqual(text.fields["content-type"], "text/plain; charset=utf-8")
        self.assertIn(f"{rows[0]['url']}  ads  listed  decision {rows[0]['decision_id']}  4 times", text.text)

    def test_users_of_one_address_see_their_own(self):
        proxy = self.proxy(more=USERS)
        self.assertEqual(proxy.get("/of/anna", fields=basic("anna", "secret")).status, 403)
        self.assertEqual(proxy.get("/of/bob", fields=basic("bob", "other"), client="127.0.0.9").status, 403)
        for name, password, other in (("anna", "secret", "bob"), ("bob", "other", "anna")):
            page = self.own(proxy, fields=basic(name, password))
            self.assertIn(f"/of/{name}", page.text)
            self.assertNotIn(f"/of/{other}", page.text)
            self.assertIn(f"of the user {name}", page.text)
        page = self.own(proxy)
        self.assertEqual(page.status, 200, "no login is asked for")
        self.assertNotIn("/of/", page.text)
        self.assertIn('href="/?login"', page.text)
        self.assertEqual(self.own(proxy, "/?login").status, 407)
        self.assertEqual(self.own(proxy, "/?login", fields=basic("anna", "secret")).status, 200)
        self.assertEqual(self.own(proxy, fields=basic("anna", "wrong")).status, 407)
        action, ticket = self.own(proxy, fields=basic("anna", "secret")).form()
        body = urllib.parse.urlencode({"ticket": ticket}).encode()
        self.assertEqual(proxy.ask("POST", action, body).status, 201)
        self.assertEqual(proxy.reports()[0]["user"], "anna")

    def test_a_tunnel_that_its_server_name_ends_is_shown(self):
        proxy = self.proxy()
        with socket.create_connection(("127.0.0.1", proxy.port), timeout=WAIT) as to:
            to.sendall(f"CONNECT denied.test:{self.origin.port} HTTP/1.1\r\nHost: denied.test\r\n\r\n".encode())
            self.assertIn(b" 200 ", to.recv(65536))
            with self.assertRaises((ssl.SSLError, OSError)):
                ssl.create_default_context().wrap_socket(to, server_hostname="shop.test")
        [row] = until(lambda: self.shown(proxy))
        self.assertEqual((row["url"], row["host"], row["filter"]), (f"shop.test:{self.origin.port}", "shop.test", "ads"))

    def test_where_it_is_off_nothing_is_kept(self):
        proxy = self.proxy(more="self_page: {recent: false}\n")
        self.assertEqual(proxy.get("/a").status, 403)
        page = self.own(proxy)
        self.assertEqual(page.status, 200)
        self.assertNotIn("shop.test", page.text)
        self.assertIsNone(self.shown(proxy))
        proxy.file.write_text(proxy.file.read_text().replace("recent: false", "recent: true"))
        proxy.command("reload")
        self.assertEqual(self.shown(proxy), [], "it was not kept")
        self.assertEqual(proxy.get("/b").status, 403)
        self.assertEqual(len(self.shown(proxy)), 1)
        proxy.file.write_text(proxy.file.read_text().replace("recent: true", "recent: false"))
        proxy.command("reload")
        proxy.file.write_text(proxy.file.read_text().replace("recent: false", "recent: true"))
        proxy.command("reload")
        self.assertEqual(self.shown(proxy), [], "it was forgotten")

    def test_it_is_found_at_the_listeners_address_but_under_nobodys_name(self):
        proxy = self.proxy()
        self.assertEqual(proxy.get("/a").status, 403)
        page = self.direct(proxy)
        self.assertEqual(page.status, 200)
        self.assertIn("http://shop.test", page.text)
        action, ticket = page.form()
        self.assertEqual(action, f"http://127.0.0.1:{proxy.port}/report")
        self.assertIn("form-action 'self';", page.fields["content-security-policy"])
        body = urllib.parse.urlencode({"ticket": ticket}).encode()
        taken = proxy.ask("POST", "/report", body, port=proxy.port)
        self.assertEqual(taken.status, 201)
        link = html.unescape(re.search(r'href="([^"]+)"', taken.text)[1])
        self.assertIn("/report/1-", link)
        # A web page under a name of its own that leads here must not read what its visitor may not open.
        for name in (f"rebound.test:{proxy.port}", f"localhost:{proxy.port}"):
            self.assertEqual(self.direct(proxy, host=name).status, 421, name)
        self.assertEqual(self.direct(proxy, host="bloomwall.internal").status, 200)

    def test_other_methods_and_paths_are_none(self):
        proxy = self.proxy()
        for path, method, status in (("/nothing", "GET", 404), ("/setup/x", "GET", 404), ("/", "POST", 405), ("/setup", "POST", 405),
                                     ("/", "HEAD", 200), ("/setup?x=1", "GET", 200), ("/proxy.pac", "DELETE", 405)):
            page = self.own(proxy, path, method=method)
            self.assertEqual(page.status, status, (method, path))
            self.assertNotIn("90 days", page.text, "that is of reports")
        self.assertIn("90 days", self.own(proxy, "/report/1-none").text)


class InsideTls(OwnPages):
    def setUp(self):
        super().setUp()
        run(BUILD / "bloomwall", "ca", "init", "--out", self.folder)
        Authority(self.folder)

    def inspecting(self, mode="blocked", more=""):
        return self.proxy(more=f"tls_inspection:\n  mode: {mode}\n  ca: {{certificate: ca.crt, key: ca.key}}\n"
                               f"  never: []\n  verify: {{ca_file: oca.crt}}\n{more}")

    def test_a_page_inside_tls_and_a_client_that_refuses_it_are_both_shown(self):
        proxy = self.inspecting()
        client = Client(proxy, "shop.test", 443).tls(self.folder / "ca.crt")
        status, _, _ = client.ask("/inside?a=1", host="shop.test", more="Accept: text/html\r\n")
        self.assertEqual(status, 403)
        [row] = self.shown(proxy)
        self.assertEqual((row["url"], row["filter"]), ("https://shop.test/inside", "ads"))
        self.assertEqual(self.connect(proxy, "evil.test", fields="User-Agent: curl/8\r\n").status, 403)
        self.assertEqual([row["url"] for row in self.shown(proxy)], ["https://evil.test/", "https://shop.test/inside"])

    def test_the_self_host_is_spoken_to_in_tls_with_the_authoritys_certificate(self):
        proxy = self.inspecting()
        self.assertEqual(proxy.get("/a").status, 403)
        client = Client(proxy, "bloomwall.internal", 443).tls(self.folder / "ca.crt")
        status, fields, body = client.ask("/", host="bloomwall.internal", more="Accept: text/html\r\n")
        page = Answer(b"HTTP/1.1 200 x\r\n\r\n" + body)
        self.assertEqual(status, 200)
        self.assertIn("http://shop.test", page.text)
        self.assertEqual(page.form()[0], "https://bloomwall.internal/report")
        self.assertIn("form-action 'self'", fields["content-security-policy"])
        form = urllib.parse.urlencode({"ticket": page.form()[1]})
        client = Client(proxy, "bloomwall.internal", 443).tls(self.folder / "ca.crt")
        client.socket.sendall(f"POST /report HTTP/1.1\r\nHost: bloomwall.internal\r\n"
                              f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(form)}\r\n\r\n{form}".encode())
        self.assertEqual(client.answer()[0], 201)
        for path, wanted in (("/ca", 200), ("/nothing", 404), ("/setup", 200)):
            client = Client(proxy, "bloomwall.internal", 443).tls(self.folder / "ca.crt")
            status, _, body = client.ask(path, host="bloomwall.internal", more="Accept: text/html\r\n")
            self.assertEqual(status, wanted, path)
        self.assertIn(f"http://127.0.0.1:{proxy.port}/proxy.pac", body.decode())
        self.assertIn('href="/ca"', self.own(proxy).text)
        if not (shutil.which("chromium") and shutil.which("certutil")):
            return
        browser = Chromium(self.folder / "chromium", proxy.port, self.folder / "ca.crt")
        self.addCleanup(browser.close)
        visit = browser.go("https://bloomwall.internal/")
        self.assertEqual(visit.status, 200, visit)
        self.assertIn("http://shop.test", visit.text)

    @unittest.skipUnless(shutil.which("chromium") and shutil.which("certutil"), "no chromium")
    def test_certificate_and_settings_are_read_on_a_telephone_without_scrolling_sideways(self):
        # Where these pages are used. What sticks out of a box that hides it makes no scroll bar: each element is measured.
        proxy = self.inspecting()
        browser = Chromium(self.folder / "chromium", proxy.port, self.folder / "ca.crt")
        self.addCleanup(browser.close)
        for path, tag, width in ((path, tag, width) for path in ("/ca", "/setup") for tag in ("en", "de") for width in (360, 320)):
            with self.subTest(path, tag=tag, width=width):
                browser.call("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=True)
                browser.call("Network.setExtraHTTPHeaders", headers={"Accept-Language": tag})
                self.assertEqual(browser.go(SELF + path).status, 200)
                self.assertEqual(browser.evaluate("innerWidth"), width, "the page is as wide as the device")
                out = browser.evaluate("""JSON.stringify([...document.querySelectorAll("body *")].filter((each) => {
                  const box = each.getBoundingClientRect();
                  return box.right > innerWidth || box.left < 0 || each.scrollWidth > Math.max(each.clientWidth, box.width) + 1;
                }).map((each) => each.outerHTML.slice(0, 100)))""")
                self.assertEqual(json.loads(out), [])
                cells = json.loads(browser.evaluate('JSON.stringify([...document.querySelectorAll("td")].map((each) => each.getBoundingClientRect().width))'))
                self.assertGreater(len(cells), 8)
                self.assertGreater(min(cells), 0.8 * width, "a cell has the width of the page")
                smallest = browser.evaluate('Math.min(...[...document.querySelectorAll("td, td *")].map((each) => parseFloat(getComputedStyle(each).fontSize)))')
                self.assertGreaterEqual(smallest, 12)


class Pac(OwnPages):  # CLI-001
    HOSTS = [("http://www.example.com/", "proxy"), ("https://www.example.com/", "proxy"), ("http://localhost/", "DIRECT"),
             ("http://app.localhost:8080/", "DIRECT"), ("http://127.0.0.1/", "DIRECT"), ("http://127.9.9.9:81/a", "DIRECT"),
             ("http://intranet/", "DIRECT"), ("http://printer:631/", "DIRECT"), ("http://corp.test/", "DIRECT"),
             ("https://a.b.CORP.test/", "DIRECT"), ("http://notcorp.test/", "proxy"), ("http://corp.test.evil.com/", "proxy"),
             ("http://10.1.2.3/", "DIRECT"), ("http://10.16.0.1/", "proxy"), ("http://192.0.2.7/", "DIRECT"),
             ("http://192.0.2.8/", "proxy"), ("http://128.0.0.1/", "proxy"), ("http://bloomwall.internal/", "proxy"),
             ("ftp://files.example.com/", "proxy"), ("http://localhost.example.com/", "proxy"),
             ("http://[::1]/", "DIRECT"), ("http://[2001:db8::1]/", "proxy"), ("http://[fd00::7]/", "DIRECT"),
             ("http://[fdff:1:2:3:4:5:6:7]/", "DIRECT"), ("http://[fe00::1]/", "proxy"), ("http://[::fd00]/", "proxy"),
             ("http://[2001:db8:1:8001::9]/", "DIRECT"), ("http://[2001:db8:1:7fff::9]/", "proxy"), ("http://[64:ff9b::7]/", "DIRECT"),
             ("http://[64:ff9b::8]/", "proxy"), ("http://[64:ff9b:0:1::7]/", "proxy"),
             ("http://10.1.2.3.example.com/", "proxy"), ("http://www.example.com./", "proxy")]

    def check_with_an_engine(self, text, proxies):
        """pactester, and node with what every browser has; both call FindProxyForURL as a browser does."""
        file = self.folder / "proxy.pac"
        file.write_text(text)
        hosts = [(url, re.match(r"\w+://(\[[^\]]*\]|[^/:]*)", url)[1].strip("[]")) for url, _ in self.HOSTS]
        found = []
        if shutil.which("pactester"):
            found.append([run("pactester", "-p", file, "-u", url, "-h", host).stdout.strip() for url, host in hosts])
        if shutil.which("node"):
            script = f"""{text}
            function isInNet(host, net, mask) {{ const n = x => x.split('.').reduce((a, b) => a * 256 + Number(b), 0);
              return ((n(host) & n(mask)) >>> 0) === n(net); }}
            console.log(JSON.stringify({json.dumps(hosts)}.map(([url, host]) => FindProxyForURL(url, host))));"""
            found.append(json.loads(subprocess.run(["node", "-"], input=script, check=True, capture_output=True, text=True).stdout))
        if not found:
            self.skipTest("neither pactester (package libpacparser1) nor node is installed")
        for got in found:
            self.assertEqual(len(got), len(self.HOSTS))
            for (url, wanted), said in zip(self.HOSTS, got):
                self.assertEqual(said, proxies if wanted == "proxy" else wanted, url)

    def test_is_given_to_whoever_asks_and_right(self):
        proxy = self.proxy(more=USERS + "pac: {direct: [corp.test, 10.0.0.0/12, 192.0.2.7, 'fd00::/8', '2001:db8:1:8000::/49', '64:ff9b::7']}\n")
        self.assertEqual(proxy.get("/a", host="nothing.test").status, 407, "others must log in")
        own = f"PROXY 127.0.0.1:{proxy.port}"
        asked = [self.direct(proxy, path, fields="") for path in ("/proxy.pac", "/wpad.dat", "/wpad.dat?x=1")]
        asked += [self.own(proxy, path, accept="*/*") for path in ("/proxy.pac", "/wpad.dat")]
        asked += [proxy.ask("GET", f"http://127.0.0.1:{proxy.port}/proxy.pac")]
        for answer in asked:
            self.assertEqual(answer.status, 200)
            self.assertEqual(answer.fields["content-type"], "application/x-ns-proxy-autoconfig")
            self.assertIn(f'"{own}"', answer.text)
        self.check_with_an_engine(asked[0].text, own)

    def test_names_the_host_it_was_asked_under_and_nothing_else(self):
        proxy = self.proxy()
        for host, named in (("Proxy.Example:3128", "proxy.example:3128"), ("wpad", f"wpad:{proxy.port}"), ("[::1]:80", "[::1]:80"),
                            ("bloomwall.internal", f"127.0.0.1:{proxy.port}"), ("wpad.", f"127.0.0.1:{proxy.port}")):
            self.assertIn(f'var proxies = "PROXY {named}";', self.direct(proxy, "/wpad.dat", host=host).text, host)
        for host in ('a";alert(1);"', "a b", "a<b", "a%22b", "a'b"):
            answer = self.direct(proxy, "/wpad.dat", host=host)
            if answer.status == 200:
                self.assertIn(f'var proxies = "PROXY 127.0.0.1:{proxy.port}";', answer.text, host)
            else:
                self.assertEqual(answer.status, 400, host)
        with socket.create_connection(("127.0.0.1", proxy.port), timeout=WAIT) as to:  # an old client, without Host
            to.sendall(b"GET /wpad.dat HTTP/1.0\r\n\r\n")
            text = b""
            while piece := to.recv(65536):
                text += piece
        self.assertIn(f'"PROXY 127.0.0.1:{proxy.port}"'.encode(), text)

    def test_is_what_the_configuration_says(self):
        proxy = self.proxy(more="pac: {proxies: ['https://Gate.example:3129', 'gate.example:3128']}\n")
        text = self.direct(proxy, "/proxy.pac").text
        self.assertIn('"HTTPS gate.example:3129; PROXY gate.example:3128"', text)
        self.assertIn("https://gate.example:3129/proxy.pac", self.own(proxy, "/setup").text)
        (self.folder / "my.pac").write_text("function FindProxyForURL(u, h) { return 'DIRECT'; } // ä\n")
        proxy.file.write_text(re.sub(r"pac: .*\n", "pac: {file: my.pac}\n", proxy.file.read_text()))
        proxy.command("reload")
        answer = self.direct(proxy, "/proxy.pac")
        self.assertEqual(answer.text, (self.folder / "my.pac").read_text())
        self.assertEqual(answer.fields["content-type"], "application/x-ns-proxy-autoconfig")
        for wrong, said in (("", "is empty"), ("x" * (1 << 20) + "y", "over 1 MiB")):
            (self.folder / "my.pac").write_text(wrong)
            done = subprocess.run([BUILD / "bloomwall", "check", "--config", proxy.file], capture_output=True, text=True)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(said, done.stderr)
        self.assertEqual(self.direct(proxy, "/proxy.pac").status, 200, "the old one is served on")

    def test_tls_comes_first_where_a_certificate_is_for_that_name(self):
        authority = Authority(self.folder)
        certificate, key = authority.issue("gate", ["gate.example"])
        with socket.create_server(("127.0.0.1", 0)) as held:
            port = held.getsockname()[1]
        WithTls.second = f'{{address: "127.0.0.1:{port}", tls: {{certificate: {certificate}, key: {key}}}}}'
        proxy = WithTls(self.folder, self.origin.port)
        self.addCleanup(proxy.end)
        self.assertIn(f'"HTTPS gate.example:{port}; PROXY gate.example:3128"', self.direct(proxy, "/proxy.pac", host="gate.example:3128").text)
        self.assertIn('"PROXY other.example:3128"', self.direct(proxy, "/proxy.pac", host="other.example:3128").text)
        secure = run("curl", "-sS", "--cacert", self.folder / "oca.crt", "--resolve", f"gate.example:{port}:127.0.0.1",
                     f"https://gate.example:{port}/proxy.pac").stdout
        self.assertIn(f'"HTTPS gate.example:{port}"', secure)


class Setup(OwnPages):
    def test_shows_the_address_it_was_asked_under(self):
        proxy = self.proxy(more=USERS)
        for page, named in ((self.direct(proxy, "/setup"), f"127.0.0.1:{proxy.port}"),
                            (self.direct(proxy, "/setup", host="gate.example:8080"), "gate.example:8080"),
                            (self.own(proxy, "/setup"), f"127.0.0.1:{proxy.port}")):
            self.assertEqual(page.status, 200)
            for shown in ("netsh winhttp", "networksetup", "gsettings", "Android", "iOS", "policies.json", "Acquire::http::Proxy",
                          "http.proxy", "npm config", "pip ", "daemon.json", "-Dhttps.proxyHost", "NODE_USE_ENV_PROXY", "NAME:PASSWORD@"):
                self.assertIn(shown, page.text)
            self.assertIn(f"http://{named}/proxy.pac", page.text)
            self.assertIn(f"export http_proxy=http://{named}\n", page.text)

    def test_its_lines_work_in_a_shell(self):
        proxy = self.proxy()
        said = proxy.command("env", "--address", f"127.0.0.1:{proxy.port}")
        environment = run("sh", "-c", f"{said}\nenv", env={"PATH": os.environ["PATH"]}).stdout.splitlines()
        url = f"http://127.0.0.1:{proxy.port}"
        for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
            self.assertIn(f"{name}={url}", environment)
        self.assertIn("no_proxy=localhost,127.0.0.1,::1", environment)
        self.assertIn("NODE_USE_ENV_PROXY=1", environment)
        clean = {k: v for k, v in os.environ.items() if "proxy" not in k.lower()}
        done = subprocess.run(["sh", "-c", f"{said}\ncurl -sS http://shop.test/"], capture_output=True, text=True, env=clean)
        self.assertIn("This page is blocked", done.stdout)
        self.assertIn("no listener has an address", proxy.command("env", status=2))
        self.assertIn("--address x", proxy.command("env", "--address", "x", status=2))
        proxy.file.write_text(proxy.file.read_text() + "pac: {proxies: ['https://gate.example:3129'], direct: [corp.test]}\n")
        said = proxy.command("env")
        self.assertIn("export https_proxy='https://gate.example:3129'\n", said)
        self.assertIn("export NO_PROXY='localhost,127.0.0.1,::1,corp.test'\n", said)


class Languages(OwnPages):
    def test_every_page_is_in_the_readers_language(self):
        proxy = self.proxy(more=USERS.replace("127.0.0.0/8", "127.0.0.5"))
        pages = {"block": lambda f: proxy.get("/a", fields=f), "407": lambda f: proxy.get("/a", fields=f, client="127.0.0.5"),
                 "502": lambda f: proxy.ask("GET", f"http://denied.test:{self.closed}/", fields=f), "self": lambda f: proxy.ask("GET", SELF + "/", fields=f),
                 "setup": lambda f: proxy.ask("GET", SELF + "/setup", fields=f), "report": lambda f: proxy.ask("GET", SELF + "/report", fields=f)}
        seen = {name: set() for name in pages}
        for tag, title in LANGUAGES.items():
            for name, ask in pages.items():
                answer = ask(f"Accept: text/html\r\nAccept-Language: xx, {tag}-AA;q=0.9, en;q=0.1\r\n")
                self.assertEqual(answer.status, {"block": 403, "407": 407, "502": 502}.get(name, 200))
                self.assertEqual(answer.fields["content-language"], tag, name)
                self.assertEqual(answer.fields["vary"], "Accept, Accept-Language")
                self.assertIn(f'<html lang="{tag}" dir="ltr">', answer.text)
                seen[name].add(re.search(r"<h1>(.*?)</h1>", answer.text)[1])
                if name == "block":
                    self.assertIn(f"<h1>{title}</h1>", answer.text)
        self.assertEqual({name: len(titles) >= 7 for name, titles in seen.items()}, {name: True for name in pages})

    def test_two_lines_are_one_list_and_programs_read_english(self):
        proxy = self.proxy()
        page = proxy.get("/a", fields="Accept: text/html\r\nAccept-Language: de;q=0.5\r\nAccept-Language: pl;q=0.7\r\n")
        self.assertEqual(page.fields["content-language"], "pl")
        for accept in ("application/json", "*/*"):
            answer = proxy.get("/a", fields=f"Accept: {accept}\r\nAccept-Language: de\r\n")
            self.assertEqual(answer.fields["content-language"], "en")
            self.assertNotIn("Diese", answer.text)
        self.assertNotIn("vary", self.connect(proxy, "shop.test").fields)

    def test_templates_of_users_keep_working(self):
        (self.folder / "page.html").write_text("<html><h1>{{title}}</h1><p>{{stopped_by}} {{reason}} {{decision_id}}</p></html>")
        proxy = self.proxy(more="block_page: {template: page.html}\n")
        page = proxy.get("/a", fields="Accept: text/html\r\nAccept-Language: de\r\n")
        self.assertIn("<h1>This page is blocked</h1><p>The filter ads of this network Its address", page.text)
        self.assertNotIn("content-language", page.fields, "nobody knows which it is in")
        (self.folder / "page.html").write_text('<html lang="{{lang}}"><h1>{{title}}</h1>{{t.label_host}} {{reason}}</html>')
        proxy.command("reload")
        page = proxy.get("/a", fields="Accept: text/html\r\nAccept-Language: de\r\n")
        self.assertIn('<html lang="de"><h1>Diese Seite ist gesperrt</h1>Host Die Adresse', page.text)
        self.assertEqual(page.fields["content-language"], "de")


@unittest.skipUnless(shutil.which("chromium") and shutil.which("certutil"), "no chromium")
class Shown(OwnPages):
    def test_each_page_fits_a_telephone_and_a_screen_in_light_and_dark(self):
        folder = BUILD / "pages"
        folder.mkdir(exist_ok=True)
        proxy = self.proxy(more=USERS.replace("127.0.0.0/8", "127.0.0.99") + "block_page: {contact: help@example.com}\n")
        browser = Chromium(self.folder / "chromium", proxy.port)
        self.addCleanup(browser.close)
        for path in ("/a/rather/long/path/of/a/page/that/somebody/wanted?with=a&query=of-its-own-that-never-ends-and-has-no-blank", "/b", "/b"):
            self.assertEqual(proxy.get(path).status, 403)
        self.assertEqual(self.connect(proxy, "evil.test").status, 403)
        pages = {"home": SELF + "/", "setup": SELF + "/setup", "block": f"http://shop.test:{self.origin.port}/blocked",
                 "error": f"http://denied.test:{self.closed}/", "report": SELF + "/report"}
        for tag in ("en", "de", "pl"):
            browser.call("Network.setExtraHTTPHeaders", headers={"Accept-Language": tag})
            for name, url in pages.items():
                browser.go(url)
                self.assertEqual(browser.evaluate("document.documentElement.lang"), tag)
                self.assertEqual(browser.evaluate("document.scripts.length"), 0)
                for width, dark in ((1280, False), (1280, True), (360, False), (360, True)):
                    browser.call("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=False)
                    height = min(3000, browser.evaluate("document.documentElement.scrollHeight"))
                    browser.show(folder / f"self-{name}-{tag}-{width}-{'dark' if dark else 'light'}.png", dark, width, max(400, height))
                    self.assertLessEqual(browser.evaluate("document.documentElement.scrollWidth"), width, (name, tag))

    def test_a_report_from_there_works_in_a_browser(self):
        proxy = self.proxy()
        browser = Chromium(self.folder / "chromium", proxy.port)
        self.addCleanup(browser.close)
        self.assertIn("ERR_TUNNEL_CONNECTION_FAILED", browser.go("https://shop.test/").error)
        visit = browser.go(SELF + "/")
        self.assertEqual(visit.status, 200)
        self.assertIn("https://shop.test/", visit.text)
        browser.evaluate("document.querySelector('details').open = true")
        browser.evaluate("document.querySelector('textarea').value = 'a shop'")
        browser.evaluate("document.querySelector('form button').click()")
        until(lambda: "your report was taken" in (browser.evaluate("document.body && document.body.innerText") or ""), 60)
        self.assertEqual([item["url"] for item in proxy.reports()], ["https://shop.test/"])


if __name__ == "__main__":
    main()
