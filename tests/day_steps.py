#!/usr/bin/env python3
"""What day_test.py does inside the system that it boots, with the packages in /packages (old and new): one day, its steps in their order.
As root; nothing but this runs there.

Usage: day_steps.py RESULTS. One JSON object a step, as system_steps.py says.
SPDX-License-Identifier: Apache-2.0
"""
import http.client
import http.server
import json
import pathlib
import pwd
import ssl
import threading
import urllib.parse
import urllib.request

from dashboard_browser import Dashboard
from system_steps import NAMES, PROXY, get, install, must, run_steps, state, step, wait_for

ETC = pathlib.Path("/etc/bloomwall")
ADMIN = "http://127.0.0.1:9128"
SELF = "http://bloomwall.internal"
LISTS = {"/shops.txt": "shop.test\nsale.test\nother-shop.test\n", "/trackers.txt": "tracker.test\npixel.test\n"}
CATALOGUE = "lists:\n" + "".join(f"""- name: {name}
  url: https://lists.test:8443/{name}.txt
  format: domains
  category: {name}
  licence: CC0-1.0
  homepage: https://lists.test:8443/
  entries: 3
""" for name in ("shops", "trackers"))
day = {}  # what a step leaves to those after it: browser, token


class Origin(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        body = LISTS[self.path] if self.path in LISTS else f"<!doctype html><title>x</title><h1>The page of {self.headers['Host']}</h1>"
        self.send_response(200)
        self.send_header("Content-Type", "text/plain" if self.path in LISTS else "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format, *args):
        pass


def serve(port, certificate=None):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Origin)
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, certificate.with_suffix(".key"))
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def the_world_around():
    """Sites and a server of lists on this machine, whose certificate the system trusts."""
    with pathlib.Path("/etc/hosts").open("a") as hosts:
        hosts.write("127.0.0.1 localhost news.test shop.test tracker.test lists.test\n")
    certificate = pathlib.Path("/usr/local/share/ca-certificates/lists.crt")
    must("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=lists.test",
         "-addext", "subjectAltName=DNS:lists.test", "-keyout", str(certificate.with_suffix(".key")), "-out", str(certificate))
    must("update-ca-certificates")
    serve(80)
    serve(8443, certificate)


def api(path):
    request = urllib.request.Request(f"{ADMIN}/api/v1{path}", headers={"Authorization": f"Bearer {day['token']}"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def status(host):
    return get(host).split(" ")[1:2]


@step
def installed_it_blocks_at_once():
    the_world_around()
    install("old")
    wait_for("it serves", lambda: status("blocked.example.test") == ["403"])
    (ETC / "catalogue.yaml").write_text(CATALOGUE)
    (ETC / "conf.d/own.yaml").write_text("update: {catalogue: /etc/bloomwall/catalogue.yaml}\naccess: {deny_destinations: []}\n")
    must("bloomwall", "check")
    must("systemctl", "reload", "bloomwall")
    assert status("shop.test") == ["200"]


@step
def two_lists_are_chosen_and_in_force():
    assert [line.split("\t")[0] for line in must("bloomwall", "update", "--catalogue").splitlines()] == ["shops", "trackers"]
    must("bloomwall", "update", "--add", "shops", "trackers")
    assert [status(f"{name}.test") for name in ("news", "shop", "tracker")] == [["200"], ["403"], ["403"]]
    must("systemctl", "start", "bloomwall-update.service")  # as the timer does


@step
def a_browser_is_told_by_the_file_for_automatic_configuration():
    browser = day["browser"] = Dashboard(pathlib.Path("/root/chromium"), flags=[f"--proxy-pac-url=http://{PROXY[0]}:{PROXY[1]}/proxy.pac"])
    visit = browser.go("http://news.test/today")
    assert visit.status == 200 and "The page of news.test" in visit.text, visit


@step
def a_blocked_page_says_why():
    browser = day["browser"]
    assert "ERR_TUNNEL_CONNECTION_FAILED" in browser.go("https://shop.test/").error
    visit = browser.go(SELF + "/")
    assert visit.status == 200 and "shop.test" in visit.text, visit
    visit = browser.go("http://shop.test/offers")
    assert visit.status == 403 and "This page is blocked" in visit.text and "shops" in visit.text, visit


@step
def it_is_reported_as_a_mistake():
    browser = day["browser"]
    browser.evaluate("document.querySelector('textarea').value = 'we buy our paper there'")
    browser.evaluate("document.querySelector('form button').click()")
    browser.shows("your report was taken")
    browser.evaluate("document.querySelector('a').click()")
    browser.until("location.href.includes('/report/')")
    day["answer"] = browser.evaluate("location.href")
    day["before"] = browser.text()


@step
def the_report_is_seen_by_command_and_over_the_api():
    assert "we buy our paper there" in must("bloomwall", "reports")
    day["token"] = must("bloomwall", "token", "add", "office", "--role", "admin", "--for", "90d").strip()
    [report] = api("/reports")["items"]
    assert (report["host"], report["filter"], report["comment"]) == ("shop.test", "shops", "we buy our paper there"), report
    why = api("/why?" + urllib.parse.urlencode({"url": "http://shop.test/offers"}))
    assert "shop.test" in json.dumps(why), why


@step
def it_is_accepted_on_the_dashboard():
    browser = day["browser"]
    browser.go(f"{ADMIN}/#/reports")
    browser.until("document.querySelector('input[type=password]')")
    browser.tab_to("Token")
    browser.type(day["token"])
    browser.press("Enter")
    browser.click("Accept: open shop.test")
    browser.click("Accept")
    browser.shows("shop.test is open now.")
    assert status("shop.test") == ["200"]
    assert status("other-shop.test") == ["403"]


@step
def what_happened_stands_on_the_dashboard():
    browser = day["browser"]
    wait_for("the query log has it", lambda: "shop.test/offers" in must("bloomwall", "log", "--host", "shop.test"))
    browser.go(f"{ADMIN}/#/search")
    browser.shows("tracker.test")
    browser.shows("shop.test/offers")
    browser.go(f"{ADMIN}/#/audit")  # in a narrow window the menu is closed
    browser.shows("office")
    browser.go(f"{ADMIN}/#/filters")
    browser.shows("shops")
    browser.shows("trackers")


@step
def whoever_reported_it_finds_it_open():
    browser = day["browser"]
    visit = browser.go(day["answer"])
    assert visit.status == 200 and visit.text != day["before"], visit
    visit = browser.go("http://shop.test/offers")
    assert visit.status == 200 and "The page of shop.test" in visit.text, visit


@step
def the_list_is_mended_and_the_exception_goes():
    assert "shop.test" in must("bloomwall", "exceptions")
    LISTS["/shops.txt"] = "sale.test\nother-shop.test\n"
    must("bloomwall", "update", "shops")
    wait_for("the exception has gone", lambda: "shop.test" not in must("bloomwall", "exceptions"))
    assert "cured" in must("bloomwall", "reports", "--all")
    assert [status("shop.test"), status("sale.test")] == [["200"], ["403"]]


class Load:
    """Requests one behind the other, on connections that are kept, from several threads, until the end of the with."""

    def __init__(self):
        self.answers, self.failures, self.over = 0, [], threading.Event()
        self.threads = [threading.Thread(target=self.ask, daemon=True) for _ in range(4)]

    def ask(self):
        client = http.client.HTTPConnection(*PROXY, timeout=30)
        while not self.over.is_set():
            for host, wanted in (("news.test", 200), ("tracker.test", 403)):
                try:
                    client.request("GET", f"http://{host}/", headers={"Accept": "text/html"})
                    answer = client.getresponse()
                    answer.read()
                except (OSError, http.client.HTTPException) as error:
                    client.close()
                    self.failures.append(repr(error))
                    self.over.wait(0.05)  # nobody listens for a moment: no need to ask a thousand times
                    continue
                assert answer.status == wanted, f"{host}: {answer.status}"
                self.answers += 1

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        wait_for("requests are answered", lambda: self.answers > 50)
        return self

    def __exit__(self, *_):
        self.over.set()
        for thread in self.threads:
            thread.join(60)


@step
def an_upgrade_under_load_keeps_everything():
    before = state()["MainPID"]
    must("bloomwall", "allow", "pixel.test", "--why", "the day after", "--for", "1d")
    with Load() as load:
        install("new")
        wait_for("another process serves", lambda: state()["MainPID"] not in ("0", before) and status("news.test") == ["200"])
        answered = load.answers
        wait_for("the requests go on", lambda: load.answers > answered + 50)
        alive = [thread for thread in load.threads if thread.is_alive()]
    assert len(alive) == len(load.threads), "an answer was not the right one, as the output says"
    assert not load.failures, load.failures[:3]
    print(f"{load.answers} requests answered during the upgrade")
    assert [status(f"{name}.test") for name in ("shop", "sale", "tracker", "pixel")] == [["200"], ["403"], ["403"], ["502"]]
    assert api("/filters"), "the token holds"
    assert day["browser"].go("http://news.test/evening").status == 200


@step
def purged_it_leaves_nothing_but_its_user():
    day["browser"].close()
    must("dpkg", "--purge", *NAMES)
    pwd.getpwnam("bloomwall")
    left = must("find", "/", "-xdev", "-name", "*bloomwall*", "-not", "-path", "/packages/*", "-not", "-path", "/proc/*", "-not", "-path",
                "/sys/*", "-not", "-path", "/root/*")
    assert left == "", left


run_steps()
