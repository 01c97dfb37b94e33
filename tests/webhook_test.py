#!/usr/bin/env python3
"""reports.webhook through the real program: who is told of a report, what of one who does not answer, and that nobody waits for it.

Usage: webhook_test.py BUILD_DIR [unittest arguments].
SPDX-License-Identifier: Apache-2.0
"""
import http.server
import json
import threading
import time

from interception_site import main, until
from reports_site import Site

SECRET = "s3cr3t-of-the-hook"


class Hook:
    """A receiver that answers each POST with the next of `statuses`, the last one for ever; None: it does not answer."""

    def __init__(self, *statuses):
        hook = self
        self.got, self.paths, self.statuses, self.gate = [], [], list(statuses), threading.Event()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                hook.got.append((self.headers["Content-Type"], json.loads(body)))
                hook.paths.append(self.path)
                status = hook.statuses.pop(0) if len(hook.statuses) > 1 else hook.statuses[0]
                if status is None:
                    hook.gate.wait()
                    return
                self.send_response(status)
                if status in (301, 307):
                    self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def do_GET(self):
                hook.paths.append("GET " + self.path)
                self.send_error(404)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/{SECRET}"

    def close(self):
        self.gate.set()
        self.server.shutdown()
        self.server.server_close()


def lasting(report):
    """What a report says whenever it is asked for; it and its reporters are counted on."""
    out = {name: value for name, value in report.items() if name not in ("count", "last")}
    if "reporters" in report:
        out["reporters"] = [lasting(reporter) for reporter in report["reporters"]]
    return out


class Webhook(Site):
    def start(self, *statuses):
        hook = Hook(*statuses)
        self.addCleanup(hook.close)
        proxy = self.proxy(f"reports: {{webhook: '{hook.url}'}}\n", port=80)
        return proxy, hook

    @staticmethod
    def told(proxy, result):
        return proxy.metric(f'report_webhooks_total{{result="{result}"}}')

    def test_is_told_of_each_new_report(self):
        proxy, hook = self.start(200)
        self.assertEqual(proxy.report("/a").status, 201)
        self.assertEqual(proxy.report("/a", client="127.0.0.2").status, 201)
        self.assertEqual(proxy.report("/a").status, 201)  # the first again
        until(lambda: self.told(proxy, "sent") == 2)
        [first, second] = proxy.reports()[::-1]
        for (kind, told), kept in zip(hook.got, (first, second)):
            self.assertEqual((kind, told["event"]), ("application/json", "report"))
            wanted = lasting(told["report"])
            self.assertEqual(wanted, {name: lasting(kept)[name] for name in wanted})
        self.assertEqual(hook.paths, ["/" + SECRET] * 2)
        token = proxy.command("token", "add", "root", "--role", "admin", "--for", "1h").strip()
        status, shown = proxy.api("GET", "/config", token)
        self.assertEqual((status, shown["settings"]["reports"]["webhook"]), (200, "***"))
        self.assertNotIn(SECRET, proxy.sent.read_text())

    def test_one_that_fails_is_told_again(self):
        proxy, hook = self.start(503, 200)
        proxy.report("/a")
        until(lambda: self.told(proxy, "sent") == 1)
        self.assertEqual(len(hook.got), 2)
        self.assertEqual(hook.got[0], hook.got[1])

    def test_one_that_refuses_or_sends_elsewhere_is_left(self):
        proxy, hook = self.start(404, 410)
        proxy.report("/a")
        until(lambda: self.told(proxy, "failed") == 1)
        self.assertEqual(len(hook.got), 1)
        until(lambda: "reports.webhook: a report was not taken: status 404" in proxy.sent.read_text())
        self.assertNotIn(SECRET, proxy.sent.read_text())
        hook.statuses = [307]
        proxy.report("/b")
        until(lambda: self.told(proxy, "failed") == 2)
        self.assertEqual(set(hook.paths), {"/" + SECRET}, "no redirect is followed")

    def test_nobody_waits_for_it(self):
        proxy, hook = self.start(None)
        for i in range(1, 4):
            begun = time.monotonic()
            self.assertEqual(proxy.report("/a", client=f"127.0.0.{i}", host="shop.test").status, 201)
            self.assertLess(time.monotonic() - begun, 5)
        until(lambda: hook.got)
        begun = time.monotonic()
        self.assertEqual(proxy.end(), 0)
        self.assertLess(time.monotonic() - begun, 8, "a try may take 10 s")

    def test_a_reload_changes_who_is_told(self):
        proxy, hook = self.start(200)
        other = Hook(200)
        self.addCleanup(other.close)
        proxy.file.write_text(proxy.file.read_text().replace(hook.url, other.url))
        proxy.command("reload")
        proxy.report("/a")
        until(lambda: self.told(proxy, "sent") == 1)
        self.assertEqual((len(hook.got), len(other.got)), (0, 1))
        proxy.file.write_text(proxy.file.read_text().replace(other.url, ""))
        proxy.command("reload")
        proxy.report("/b")
        self.assertEqual(len(proxy.reports()), 2)
        self.assertEqual((self.told(proxy, "sent"), len(other.got)), (1, 1))


if __name__ == "__main__":
    main()
