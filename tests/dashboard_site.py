"""The dashboard's files from the source tree, and an API that answers with figures made up: for looks, and for what a real
proxy does not show within a test. Some texts are as hostile as the network's can be.

main: serves it on a port, for whoever works on the page. Usage: dashboard_site.py PORT
SPDX-License-Identifier: Apache-2.0
"""
import datetime
import http.server
import json
import math
import pathlib
import random
import sys
import threading
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent
TYPES = {".js": "text/javascript", ".mjs": "text/javascript", ".css": "text/css", ".txt": "text/plain", ".svg": "image/svg+xml"}
POLICY = ("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; form-action 'self'; "
          "frame-ancestors 'none'; base-uri 'none'")
HOSTILE = "<img src=x onerror=\"document.title='run'\"><script>document.title='run'</script>\u202e\u0007{{x}}${1}"
ROLES = ["viewer", "reviewer", "operator", "admin"]


def moment(seconds):
    """That many seconds from now."""
    return (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def items(rows, following=None):
    return {"items": rows, "next": following}


def counters():
    return {"at": moment(0), "started": moment(-432_000), "requests": 48_213_377, "blocked": 5_604_120, "errors": 812, "bytes_sent": 3_104_881_004_112,
            "bytes_received": 99_481_004_112, "connections": 311, "tunnels": 184, "in_flight": 9,
            "now": {"seconds": 10, "requests": 1243, "blocked": 155, "errors": 0, "p50_ms": 18.4, "p99_ms": 412.0}}


def history(span):
    step, steps = (60, 60) if span == "1h" else (300, 288)
    rng, rows = random.Random(1), []
    for i in range(steps):
        level = 90 + 60 * math.sin(i / steps * 6.28 + 4) + rng.random() * 25
        rows.append({"at": moment((i - steps) * step), "seconds": step, "requests": int(level * step), "blocked": int(level * step * (0.1 + 0.04 * rng.random())),
                     "errors": 0, "bytes_sent": int(level * step * 20_000), "bytes_received": int(level * step * 900), "p50_ms": 18.0, "p99_ms": 390.0,
                     "tunnels": 180, "in_flight": 9})
    return {"span": span, "step_seconds": step, **items(rows)}


def top(names, most, error=0):
    return [{"name": name, "blocked": int(most / (i + 1) ** 1.2), "error": error * i} for i, name in enumerate(names)]


def tops(span):
    hosts = ["ads.example.com", "telemetry.example.net", "games.example.org", "metrics.shop.example", "cdn.banner.example",
             "xn--80ak6aa92e.example", "a-rather-long-label-of-a-host.with.many.labels.in.its.name.example"]
    return {"span": span, "since": moment(-3600), "hosts": top(hosts, 4210, 1), "filters": top(["ads", "games", "malware"], 9800),
            "groups": top(["pupils", "staff", "guests"], 7312), "clients": top(["10.2.3.4", "10.2.3.9", "fd00::17"], 2011)}


def request(i, **more):
    host = ["shop.example", "games.example.org", "ads.example.com", "docs.example.net"][i % 4]
    row = {"at": moment(-7 * i - 2), "id": f"2RZG7V0C4M1XKQ{i:02d}", "client": f"10.2.3.{i % 9 + 1}", "user": "anna" if i % 3 == 0 else None,
           "group": "pupils", "method": "GET", "host": host, "url": f"http://{host}/a/{i}?q=1", "status": 403, "decision": "blocked",
           "reason": "listed", "filter": "games" if i % 2 else "ads", "expression": f"S {host}", "bytes_sent": 4096, "bytes_received": 512,
           "duration_ms": 0.4, "tunnel": False}
    return {**row, **more}


def requests(query):
    rows = [request(0), request(1, method="CONNECT", url="games.example.org:443", tunnel=True), request(2, url="http://ads.example.com/" + HOSTILE, user=HOSTILE),
            request(3, expression="D docs.example.net/bad/")]
    rows += [request(i, host=f"host{i}.example", url=f"http://host{i}.example/") for i in range(4, 12)]
    if query.get("decision") != "blocked":
        rows[1:1] = [request(20 + i, decision="allowed", reason="unlisted", filter=None, expression=None, id=None, status=200) for i in range(6)]
    return {**items(rows, None if query.get("cursor") else "next"), "looked_to": moment(-900), "complete": bool(query.get("cursor")),
            "unreadable": [] if query.get("cursor") else ["2026-11-23.damaged"]}


def report(i, **more):
    row = {"id": i, "state": "open", "url": "https://docs.example.net/handbook", "host": "docs.example.net", "filter": "games",
           "reason": "listed", "expression": "S docs.example.net", "group": "pupils", "client": "10.2.3.4", "user": None,
           "decision": "2RZG7V0C4M1XKQ9T", "comment": "We need this page for the physics lesson on Thursday.", "name": "Anna, 7b",
           "reviewer": None, "words": None, "first": moment(-5400), "last": moment(-600), "count": 3, "decided": None, "exception": None,
           "until": None, "until_build": False, "opens": "docs.example.net", "insists": False}
    return {**row, **more}


def reports(query):
    state = query.get("state", "open")
    decided = {} if state == "open" else {"decided": moment(-60), "reviewer": "token anna", "words": "You were right.", "state": state}
    return items([report(3, **decided), report(2, url="http://shop.example/" + HOSTILE, comment=HOSTILE, name=HOSTILE, count=1, host="shop.example",
                                               opens="http://shop.example/a/", expression="D shop.example/a/", **decided)])


def exception(i, **more):
    row = {"id": i, "action": "allow", "kind": "S", "entry": f"host{i}.example.com", "filters": [], "why": "wrongly blocked", "created": moment(-3600 * i),
           "until": moment(3600 * (i + 1)), "client": None, "user": None, "group": None, "who": "token anna", "until_build": False}
    return {**row, **more}


def exceptions():
    return items([exception(1, until=None, why="internal"), exception(2, filters=["games"], until=None, until_build=True, builds=3, report=2, group="pupils"),
                  exception(3, action="deny", client="10.2.3.4", why="homework"), exception(4, entry="shop.example/" + "a" * 80, kind="D", why=HOSTILE, who=HOSTILE)])


def groups():
    switch = {"group": "pupils", "switch": "otherwise=deny", "why": "exam in room 12", "created": moment(-600), "until": moment(2100), "who": "token teacher"}
    def criterion(kind, *names, count=None):
        return {"kind": kind, "count": count or len(names), "names": list(names)}

    def each(**group):
        return {**group, "filters": [{"name": name, "action": action} for name, action in group["actions"].items()]}

    return items([each(**group) for group in (
        {"name": "staff", "index": 0, "criteria": [criterion("user_groups", "Staff"), criterion("clients", "10.1.0.0/16")],
         "actions": {"malware": "block", "ads": "block", "games": "off"}, "otherwise": "allow", "schedules": [], "switches": [],
         "safe_search": []},
        {"name": "pupils", "index": 1, "criteria": [criterion("users", "anna", "bob", HOSTILE, count=300)], "actions": {"malware": "block", "ads": "block", "games": "block"}, "otherwise": "deny",
         "schedules": [{"name": "lessons", "active": True, "until": moment(5000)}, {"name": "night", "active": False, "until": moment(30_000)}],
         "switches": [switch], "safe_search": ["google", "youtube_strict", "bing"]},
        {"name": "default", "index": 2, "criteria": [], "actions": {"malware": "block", "ads": "monitor", "games": "monitor"}, "otherwise": "allow",
         "schedules": [], "switches": [], "safe_search": []})])


def filters():
    def one(name, **more):
        return {"name": name, "file": f"/var/lib/bloomwall/{name}.bwf", "action": "block", "exceptions": "allowed", "entries": 587_502, "delta_entries": 1174,
                "bytes": 2_726_400, "created": moment(-40_000), "sequence": 311, "lost": False, "fallback": None, "rebuild_due": False,
                "predicted_error": {"unlisted_host": 9.2e-7, "listed_host": 3.1e-4}, "age_seconds": 40_000, "generation": 7, **more}
    return items([one("malware", exceptions="refused"), one("ads", entries=1_302_884, bytes=6_100_000, rebuild_due=True),
                  one("games", action="monitor", lost=True, created=moment(-4_000_000),
                      fallback={"why": ["/var/lib/bloomwall/games.bwf: section H is damaged within bytes 4096 to 8191; fetch or build the file again"]})])


def lists():
    def source(url, **more):
        return {"url": url, "result": "updated", "guard": None, "message": None, "checked": moment(-3000), "succeeded": moment(-3000), "changed": moment(-3000),
                "due": moment(80_000), "entries": 587_502, "rules": 590_001, "unusable": 12, "loss": "12 of 590001 rules are not taken (0.0 %): 12 cosmetic rule (line 9: ##.ad)", "bytes": 14_480_311, "sha256": "ab" * 32, "copy": "ads-1.zst", "failures": 0,
                "counts": {"updated": 12, "unchanged": 190, "failed": 1, "refused": 0}, **more}

    def one(name, sources, **more):
        return {"filter": name, "file": f"/var/lib/bloomwall/{name}.bwf", "result": "built", "guard": None, "message": None, "built": moment(-3000), "stale": False,
                "entries": 1_302_884, "exceptions": 0, "bytes": 6_100_000, "sequence": 311, "seconds": 9.1, "forced": None, "forced_by": None, "sources": sources, **more}
    found = items([one("ads", [source("https://lists.example.org/ads.txt"), source("https://other.example.net/hosts", result="failed", message="429 Too Many Requests " + HOSTILE,
                                                                                  succeeded=moment(-200_000))]),
                   one("games", [source("https://lists.example.org/games.txt", result="refused", guard="shrink", message="51 % fewer entries than before")],
                       result="refused", guard="shrink", message="https://lists.example.org/games.txt: 51 % fewer entries than before", stale=True)])
    return {**found, "intermediates": None}


def clients():
    def client(address, ago, **more):
        return {"client": address, "device": None, "device_group": None, "user": None, "group": "pupils", "requests": 1200, "blocked": 31,
                "first": moment(-80_000), "last": moment(-ago), **more}

    return {**items([client("10.2.3.4", 3, device="Anna's tablet", device_group="pupils"), client("10.1.0.9", 70, user="bob", group="staff"),
                     client("fd00::23", 900, group=None, blocked=0), client("10.2.3.5", 4000, device=HOSTILE, user=HOSTILE, group=HOSTILE)]),
            "since": moment(-432_000), "clients": "full"}


def audit():
    rows = [{"id": 40 - i, "at": moment(-900 * i - 60), "who": "token anna", "via": "page", "what": "exception.made", "subject": f"host{i}.example.com", "before": None,
             "after": exception(i), "why": "wrongly blocked", "report": None} for i in range(6)]
    return items([*rows, {**rows[0], "id": 2, "via": "socket", "who": "root", "subject": HOSTILE, "why": HOSTILE, "what": "report.rejected", "report": 2}])


def edits(**more):
    own = {"file": "/etc/bloomwall/conf.d/edits.yaml", "editable": True}
    return {"enabled": True, "reason": None, "folder": "/etc/bloomwall/conf.d", "filters": ["ads", "games"],
            "devices": [{"name": "Anna's tablet", "addresses": ["10.2.3.4", "fd00::17"], "group": "pupils", **own}, {"name": HOSTILE, "addresses": ["10.2.3.9"], "group": None, **own}],
            "groups": [{"name": "staff", "clients": ["10.1.0.0/16"], "filters": None, "otherwise": None, "safe_search": None,
                        "file": "/etc/bloomwall/bloomwall.yaml", "editable": False},
                       {"name": "pupils", "clients": "devices", "filters": {"games": {"lessons": "block", "otherwise": "off"}}, "otherwise": {"lessons": "deny"},
                        "safe_search": ["google"], **own}],
            "schedules": [{"name": "lessons", "times": ["mon-fri 08:00-12:30", "sat 09:00-10:00"], "except": ["holidays"], "time_zone": None, **own}],
            "lists": [{"name": name, "category": "ads", "entries": 210_000, "licence": "GPL-3.0", "homepage": "https://lists.example.com/", "state": state, "why": why,
                       "editable": state == "added"} for name, state, why in (("hagezi-pro", "added", None), ("hagezi-nsfw", "none", "not added: its filter could not be built"),
                                                                              ("ut1-games", "wanted", None))], **more}


ANSWERS = {
    "/status": lambda query: {"version": "0.1.0", "pid": 1, "phase": "serving", "generation": 7, "fallbacks": "", "configuration": "/etc/bloomwall/bloomwall.yaml", "filters": 3,
                              "exceptions": 4, "tokens": 2, "state": {"usable": True, "kept": True}, "started": moment(-432_000), "on_disk": {"differs": False, "refused": None},
                              "query_log": {"record": "all", "clients": "full", "written": 48_000_000, "dropped": 0, "bytes": 1_400_000_000}},
    "/counters": lambda query: counters(),
    "/history": lambda query: history(query.get("span", "1h")),
    "/tops": lambda query: tops(query.get("span", "1h")),
    "/clients": lambda query: clients(),
    "/requests": requests,
    "/reports": reports,
    "/exceptions": lambda query: exceptions(),
    "/groups": lambda query: groups(),
    "/edits": lambda query: edits(),
    "/filters": lambda query: filters(),
    "/lists": lambda query: lists(),
    "/reloads": lambda query: items([{"at": moment(-3000), "ok": True, "reasons": [], "lines": ["reloaded: generation 7"], "warnings": ["filters[1]: a rebuild is due"], "alarms": []},
                                     {"at": moment(-90_000), "ok": False, "reasons": ["syntax"], "lines": ["filters[0].file: /var/lib/bloomwall/ads.bwf: bad_checksum", HOSTILE], "warnings": [], "alarms": []}]),
    "/tokens": lambda query: items([{"name": "anna", "groups": ["pupils"], "role": "reviewer", "created": moment(-90_000), "until": moment(7_000_000)},
                                    {"name": "ci", "groups": ["build"], "role": None, "created": moment(-90_000), "until": None}]),
    "/audit": lambda query: audit(),
    "/explain": lambda query: {"url": query.get("url", ""), "canonical": "https://docs.example.net/handbook", "verdict": "blocked", "reason": "listed", "filter": "games",
                               "expression": "S docs.example.net", "exception": None, "group": "pupils", "access": "allowed", "dialled_as": None, "user": None, "at": moment(0),
                               "group_index": 0, "schedules": [], "actions": {"games": "block"},
                               "valid_until": moment(5400), "under": [],
                               "tunnel": {"verdict": "blocked", "reason": "listed", "filter": "games", "expression": "S docs.example.net", "exception": None}},
    "/why": lambda query: {"url": query.get("url", ""), "errors": [], "not_taken": [], "under": [], "filters": [
        {"filter": "games", "action": "block", "expressions": ["S docs.example.net"], "freed_by": [], "source": "list", "searched": 2, "lines": [
            {"list": "/var/lib/bloomwall/lists/games.txt.zst", "line": 81_442, "text": "0.0.0.0 docs.example.net"}, {"list": "games.txt", "line": 7, "text": HOSTILE}]}]},
}


class Site:
    """`without`: paths that it does not know, as an older proxy. `role`: whose session there is from the start, `groups`: for which
    alone it reviews. `answers`: instead of ANSWERS, by path. `passwords`: whether anybody signs in by one. Where `is_silent` is set,
    nothing is answered for as long."""

    def __init__(self, role="admin", without=(), port=0, groups=(), answers=None, passwords=True):
        self.if_match, self.outdated = [], set()  # of edits
        self.role, self.without, self.changes, self.groups, self.passwords = role, set(without), [], list(groups), passwords
        self.answers, self.is_silent = {**ANSWERS, **(answers or {})}, False
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), self.handler())
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def handler(self):
        site = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args):
                pass

            def answer(self, status, kind, body, **more):
                self.send_response(status)
                for name, value in {"Content-Type": kind, "Content-Length": len(body), "Cache-Control": "no-store", "Content-Security-Policy": POLICY, **more}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def json(self, value, status=200):
                self.answer(status, "application/json" if status < 400 else "application/problem+json", json.dumps(value).encode())

            def do_GET(self):
                target = urllib.parse.urlsplit(self.path)
                query = dict(urllib.parse.parse_qsl(target.query))
                path = target.path.removeprefix("/api/v1")
                if target.path == "/":
                    page = (ROOT / "dashboard/index.html").read_text().replace("@digest@", "source")
                    return self.answer(200, "text/html; charset=utf-8", page.encode())
                if target.path.startswith("/page/source/"):
                    file = ROOT / "dashboard" / target.path.removeprefix("/page/source/")
                    return self.answer(200, TYPES[file.suffix] + "; charset=utf-8", file.read_bytes())
                if site.is_silent:
                    self.close_connection = True
                    return None
                if path == "/session":
                    return self.json({"who": "token anna" if site.role else None, "role": site.role, "groups": site.groups, "passwords": site.passwords})
                if site.role is None:
                    return self.json({"title": "Nobody known asks", "status": 401, "detail": ""}, 401)
                if path in site.without or (path != "/stream" and path not in site.answers):
                    return self.answer(404, "text/plain", b"no such path\n")
                return self.stream() if path == "/stream" else self.json(site.answers[path](query))

            def stream(self):
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Connection", "close")
                self.end_headers()
                rows = [*requests({})["items"]]
                try:
                    for i in range(1000):
                        event = {**rows[i % len(rows)], "id": f"{i:016d}", "at": moment(0)}
                        self.wfile.write(f"event: request\ndata: {json.dumps(event)}\n\n".encode())
                        self.wfile.flush()
                        if i > 30:
                            time.sleep(0.5)  # as requests come
                    self.wfile.write(b'event: skipped\ndata: {"requests": 12}\n\n')
                except OSError:
                    pass  # the browser has gone

            def change(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                path = self.path.removeprefix("/api/v1")
                site.changes.append((self.command, path, json.loads(body) if body else None))
                if site.role is None and path != "/session":
                    return self.json({"title": "Nobody known asks", "status": 401, "detail": ""}, 401)
                if path == "/session":
                    site.role = "admin" if self.command == "POST" else None
                    return self.json({"who": "token anna", "role": "admin"})
                if path == "/exceptions":
                    return self.json({"item": {**exception(9), "created": moment(0), **json.loads(body)}, "warnings": []}, 201)
                if self.command == "DELETE" and path.startswith("/exceptions/"):
                    return self.json({"item": exception(9)})
                if path == "/tokens":
                    return self.json({"token": "bw_" + "a1b2c3d4" * 4, "item": ANSWERS["/tokens"]({})["items"][0], "warnings": []}, 201)
                if path.endswith("/accept"):
                    return self.json({"item": report(3), "exception": exception(9), "warnings": []})
                if path == "/update":
                    return self.json({"filters": [], "force": False}, 202)
                if path == "/reload":
                    return self.answer(200, "application/x-ndjson", b'{"line":"reloaded"}\n{"exit_status":0}\n')
                if path.startswith("/edits/"):
                    site.if_match.append(self.headers.get("If-Match"))
                    if site.if_match[-1] in site.outdated:
                        return self.json({"title": "It has changed", "status": 412, "detail": "somebody has changed it since: ask for it again"}, 412)
                    undo = {"method": "PUT", "path": path, "if_match": '"behind"', "body": {"times": ["mon-fri 08:00-12:30"]}}
                    return self.json({"item": json.loads(body) if body else {}, "file": "/etc/bloomwall/conf.d/edits.yaml", "warnings": [], "undo": undo})
                if "/switches/" in path:
                    return self.json({"item": groups()["items"][1]["switches"][0], "warnings": []})
                return self.json({"title": "Not understood", "status": 400, "detail": "this is made up"}, 400)

            do_POST = do_PUT = do_DELETE = change

        return Handler


def main():
    site = Site(port=int(sys.argv[1]))
    print(site.url)
    threading.Event().wait()


if __name__ == "__main__":
    main()
