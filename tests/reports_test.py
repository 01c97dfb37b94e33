#!/usr/bin/env python3
"""Reports of mistakes through the real program: from the form on the block page to what a reviewer, a build of the list,
a kill and a changed clock make of them.

Usage: reports_test.py BUILD_DIR [unittest arguments].
SPDX-License-Identifier: Apache-2.0
"""
import base64
import html
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
import unittest
import urllib.parse

from browsers import Chromium
from interception_site import BUILD, SANITIZED, WAIT, Authority, Client, main, run, until
from reports_site import SELF, Answer, Site

NASTY = "<script>alert(1)</script> \"q\" \x1b[31mred\x07 \u202egnp.exe\u202c \x9b2J it is a shop"
PLAIN = "<script>alert(1)</script> \"q\" [31mred gnp.exe 2J it is a shop"


class Reports(Site):
    def test_a_report_is_stored_and_shown_everywhere(self):  # REP-001
        proxy = self.proxy()
        page = proxy.get("/a?b=1", client="127.0.0.2")
        self.assertEqual(page.form()[0], SELF + "/report")
        self.assertIn(f"form-action {SELF};", page.fields["content-security-policy"])
        self.assertNotIn("set-cookie", page.fields)
        decision = re.search(r"<dt>Decision</dt><dd><code>(\w+)</code>", page.text)[1]
        body = urllib.parse.urlencode({"ticket": page.form()[1], "comment": "it is a shop"}).encode()
        answer = proxy.ask("POST", page.form()[0], body, client="127.0.0.2")
        self.assertEqual(answer.status, 201, answer.text)
        self.assertNotIn("set-cookie", answer.fields)
        [item] = proxy.reports()
        wanted = {"id": 1, "state": "open", "url": f"http://shop.test:{self.origin.port}/a?b=1", "host": "shop.test",
                  "filter": "ads", "reason": "listed", "expression": "S shop.test", "group": "pupils",
                  "client": "127.0.0.2", "user": None, "decision": decision, "comment": "it is a shop", "count": 1,
                  "opens": "shop.test", "insists": False}
        self.assertEqual({name: item[name] for name in wanted}, wanted)
        token = proxy.command("token", "add", "anna", "--role", "reviewer", "--for", "1h").strip()
        self.assertEqual(proxy.api("GET", "/reports", token), (200, {"items": [item], "next": None}))
        self.assertIn("1\topen\t1\t", proxy.command("reports"))
        link = html.unescape(re.search(r'href="([^"]+)"', answer.text)[1])
        self.assertTrue(link.startswith(SELF + "/report/1-"), link)
        self.assertIn("Your report waits", proxy.ask("GET", link, client="127.0.0.9").text)
        for other in (SELF + "/report/1", link[:-1] + ("0" if link[-1] != "0" else "1"), link.replace("/1-", "/2-")):
            self.assertEqual(proxy.ask("GET", other).status, 404, other)
        proxy.command("report", "reject", "1", "--why", "It is <b>no</b> shop")
        self.assertIn("It is &lt;b&gt;no&lt;/b&gt; shop", proxy.ask("GET", link).text)
        self.assertEqual(proxy.reports(), [])
        self.assertEqual([item["state"] for item in proxy.reports("--all")], ["rejected"])
        rows = [(row["what"], row["who"], row["via"], row["report"]) for row in proxy.audit() if row["report"]]
        self.assertEqual(rows, [("report.rejected", "root" if os.geteuid() == 0 else f"uid {os.geteuid()}", "socket", 1),
                                ("report.made", "client 127.0.0.2", "form", 1)])
        self.assertEqual(proxy.end(), 0)

    def test_forged_tickets_and_those_of_others_store_nothing(self):  # REP-002
        proxy = self.proxy()
        ticket = proxy.get(client="127.0.0.2").form()[1]
        forged = ("A" if ticket[40] != "A" else "B").join((ticket[:40], ticket[41:]))
        for bad in (forged, ticket[:-6], "AAAA", ticket + "A"):
            self.assertEqual(proxy.report(client="127.0.0.2", ticket=bad).status, 403, bad)
        fields = "X-Forwarded-For: 127.0.0.2\r\nX-Real-IP: 127.0.0.2\r\nForwarded: for=127.0.0.2\r\nClient-IP: 127.0.0.2\r\n"
        self.assertEqual(proxy.report(client="127.0.0.3", ticket=ticket).status, 403)
        self.assertEqual(proxy.report(client="127.0.0.3", ticket=ticket, fields=fields).status, 403)
        for body in (b"", b"ticket=", b"comment=x", b"ticket=%zz", b"ticket=a&ticket=b", b"ticket=" + b"a" * 33000):
            self.assertIn(proxy.ask("POST", SELF + "/report", body).status, (400, 413), body[:30])
        for fields in ("Content-Type: text/plain\r\n", "Content-Type: multipart/form-data; boundary=x\r\n", "X-Content-Type: none\r\n",
                       "Content-Type: application/x-www-form-urlencoded\r\nContent-Type: text/plain\r\n",
                       "Content-Type: application/x-www-form-urlencoded\r\nContent-Encoding: gzip\r\n"):
            self.assertEqual(proxy.report(client="127.0.0.2", fields=fields).status, 415, fields)
        fields = "Sec-Fetch-Mode: cors\r\n"
        self.assertEqual(proxy.report(client="127.0.0.2", fields=fields).status, 403, "a script has sent it")
        self.assertIsNone(proxy.get(fields="Accept: text/html\r\nSec-Fetch-Dest: empty\r\n").form())
        self.assertEqual(proxy.reports("--all"), [])
        self.assertEqual(proxy.metric('reports_total{result="forged"}'), 6)
        self.assertEqual(proxy.report(client="127.0.0.2", ticket=ticket, fields="X-Forwarded-For: 1.2.3.4\r\n").status, 201)
        self.assertEqual(proxy.reports()[0]["client"], "127.0.0.2")

    @unittest.skipIf(SANITIZED, "a sanitizer comes before every other library")
    def test_tickets_outlive_a_restart_but_no_day(self):  # REP-002
        proxy = self.proxy(clock=0)
        ticket = proxy.get().form()[1]
        for hours, status in ((23, 201), (-23, 201), (25, 403), (-25, 403)):
            proxy.end()
            proxy.start(hours * 3600)
            self.assertEqual(proxy.report(ticket=ticket).status, status, hours)
        self.assertEqual(proxy.reports()[0]["count"], 2)
        self.assertEqual(proxy.metric('reports_total{result="late"}'), 1)

    def test_what_strangers_type_is_inert(self):  # REP-003
        proxy = self.proxy()
        page = proxy.ask("GET", f"http://shop.test:{self.origin.port}/%3Cscript%3E?'<b>")
        self.assertEqual(page.status, 403)
        body = urllib.parse.urlencode({"ticket": page.form()[1], "comment": NASTY, "name": NASTY[:80]}).encode()
        answer = proxy.ask("POST", page.form()[0], body)
        self.assertEqual(answer.status, 201, answer.text)
        [item] = proxy.reports()
        self.assertEqual(item["comment"], PLAIN)
        self.assertEqual(item["url"], f"http://shop.test:{self.origin.port}/%3Cscript%3E?%27%3Cb%3E")
        long = proxy.report("/long", comment="ä" * 700)
        self.assertEqual(long.status, 201)
        self.assertEqual(proxy.reports()[0]["comment"], "ä" * 500)
        said = "".join(proxy.command(*words) for words in (["reports"], ["reports", "--json"], ["audit"], ["audit", "--json"]))
        for octet in ("\x1b", "\x07", "\x9b", "\u202e"):
            self.assertNotIn(octet, said)
            self.assertNotIn(octet, proxy.sent.read_text())
        proxy.command("report", "accept", "1", "--scope", "all", "--why", NASTY)
        link = html.unescape(re.search(r'href="([^"]+)"', answer.text)[1])
        shown = proxy.ask("GET", link).text
        self.assertNotIn("<script", shown)
        self.assertIn(html.escape(PLAIN, quote=False).split("\"")[0], shown)

    @unittest.skipUnless(shutil.which("chromium") and shutil.which("certutil"), "no chromium")
    def test_a_browser_sends_the_form_and_runs_nothing_of_it(self):  # REP-003
        proxy = self.proxy()
        browser = Chromium(self.folder / "chromium", proxy.port)
        self.addCleanup(browser.close)

        def shows(text):
            return until(lambda: text in (browser.evaluate("document.body && document.body.innerText") or ""), 60)

        self.assertEqual(browser.go(f"http://shop.test:{self.origin.port}/a").status, 403)
        browser.evaluate(f"document.querySelector('textarea').value = {json.dumps(NASTY)}")
        browser.evaluate("document.querySelector('form button').click()")
        shows("your report was taken")
        self.assertEqual(proxy.reports()[0]["comment"], PLAIN)
        browser.evaluate("document.querySelector('a').click()")
        shows("Your report waits")
        proxy.command("report", "reject", "1", "--why", NASTY)
        browser.evaluate("location.reload()")
        shows(PLAIN)
        self.assertEqual(browser.evaluate("document.scripts.length"), 0)

    def test_the_same_page_is_one_report_and_the_sixth_is_too_many(self):  # REP-004
        proxy = self.proxy()
        self.assertEqual([proxy.report("/same").status for _ in range(2)], [201, 201])
        self.assertEqual([proxy.report(f"/{i}").status for i in range(3)], [201, 201, 201])
        sixth = proxy.report("/same")
        self.assertEqual(sixth.status, 429)
        self.assertGreater(int(sixth.fields["retry-after"]), 3500)
        self.assertEqual(proxy.report(client="127.0.0.2").status, 201, "another client")
        self.assertEqual([item["count"] for item in reversed(proxy.reports())], [2, 1, 1, 1, 1])
        for i in range(60 - 6):
            self.assertEqual(proxy.report(f"/x{i}", client=f"127.0.1.{i // 5}").status, 201, i)
        self.assertEqual(proxy.report("/y", client="127.0.2.1").status, 429, "60 of all")
        self.assertEqual(proxy.metric("reports_open"), 59)
        self.assertEqual(proxy.metric('reports_total{result="limited"}'), 2)
        self.assertGreaterEqual(proxy.metric("report_oldest_seconds"), 0)

    def test_accepting_opens_the_page_and_outlives_a_kill(self):  # REP-005
        proxy = self.proxy()
        self.assertEqual(proxy.report(client="127.0.0.2").status, 201)
        said = proxy.command("report", "accept", "1", "--until-build", "--why", "You were right")
        self.assertEqual(proxy.get(client="127.0.0.2").status, 200, "as soon as the command returns")
        self.assertEqual(proxy.get(client="127.0.0.3").status, 403, "for its group")
        self.assertIn("allow S shop.test", said)
        rows = {row["what"]: row for row in proxy.audit()}
        self.assertEqual([rows[what]["report"] for what in ("report.made", "report.accepted", "exception.made")], [1, 1, 1])
        self.assertEqual(rows["exception.made"]["after"]["filters"], ["ads"])
        proxy.command("report", "accept", "1", status=1)
        proxy.command("report", "reject", "1", status=1)
        self.assertIn("there is no report of this number", proxy.command("report", "reject", "7", status=1))
        proxy.end(signal.SIGKILL)
        proxy.start()
        self.assertEqual(proxy.get(client="127.0.0.2").status, 200)
        [item] = proxy.reports("--all")
        self.assertEqual((item["state"], item["words"], item["exception"]), ("accepted", "You were right", 1))
        self.assertEqual(proxy.metric("reports_open"), 0)

    def test_accepting_is_for_whom_and_how_long_as_asked(self):
        proxy = self.proxy()
        for i, (client, scope) in enumerate((("127.0.0.2", "client"), ("127.0.0.3", "all")), 1):
            self.assertEqual(proxy.report(f"/{i}", client=client).status, 201)
            self.assertEqual(proxy.get(client="127.0.0.9").status, 403)
            proxy.command("report", "accept", str(i), "--scope", scope, "--for", "2s" if scope == "all" else "1d")
        self.assertEqual(proxy.get(client="127.0.0.9").status, 200)
        until(lambda: proxy.get(client="127.0.0.9").status == 403)
        self.assertEqual(proxy.get(client="127.0.0.2").status, 200)
        self.assertEqual(proxy.report("/", host="evil.test").status, 201)
        self.assertIn("takes no exceptions", proxy.command("report", "accept", "3", status=1))
        self.assertEqual(proxy.reports()[0]["state"], "open", "nothing was decided")
        self.assertEqual(proxy.report("/blocked/a", host="paths.test", client="127.0.0.4").status, 201)
        for other in ("shop.test", "http://shop.test/blocked/a", "a.paths.test", "ths.test"):
            self.assertIn("does not open a page of paths.test", proxy.command("report", "accept", "4", "--entry", other, status=1))
        proxy.command("report", "accept", "4", "--entry", "http://paths.test/blocked/a")
        self.assertEqual(proxy.get("/blocked/a", host="paths.test").status, 200)
        self.assertEqual(proxy.get("/blocked/b", host="paths.test").status, 403)
        proxy.command("deny", "denied.test", "--why", "x")
        self.assertEqual(proxy.report(host="denied.test").status, 201)
        self.assertEqual([proxy.reports()[0][name] for name in ("filter", "reason")], [None, "denied"])
        self.assertIn("no filter has blocked it", proxy.command("report", "accept", "5", "--until-build", status=1))
        proxy.command("report", "accept", "5")
        self.assertEqual(proxy.get(host="denied.test").status, 200)
        self.assertIsNotNone(next(item for item in proxy.reports("--all") if item["id"] == 5)["until"], "for a day")

    def test_accepting_opens_the_page_also_where_the_rest_is_stopped(self):
        """There an exception against the filter alone would open nothing. A switch counts as well."""
        proxy = self.proxy("otherwise: deny")
        for number, (client, group) in enumerate((("127.0.0.2", "pupils"), ("127.0.0.3", "staff")), 1):
            if group == "staff":
                proxy.command("switch", "staff", "otherwise=allow", "--for", "1h")
            self.assertEqual(proxy.report(client=client).status, 201)
            self.assertEqual(proxy.reports()[0]["filter"], "ads")
            proxy.command("report", "accept", str(number))
            self.assertEqual(proxy.get(client=client).status, 200, group)
        rows = {item["id"]: (item["filters"], item["until_build"]) for item in json.loads(proxy.command("exceptions", "--json"))["items"]}
        self.assertEqual(rows, {1: ([], False), 2: (["ads"], True)})
        self.assertEqual(proxy.get(host="other.test", client="127.0.0.2").status, 403)

    def test_accepting_is_against_every_filter_that_stops_the_page(self):
        proxy = self.proxy()
        self.build("games", "shop.test")
        self.build("malware", "evil.test", "other.test")
        proxy.file.write_text(proxy.file.read_text().replace("{name: malware", "{name: games, file: games.bwf}, {name: malware"))
        proxy.command("reload")
        for host in ("shop.test", "other.test"):
            self.assertEqual(proxy.report(host=host, client="127.0.0.2").status, 201)
            self.assertEqual(proxy.reports()[0]["filter"], "ads")
        proxy.command("report", "accept", "1")
        self.assertEqual(proxy.get(client="127.0.0.2").status, 200)
        [item] = json.loads(proxy.command("exceptions", "--json"))["items"]
        self.assertEqual((item["filters"], item["until_build"], sorted(item["seen"])), (["ads", "games"], True, ["ads", "games"]))
        self.assertIn("malware takes no exceptions", proxy.command("report", "accept", "2", status=1))
        self.build("games", "none.test")
        proxy.command("reload")
        self.assertEqual(proxy.get(client="127.0.0.2").status, 200, "ads lists it still")

    def test_a_build_without_the_entry_cures_and_one_with_it_insists(self):  # REP-006
        proxy = self.proxy()
        for host in ("shop.test", "other.test"):
            self.assertEqual(proxy.report(host=host, client="127.0.0.2").status, 201)
        for number in ("1", "2"):
            proxy.command("report", "accept", number)
        for build in range(3):
            self.build("ads", "other.test", "paths.test/blocked/", f"more{build}.test")
            proxy.command("reload")
            until(lambda: len(proxy.command("exceptions").splitlines()) == 1)
        self.assertEqual(proxy.get(host="other.test", client="127.0.0.2").status, 200)
        items = until(lambda: (lambda all: all[0]["insists"] and all)(proxy.reports("--all")))
        self.assertEqual([(item["id"], item["state"]) for item in items], [(2, "accepted"), (1, "cured")])
        self.assertIn("the list insists", proxy.command("reports", "--all"))
        cured = [(row["what"], row["report"]) for row in proxy.audit() if row["what"].endswith("cured")]
        self.assertEqual(cured, [("exception.cured", 1), ("report.cured", 1)])

    def test_a_name_that_leads_to_a_listed_network_stays_open_while_that_is_listed(self):
        self.build("ads", "127.0.0.0/24", "198.51.100.0/24")
        self.build("games", "127.0.0.0/30", "198.51.100.7")
        proxy = self.proxy()
        proxy.file.write_text(proxy.file.read_text().replace("{name: malware", "{name: games, file: games.bwf}, {name: malware"))
        proxy.command("reload")
        self.assertEqual(proxy.report(client="127.0.0.2").status, 201)
        self.assertEqual(proxy.reports()[0]["expression"], "N 127.0.0.0/24")
        proxy.command("report", "accept", "1")
        [item] = json.loads(proxy.command("exceptions", "--json"))["items"]
        self.assertEqual((item["entry"], item["filters"], item["until_build"]), ("shop.test", ["ads", "games"], True))
        said = proxy.command("allow", "other.test", "--until-build", "--why", "x", warnings=True)
        self.assertIn("no filter lists it by itself", said)
        self.assertNotIn("no filter lists", proxy.command("allow", "127.0.0.1", "--until-build", "--why", "x", warnings=True))
        proxy.command("exceptions", "remove", str(item["id"] + 2))
        for build in range(3):
            self.assertEqual(proxy.get(client="127.0.0.2").status, 200, build)
            self.build("ads", "127.0.0.0/24", f"203.0.113.{build}")
            proxy.command("reload")
        self.assertEqual(proxy.get(client="127.0.0.2").status, 200, "it is listed still")
        until(lambda: proxy.reports("--all")[0]["insists"])
        self.assertEqual(proxy.get(host="other.test", client="127.0.0.2").status, 403)
        self.build("ads", "203.0.113.0/24")
        self.build("games", "203.0.113.0/24")
        proxy.command("reload")
        until(lambda: proxy.reports("--all")[0]["state"] == "cured")
        self.assertEqual(json.loads(proxy.command("exceptions", "--json"))["items"], [])

    def test_a_reviewer_of_a_group_decides_for_that_group_alone(self):  # REP-008
        proxy = self.proxy()
        token = proxy.command("token", "add", "teacher", "--role", "reviewer", "--group", "pupils", "--for", "1h").strip()
        for client in ("127.0.0.2", "127.0.0.3", "127.0.0.9"):
            self.assertEqual(proxy.report(client=client).status, 201)
        self.assertEqual([item["id"] for item in proxy.api("GET", "/reports", token)[1]["items"]], [1])
        for number, body in ((1, {"scope": "all"}), (1, {"group": "staff"}), (1, {"scope": "group", "group": "staff"}),
                             (2, {}), (2, {"group": "pupils"}), (3, {"scope": "client"})):
            self.assertEqual(proxy.api("POST", f"/reports/{number}/accept", token, body)[0], 403, (number, body))
        for wrong in ({"scope": ["group"]}, {"scope": 1}, {"group": ["pupils"]}, {"entry": ["shop.test"]}, {"scope": ""}):
            self.assertEqual(proxy.api("POST", "/reports/1/accept", token, wrong)[0], 400, wrong)
        for number in (2, 3):
            self.assertEqual(proxy.api("POST", f"/reports/{number}/reject", token, {})[0], 403)
        made = {"action": "allow", "entry": "shop.test", "why": "x"}
        for body in (made, {**made, "group": "staff"}, {**made, "client": "127.0.0.2"}):
            self.assertEqual(proxy.api("POST", "/exceptions", token, body)[0], 403, body)
        switch = {"until": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 600))}
        self.assertEqual(proxy.api("PUT", "/groups/staff/switches/pause", token, switch)[0], 403)
        self.assertEqual(proxy.api("DELETE", "/groups/staff/switches/pause", token)[0], 403)
        self.assertEqual({proxy.get(client=client).status for client in ("127.0.0.2", "127.0.0.3", "127.0.0.9")}, {403})
        self.assertEqual([item["state"] for item in proxy.reports("--all")], ["open"] * 3)

        self.assertEqual(proxy.api("POST", "/reports/1/accept", token, {"words": "for the lesson"})[0], 200)
        self.assertEqual([proxy.get(client=client).status for client in ("127.0.0.2", "127.0.0.3")], [200, 403])
        status, answer = proxy.api("POST", "/exceptions", token, {**made, "entry": "other.test", "group": "pupils"})
        self.assertEqual(status, 201)
        proxy.command("deny", "some.test", "--why", "for all")
        self.assertEqual(proxy.api("DELETE", "/exceptions/3", token)[0], 403)
        self.assertEqual(proxy.api("DELETE", f"/exceptions/{answer['item']['id']}", token)[0], 200)
        self.assertEqual(proxy.api("PUT", "/groups/pupils/switches/pause", token, switch)[0], 200)
        self.assertEqual(proxy.api("DELETE", "/groups/pupils/switches/pause", token)[0], 200)

    def test_reports_that_come_while_it_is_decided_are_not_lost(self):
        proxy = self.proxy()
        self.assertEqual(proxy.report("/race", client="127.0.1.100").status, 201)
        statuses, start = [], threading.Event()

        def send(client):
            page = proxy.get("/race", client=client)
            start.wait(WAIT)
            body = urllib.parse.urlencode({"ticket": page.form()[1], "comment": client}).encode()
            statuses.append(proxy.ask("POST", page.form()[0], body, client=client).status)

        senders = [threading.Thread(target=send, args=(f"127.0.1.{i}",)) for i in range(20)]
        for sender in senders:
            sender.start()
        start.set()
        proxy.command("report", "reject", "1")
        for sender in senders:
            sender.join(WAIT)
        items = proxy.reports("--all")
        self.assertEqual(statuses, [201] * 20)
        self.assertEqual(sum(item["count"] for item in items), 21)
        self.assertEqual([item["state"] for item in items].count("rejected"), 1)
        self.assertLessEqual(len(items), 2, "one more is open at most")

    def test_a_form_may_come_in_any_pieces(self):
        proxy = self.proxy()
        form = urllib.parse.urlencode({"ticket": proxy.get().form()[1], "comment": "pieces"}).encode()
        head = (b"POST http://bloomwall.internal/report HTTP/1.1\r\nHost: bloomwall.internal\r\n"
                b"Content-Type: application/x-www-form-urlencoded\r\n")

        def connect():
            return socket.create_connection(("127.0.0.1", proxy.port), timeout=WAIT)

        def all_of(client):
            text = b""
            while piece := client.recv(65536):
                text += piece
            return text.decode(errors="replace")

        with connect() as client:  # by octets, and the next request behind it
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            client.sendall(head + b"Transfer-Encoding: chunked\r\n\r\n")
            for octet in form:
                client.sendall(b"1\r\n" + bytes([octet]) + b"\r\n")
            client.sendall(b"0\r\n\r\nGET http://bloomwall.internal/ HTTP/1.1\r\nHost: bloomwall.internal\r\nConnection: close\r\n\r\n")
            text = all_of(client)
        self.assertEqual(re.findall(r"HTTP/1\.1 (\d+)", text), ["201", "200"])
        with connect() as client:  # too much of it, of no length that was told
            client.sendall(head + b"Transfer-Encoding: chunked\r\n\r\n" + 5 * (b"2000\r\n" + b"a" * 0x2000 + b"\r\n"))
            self.assertIn("HTTP/1.1 413", all_of(client))
        for reset in (False, True):  # the rest never comes
            client = connect()
            client.sendall(head + b"Content-Length: 500\r\n\r\nticket=")
            if reset:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            client.close()
        self.assertEqual([item["comment"] for item in proxy.reports()], ["pieces"])
        self.assertEqual(proxy.end(signal.SIGTERM), 0)

    def test_the_user_is_known_though_the_form_needs_no_login(self):
        secret = run("openssl", "passwd", "-6", "secret").stdout.strip()
        (self.folder / "users").write_text(f"anna:{secret}\n")
        proxy = self.proxy(more="authentication: {require: [127.0.0.4], users_file: users}\n")
        credentials = base64.b64encode(b"anna:secret").decode()
        page = proxy.get(client="127.0.0.4", fields=f"Accept: text/html\r\nProxy-Authorization: Basic {credentials}\r\n")
        body = urllib.parse.urlencode({"ticket": page.form()[1]}).encode()
        self.assertEqual(proxy.ask("POST", page.form()[0], body, client="127.0.0.4").status, 201)
        self.assertEqual(proxy.reports()[0]["user"], "anna")
        self.assertEqual(proxy.audit()[0]["who"], "user anna")
        self.assertIn("\tuser anna of default\t", proxy.command("reports"))

    def test_the_proxy_answers_for_its_own_name(self):
        proxy = self.proxy(more="authentication: {require: [127.0.0.4], users_file: null, basic_helper: {command: [/bin/false]}}\n")
        self.assertEqual(proxy.ask("GET", SELF + "/", client="127.0.0.4").status, 200, "no login is needed")
        self.assertEqual(proxy.get(client="127.0.0.4").status, 407)
        self.assertEqual(proxy.ask("GET", "http://BLOOMWALL.internal./report").status, 200)
        self.assertEqual(proxy.ask("GET", "/report").status, 200, "asked as a server")
        self.assertEqual(proxy.ask("GET", SELF + "/nothing").status, 404)
        self.assertEqual(proxy.ask("PUT", SELF + "/report").status, 405)
        self.assertEqual(proxy.ask("GET", SELF + "/report/1-00").status, 404)
        self.assertEqual(proxy.ask("CONNECT", "bloomwall.internal:443").status, 421)
        page = proxy.ask("GET", SELF + "/report", fields="Accept: application/json\r\n")
        self.assertEqual(json.loads(page.text)["report"], None)

    def test_there_is_no_form_where_nobody_would_keep_it(self):
        for name, how in (("off", {"more": "block_page: {reports: false}\n"}), ("memory", {"state": "null"}),
                          ("link", {"more": "block_page: {report_url: 'http://desk.test/?u={url}'}\n"})):
            proxy = self.proxy(name=name, **how)
            page = proxy.get()
            self.assertEqual((page.status, page.form()), (403, None), name)
            self.assertIn("form-action 'none'", page.fields["content-security-policy"])
            self.assertEqual(proxy.ask("POST", SELF + "/report", b"ticket=a").status, 404)
            page = proxy.ask("GET", SELF + "/", fields="Accept: text/html\r\n")
            self.assertEqual((page.status, page.form()), (200, None), name)
            self.assertIn("form-action 'none'", page.fields["content-security-policy"])
            proxy.end()

    def test_inside_tunnels_the_form_goes_to_the_origin_itself(self):
        proxy = self.proxy()
        client = Client(proxy, "paths.test", self.origin.port)
        self.assertEqual(client.status, 200)
        status, fields, body = client.ask("/blocked/a", more="Accept: text/html\r\n")
        page = Answer(b"HTTP/1.1 403 x\r\n\r\n" + body)
        action = f"http://paths.test:{self.origin.port}/.well-known/bloomwall/report"
        self.assertEqual((status, page.form()[0]), (403, action))
        self.assertIn("form-action 'self'", fields["content-security-policy"])
        form = urllib.parse.urlencode({"ticket": page.form()[1]})
        client.socket.sendall(f"POST /.well-known/bloomwall/report HTTP/1.1\r\nHost: paths.test:{self.origin.port}\r\n"
                              f"Content-Type: application/x-www-form-urlencoded\r\n"
                              f"Accept: text/html\r\nContent-Length: {len(form)}\r\n\r\n{form}".encode())
        status, _, body = client.answer()
        self.assertEqual(status, 201, body)
        self.assertIn(action + "/1-", body.decode())
        self.assertFalse([path for path, _ in self.origin.requests if "bloomwall" in path], "it has seen nothing of it")


    def test_why_says_source_and_line_or_that_there_is_none(self):  # LST-008
        proxy = self.proxy()
        lists = self.folder / "lists"
        before = proxy.file.read_text()
        proxy.file.write_text(before.replace("file: ads.bwf", "file: ads.bwf, sources_folder: lists"))
        self.assertIn(f"ads: sources_folder: there is no folder {lists}", proxy.command("check", warnings=True))
        proxy.file.write_text(before)
        lists.mkdir()
        url = "http://www.shop.test/a"
        self.assertIn("its lists are not kept here", proxy.command("why", url, status=1))
        said = proxy.command("why", url, str(self.folder / "ads.txt"))
        self.assertEqual(said, f"ads: S shop.test\n  {self.folder}/ads.txt:1: shop.test\n")
        self.assertIn("no filter lists it", proxy.command("why", "http://nobody.test/"))
        self.assertIn("no filter has the name adz", proxy.command("why", url, "--filter", "adz", status=1))
        (lists / "other.txt").write_text("another.test\n")
        self.assertIn("from other editions", proxy.command("why", url, str(lists / "other.txt"), status=1))
        proxy.file.write_text(proxy.file.read_text().replace("file: ads.bwf", "file: ads.bwf, sources_folder: lists"))
        proxy.command("reload")
        (lists / "evil\x1b[31m.txt").write_text("# \n a.test # \x1b]0;x\x07\nshop.test # \x1b[2J\n")
        answer = json.loads(proxy.command("why", url, "--json"))
        [ads] = answer["filters"]
        self.assertEqual((ads["filter"], ads["source"], ads["searched"]), ("ads", "list", 2))
        self.assertEqual([(line["line"], line["text"]) for line in ads["lines"]], [(3, "shop.test # \\x1B[2J")])
        self.assertNotIn("\x1b", proxy.command("why", url))
        (self.folder / "fresh.txt").write_text("fresh.test\n")
        run(BUILD / "bloomwall-filter", "update", self.folder / "ads.bwf", "--delta", self.folder / "ads.delta", "--add",
            self.folder / "fresh.txt")
        proxy.file.write_text(proxy.file.read_text().replace("file: ads.bwf", "file: ads.bwf, delta: ads.delta"))
        self.assertEqual(proxy.command("why", "http://fresh.test/"), "ads: S fresh.test\n  added by its delta\n")
        token = proxy.command("token", "add", "anna", "--role", "reviewer", "--for", "1h").strip()
        self.assertEqual(proxy.api("GET", "/why?url=http%3A%2F%2Fwww.shop.test%2Fa", token), (200, answer))

    def test_the_filters_own_error_goes_to_the_known_good(self):
        many = [f"h{i}.test" for i in range(4000)]
        self.build("ads", *many)
        run(BUILD / "bloomwall-filter", "build", "-q", "--fpr", "0.05", "-o", self.folder / "ads.bwf", self.folder / "ads.txt")
        query = subprocess.run([BUILD / "bloomwall-filter", "query", self.folder / "ads.bwf"], capture_output=True, text=True,
                               input="".join(f"http://false{i}.test/\n" for i in range(100_000)))
        false = [line.split("\t")[1] for line in query.stdout.splitlines() if line.startswith("listed")]
        self.assertTrue(false, "a filter with errors has been made at least once in 100,000")
        host = urllib.parse.urlsplit(false[0]).hostname
        lists = self.folder / "lists"
        lists.mkdir()
        shutil.copy(self.folder / "ads.txt", lists)
        proxy = self.proxy(more="")
        proxy.file.write_text(proxy.file.read_text().replace("file: ads.bwf", "file: ads.bwf, sources_folder: lists"))
        proxy.command("reload")
        self.assertIn("in no source: an error of the filter itself", proxy.command("why", false[0], status=1))
        self.assertEqual(proxy.report(host=host).status, 201)
        proxy.command("report", "accept", "1")
        known = self.folder / "state" / "known-good.txt"
        self.assertEqual(until(lambda: known.exists() and known.read_text()), f"http://{host}:{self.origin.port}/\n")
        self.build("ads", *many)
        run(BUILD / "bloomwall-filter", "build", "-q", "--fpr", "0.05", "--known-good", known, "-o", self.folder / "ads.bwf",
            self.folder / "ads.txt")
        proxy.command("reload")
        until(lambda: proxy.reports("--all")[0]["state"] == "cured")


class InsideTls(Site):
    """Where TLS is intercepted, the form of an https page goes to https, too."""

    def test_a_link_for_reports_has_no_query(self):
        run(BUILD / "bloomwall", "ca", "init", "--out", self.folder)
        Authority(self.folder)
        proxy = self.proxy(port=443, more="tls_inspection:\n  mode: blocked\n  ca: {certificate: ca.crt, key: ca.key}\n"
                           "  never: []\n  verify: {ca_file: oca.crt}\nblock_page: {report_url: 'http://desk.test/?u={url}'}\n")
        client = Client(proxy, "shop.test", 443).tls(self.folder / "ca.crt")
        _, _, body = client.ask("/a?kept=nowhere", host="shop.test", more="Accept: text/html\r\n")
        self.assertIn(b"https://shop.test/a?kept=nowhere<", body, "its reader knows what was asked for")
        self.assertIn(b'http://desk.test/?u=https%3A%2F%2Fshop.test%2Fa"', body)

    def test_the_form_goes_to_the_origin_itself(self):
        folder = self.folder
        run(BUILD / "bloomwall", "ca", "init", "--out", folder)
        Authority(folder)
        proxy = self.proxy(port=443, more="tls_inspection:\n  mode: blocked\n  ca: {certificate: ca.crt, key: ca.key}\n"
                      "  never: []\n  verify: {ca_file: oca.crt}\n"
                           "query_log: {record: all}\nblock_page: {contact: it@desk.test}\n")
        client = Client(proxy, "shop.test", 443).tls(folder / "ca.crt")
        status, fields, body = client.ask("/a?kept=nowhere", host="shop.test", more="Accept: text/html\r\nSec-Fetch-Dest: document\r\n")
        page = Answer(b"HTTP/1.1 403 x\r\n\r\n" + body)
        action = "https://shop.test/.well-known/bloomwall/report"
        self.assertEqual((status, page.form() and page.form()[0]), (403, action))
        self.assertIn("form-action 'self'", fields["content-security-policy"])
        form = urllib.parse.urlencode({"ticket": page.form()[1], "comment": "x"})
        client = Client(proxy, "shop.test", 443).tls(folder / "ca.crt")
        more = (f"Accept: text/html\r\nSec-Fetch-Mode: navigate\r\nContent-Type: application/x-www-form-urlencoded; charset=UTF-8\r\n"
                f"Content-Length: {len(form)}\r\n")
        client.socket.sendall(f"POST {action[len('https://shop.test'):]} HTTP/1.1\r\nHost: shop.test\r\n{more}\r\n{form}".encode())
        status, _, body = client.answer()
        self.assertEqual(status, 201, body)
        link = html.unescape(re.search(r'href="([^"]+)"', body.decode())[1])
        self.assertTrue(link.startswith(action + "/1-"), link)
        client = Client(proxy, "shop.test", 443).tls(folder / "ca.crt")
        status, _, body = client.ask(link[len("https://shop.test"):], host="shop.test")
        self.assertEqual(status, 200)
        self.assertEqual(proxy.reports()[0]["url"], "https://shop.test/a")
        home = proxy.ask("GET", SELF + "/", fields="Accept: text/html\r\n").text
        self.assertIn("https://shop.test/a<", home)
        until(lambda: "https://shop.test/a" in proxy.command("log", "--host", "shop.test"))
        kept = {str(file): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
        self.assertEqual({file.rsplit("/", 1)[1].split("-")[0] for file, text in kept.items() if b"https://shop.test/a" in text}, {"state.db"})
        kept |= {"home page": home.encode(), "audit": proxy.command("audit", "--json").encode()}
        self.assertEqual([where for where, text in kept.items() if b"kept=nowhere" in text], [])
        if not (shutil.which("chromium") and shutil.which("certutil")):
            return
        browser = Chromium(folder / "chromium", proxy.port, folder / "ca.crt")
        self.addCleanup(browser.close)
        self.assertEqual(browser.go("https://shop.test/b").status, 403)
        browser.evaluate("document.querySelector('form button').click()")
        until(lambda: "your report was taken" in (browser.evaluate("document.body && document.body.innerText") or ""), 60)
        self.assertEqual([item["url"] for item in proxy.reports()], ["https://shop.test/b", "https://shop.test/a"])


if __name__ == "__main__":
    main()
