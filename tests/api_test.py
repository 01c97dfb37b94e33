#!/usr/bin/env python3
"""The API of the running program against its own description: every answer of a run matches its schema, and every path
gives each role what the description says.

Usage: api_test.py BUILD_DIR [unittest arguments]. Exit status 77 (skipped) where python3-jsonschema is missing.
SPDX-License-Identifier: Apache-2.0
"""
import http.client
import json
import pathlib
import re
import signal
import socket
import sqlite3
import ssl
import subprocess
import sys
import tempfile
import time
import unittest

from api_site import BASE, ROLES, Proxy
from interception_site import BUILD, WAIT, run, until

try:
    import jsonschema
except ImportError:
    sys.exit(77)

HASH = "$2b$04$abcdefghijklmnopqrstuu/LVz6MZlItEy42I2juLihZ66HnQx/cy"  # of a password that nobody is asked for here


class ApiTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.proxy = Proxy(pathlib.Path(cls.folder.name))
        cls.addClassCleanup(cls.proxy.stop)
        cls.tokens = {role: cls.proxy.command("token", "add", role, "--role", role, "--for", "1h").strip() for role in ROLES}
        cls.document = json.loads(cls.proxy.ask("GET", "/openapi.json")[2])
        cls.matched = 0

    def schema_for(self, method, path, status, media):
        """The schema of that answer; asserts that the description has one."""
        operation = self.document["paths"][path][method.lower()]
        responses = operation["responses"]
        content = responses.get(str(status), responses["default"])["content"]
        self.assertIn(media, content, f"{method} {path} answers {status} as {media}")
        return {**content[media]["schema"], "components": self.document["components"]}

    def check(self, method, path, target=None, **how):
        """Asks, and matches the answer with its schema. Returns status and JSON."""
        status, media, text = self.proxy.ask(method, target or path, **how)
        schema = self.schema_for(method, path, status, media)
        value = text if media == "application/x-ndjson" else json.loads(text)
        validator = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker())
        problems = [error.message for error in validator.iter_errors(value)]
        self.assertEqual(problems, [], f"{method} {path}: {text}")
        type(self).matched += 1
        return status, value

    def report(self, path="/a", client="127.0.0.2"):
        """Makes one, with the form of a block page."""
        def ask(method, url, body=None):
            connection = http.client.HTTPConnection("127.0.0.1", self.proxy.own_port, timeout=WAIT, source_address=(client, 0))
            connection.request(method, url, body=body, headers={"Accept": "text/html", "Host": url.split("/")[2],
                                                                     "Content-Type": "application/x-www-form-urlencoded"})
            answer = connection.getresponse()
            text = answer.read().decode()
            connection.close()
            return answer.status, text

        status, page = ask("GET", f"http://listed.example.test{path}")
        self.assertEqual(status, 403)
        ticket = re.search(r'name="ticket" value="([^"]+)"', page)[1]
        self.assertEqual(ask("POST", "http://bloomwall.internal/report", f"ticket={ticket}&comment=x")[0], 201)

    def test_description_is_one(self):
        self.assertRegex(self.document["openapi"], r"^3\.1\.\d+$")
        for name in ("info", "paths", "components"):
            self.assertIn(name, self.document)
        for name, schema in self.document["components"]["schemas"].items():
            jsonschema.Draft202012Validator.check_schema(schema)
        references = re.findall(r'"\$ref": ?"#/components/schemas/(\w+)"', json.dumps(self.document))
        self.assertGreater(len(references), 10)
        self.assertLessEqual(set(references), set(self.document["components"]["schemas"]))
        for path, operations in self.document["paths"].items():
            named = set(re.findall(r"\{(\w+)\}", path))
            for method, operation in operations.items():
                self.assertEqual(named, {p["name"] for p in operation.get("parameters", []) if p["in"] == "path"}, path)
                self.assertIn(operation["x-role"], ROLES + ["anybody"])
                self.assertIn("default", operation["responses"])

    def of_the_socket(self):
        """Paths that the address does not have."""
        return {path for path, operations in self.document["paths"].items() if any(o.get("x-socket-only") for o in operations.values())}

    def test_description_has_every_path(self):
        paths = json.loads(self.proxy.ask("GET", "/nothing")[2])["detail"]
        served = {path.removeprefix(BASE) for path in paths.split() if path.startswith(BASE)}
        self.assertEqual(served, set(self.document["paths"]) - self.of_the_socket())

    def test_every_role_gets_what_the_description_says(self):
        asked = 0
        for path, operations in self.document["paths"].items():
            for method, operation in operations.items():
                least = operation["x-role"]
                if least == "anybody":
                    continue
                if path in self.of_the_socket():
                    self.assertEqual(self.proxy.ask(method.upper(), path, token=self.tokens["admin"])[0], 404)
                    continue
                target = path.replace("{group}", "nobody").replace("{key}", "pause").replace("{name}", "nobody").replace("{id}", "999")
                status, problem = self.check(method.upper(), path, target)
                self.assertEqual((status, problem["status"]), (401, 401), path)
                for role in ROLES:
                    if path in ("/reload", "/stream") and role in ("operator", "admin"):
                        continue  # test_answers_match and test_streams_are_events do it
                    status, _ = self.check(method.upper(), path, target, token=self.tokens[role])
                    may = ROLES.index(role) >= ROLES.index(least)
                    self.assertEqual(status not in (401, 403), may, f"{method} {path} as {role}: {status}")
                    asked += 1
        self.assertGreater(asked, 60)

    def check_other_names(self, admin):
        """One URL on a connection of several names: each is answered, in order, beside the first."""
        names = "url=http://open.example.test/a&under=new.example.test&under=a.listed.example.test"
        value = self.check("GET", "/explain", "/explain?" + names, **admin)[1]
        self.assertEqual([value["verdict"], *(each["verdict"] for each in value["under"])], ["allowed", "allowed", "blocked"])
        self.assertEqual((value["under"][1]["url"], value["under"][1]["filter"]), ("http://a.listed.example.test/a", "list"))
        value = self.check("GET", "/why", "/why?" + names, **admin)[1]
        self.assertEqual([[f["expressions"] for f in each["filters"]] for each in (value, *value["under"])],
                         [[], [], [["S listed.example.test"]]])
        for path in ("/explain", "/why"):
            self.assertEqual(self.check("GET", path, f"{path}?url=http://a.test/&under=b.test/x", **admin)[0], 400)

    def test_answers_match(self):
        admin = {"token": self.tokens["admin"]}
        made = {"action": "allow", "entry": "h.example.test", "why": "x", "group": "pupils", "until": None}
        status, value = self.check("POST", "/exceptions", body=made, **admin)
        self.assertEqual(status, 201)
        self.assertEqual(value["item"]["who"], "token admin")
        for bad in ({}, {"action": "allow"}, {**made, "more": 1}, {**made, "client": "10.0.0.1"}, {**made, "until": "soon"}, "[]", "{"):
            self.assertEqual(self.check("POST", "/exceptions", body=bad, **admin)[0], 400, bad)
        until_time = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 600))
        switch = "/groups/{group}/switches/{key}"
        self.assertEqual(self.check("PUT", switch, "/groups/pupils/switches/otherwise",
                                    body={"value": "deny", "until": until_time, "why": "exam"}, **admin)[0], 200)
        self.assertEqual(self.check("PUT", switch, "/groups/pupils/switches/otherwise", body={"value": "deny"}, **admin)[0], 400)
        self.assertEqual(self.check("POST", "/tokens", body={"name": "ci", "groups": ["build"], "until": None}, **admin)[0], 201)
        self.assertEqual(self.check("POST", "/tokens", body={"name": "ci", "until": None}, **admin)[0], 409)
        self.report()
        self.assertEqual(self.check("POST", "/reports/{id}/accept", "/reports/1/accept", body={"scope": "nobody"}, **admin)[0], 400)
        self.assertEqual(self.check("POST", "/reports/{id}/accept", "/reports/1/accept", body={"until": None}, **admin)[0], 200)
        self.assertEqual(self.check("POST", "/reports/{id}/reject", "/reports/1/reject", body={"words": "no"}, **admin)[0], 409)
        self.report("/b", client="127.0.0.3")
        self.assertEqual(self.check("POST", "/reports/{id}/reject", "/reports/2/reject", body={"words": "no"}, **admin)[0], 200)
        self.assertEqual(self.check("GET", "/reports", "/reports?state=lost", **admin)[0], 400)
        self.assertEqual([item["id"] for item in self.check("GET", "/reports", "/reports?state=rejected", **admin)[1]["items"]], [2])
        self.assertEqual([item["id"] for item in self.check("GET", "/reports", "/reports?cursor=2", **admin)[1]["items"]], [1])
        status, value = self.check("GET", "/why", "/why?url=http://a.listed.example.test/", **admin)
        self.assertEqual([(f["filter"], f["expressions"], f["source"]) for f in value["filters"]],
                         [("list", ["S listed.example.test"], "unknown")])
        self.check_other_names(admin)
        self.check_figures(admin)
        for path in ("/status", "/filters", "/exceptions", "/reports", "/groups", "/tokens", "/audit", "/reloads", "/tls/refused"):
            status, value = self.check("GET", path, **admin)
            self.assertEqual(status, 200, path)
            if "items" in value and path != "/tls/refused":
                self.assertTrue(value["items"], path)
        self.assertEqual(self.check("GET", "/filters/{name}", "/filters/list", **admin)[0], 200)
        self.assertEqual(self.check("GET", "/filters/{name}", "/filters/none", **admin)[0], 404)
        self.assertEqual(self.check("GET", "/audit", "/audit?since=yesterday", **admin)[0], 400)
        status, value = self.check("GET", "/explain", "/explain?url=https%3A%2F%2Flisted.example.test%2Fa&client=127.0.0.1", **admin)
        self.assertEqual((value["verdict"], value["filter"], value["tunnel"]["verdict"], value["group"]),
                         ("blocked", "list", "blocked", "default"))
        status, value = self.check("GET", "/explain", "/explain?url=http://new.example.test/&client=127.0.0.2", **admin)
        self.assertEqual((value["verdict"], value["reason"], value["group"]), ("blocked", "default_deny", "pupils"))
        self.assertIsNotNone(value["valid_until"], "the switch ends")
        for bad in ("client=nobody", "url=a.test&client=nobody", "url=a.test&listener=none", "url=a.test&at=soon"):
            self.assertEqual(self.check("GET", "/explain", "/explain?" + bad, **admin)[0], 400, bad)
        self.assertEqual(self.check("DELETE", switch, "/groups/pupils/switches/otherwise", **admin)[0], 200)
        self.assertEqual(self.check("DELETE", "/tokens/{name}", "/tokens/ci", **admin)[0], 200)
        identity = self.check("GET", "/exceptions", **admin)[1]["items"][0]["id"]
        self.assertEqual(self.check("DELETE", "/exceptions/{id}", f"/exceptions/{identity}", **admin)[0], 200)
        self.assertIn('"exit_status":0', self.check("POST", "/reload", **admin)[1])
        self.assertEqual(self.check("POST", "/session", body={"token": self.tokens["viewer"]})[0], 201)
        self.assertEqual(self.check("GET", "/session")[1], {"who": None, "role": None, "groups": [], "passwords": False})
        self.assertEqual(self.check("GET", "/session", **admin)[1], {"who": "token admin", "role": "admin", "groups": [], "passwords": False})
        self.assertEqual(self.check("POST", "/session", body={"token": "bw_" + "a" * 32})[0], 401)
        self.assertGreater(self.matched, 30)

    def check_figures(self, admin):
        """Of what self.report() has asked the proxy for: two requests that were blocked."""
        self.assertGreaterEqual(self.check("GET", "/counters", **admin)[1]["blocked"], 2)
        for span, step in (("1h", 60), ("24h", 300)):
            status, value = self.check("GET", "/history", f"/history?span={span}", **admin)
            self.assertEqual((status, value["step_seconds"]), (200, step))
            self.assertGreaterEqual(sum(item["blocked"] for item in value["items"]), 2)
            tops = self.check("GET", "/tops", f"/tops?span={span}&limit=1", **admin)[1]
            self.assertEqual([top["name"] for top in tops["hosts"] + tops["filters"]], ["listed.example.test", "list"])
            self.assertEqual(len(tops["clients"]), 1)
            for role in ("viewer", "reviewer"):
                self.assertIsNone(self.check("GET", "/tops", token=self.tokens[role])[1]["clients"])
        there = self.check("GET", "/clients", **admin)[1]
        self.assertEqual(there["clients"], "full")
        self.assertEqual({row["device"] for row in there["items"]}, {None})
        self.assertGreaterEqual(sum(row["blocked"] for row in there["items"]), 2)
        for role in ("viewer", "reviewer"):
            self.assertEqual(self.check("GET", "/clients", token=self.tokens[role])[0], 403)
        for path in ("/history?span=1d", "/tops?span=", "/tops?limit=0", "/tops?limit=1001", "/requests?decision=x", "/requests?cursor=x",
                     "/requests?since=x", "/stream?decision=allowed", "/requests?client=%zz", "/requests?id=%", "/tops?span=%2"):
            asked = 200 if path == "/tops?span=" else 400
            self.assertEqual(self.check("GET", path.split("?")[0], path, **admin)[0], asked, path)
        page = until(lambda: len((value := self.check("GET", "/requests", "/requests?host=listed", **admin)[1])["items"]) >= 2 and value)
        self.assertTrue(page["complete"])
        one = page["items"][0]
        self.assertEqual(self.check("GET", "/requests", f"/requests?id={one['id']}", **admin)[1]["items"], [one])

    def test_streams_are_events(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.proxy.port, timeout=WAIT)
        self.addCleanup(connection.close)
        connection.request("GET", BASE + "/stream", headers={"Authorization": "Bearer " + self.tokens["operator"]})
        answer = connection.getresponse()
        self.assertEqual(answer.status, 200)
        self.schema_for("GET", "/stream", 200, answer.getheader("Content-Type"))
        self.report("/streamed", client="127.0.0.9")
        for line in answer:
            if line.startswith(b"data: ") and b"/streamed" in line:
                break
        schema = {**self.document["components"]["schemas"]["Request"], "components": self.document["components"]}
        jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker()).validate(json.loads(line.removeprefix(b"data: ")))

    def test_explanation_names_what_is_dialled(self):
        for client, dialled in (("127.0.0.2", "strict.bing.com"), ("127.0.0.3", None)):
            _, value = self.check("GET", "/explain", f"/explain?url=https://www.bing.com/&client={client}", token=self.tokens["admin"])
            self.assertEqual(value["dialled_as"], dialled)

    def test_explanation_says_what_access_rules_refuse(self):
        rows = (("http://fine.test/", "127.0.0.3", "allowed"), ("http://fine.test:25/", "127.0.0.3", "port_denied"),
                ("https://fine.test:25/", "127.0.0.3", "port_denied"), ("http://fine.test/", "192.0.2.1", "client_denied"),
                ("http://fine.test/", "", "allowed"), ("http://[/", "127.0.0.3", None))
        for url, client, access in rows:
            _, value = self.check("GET", "/explain", f"/explain?url={url}&client={client}", token=self.tokens["admin"])
            self.assertEqual(value["access"], access, (url, client))

    def test_explanation_is_for_whoever_asks(self):
        more = ('authentication: {require: [127.0.0.4], users_file: users}\nlisteners: [{address: "127.0.0.1:0", tls: '
                '{certificate: site.crt, key: site.key, client_certificate: optional, client_ca: site.crt}}]\n')
        folder = tempfile.TemporaryDirectory(prefix="bloomwall-test-")
        self.addCleanup(folder.cleanup)
        place = pathlib.Path(folder.name)
        run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=proxy.test",
            "-keyout", place / "site.key", "-out", place / "site.crt")
        (place / "users").write_text(f"anna:{HASH}:class\n")
        proxy = Proxy(place, listeners="", authentication="", more=more,
                      groups="{name: kiosks, certificates: [cn:kiosk 3]}, {name: class, user_groups: [class]}, {name: staff, user_groups: [staff]}")
        self.addCleanup(proxy.stop)
        admin = proxy.command("token", "add", "admin", "--role", "admin", "--for", "1h").strip()
        proxy.command("token", "add", "robot", "--group", "staff", "--for", "1h")
        for group, question in (("default", ""), ("kiosks", "certificate=cn:kiosk+4&certificate=cn:kiosk+3"), ("default", "certificate=cn:kiosk+4"),
                                ("class", "client=127.0.0.4&user=anna"), ("staff", "client=127.0.0.4&user=anna&user_group=x&user_group=staff"),
                                ("staff", "client=127.0.0.4&user=robot"), ("class", "client=127.0.0.4&user=robot&user_group=class"),
                                ("default", "client=127.0.0.4&user=bob"), ("default", "client=127.0.0.5&user=robot")):
            status, _, text = proxy.ask("GET", f"/explain?url=http://x.test/&{question}", token=admin)
            self.assertEqual(status, 200, text)
            self.assertEqual(json.loads(text)["group"], group, question)

    def test_configuration_is_whole(self):
        status, value = self.check("GET", "/config", token=self.tokens["admin"])
        self.assertEqual(status, 200)
        settings = value["settings"]
        self.assertEqual(settings["groups"][0]["clients"], ["127.0.0.2"])
        self.assertEqual((settings["timeouts"]["connect"], settings["limits"]["header_fields"]), ("10s", 256))
        self.assertEqual((settings["access"]["strict_path"], settings["upstream"]["parent"]), (False, None))
        self.assertEqual(settings["authentication"]["basic_helper"]["command"], ["/bin/false", "***", "***"])

    def test_bodies_are_bounded(self):
        admin = self.tokens["admin"]
        large = b"x" * (1 << 20)
        for path, target in (("/exceptions", None), ("/tokens", None), ("/reports/{id}/accept", "/reports/1/accept")):
            for body in (large, iter([large])):  # with a length, and in chunks
                status, problem = self.check("POST", path, target, body=body, token=admin)
                self.assertEqual((status, problem["status"]), (413, 413), path)
        self.assertEqual(self.proxy.ask("GET", "/status", token=admin)[0], 200)

    def mutants(self, body):
        """That body with each of its members, one after the other, of another kind; and bodies that are none."""
        kinds = [None, True, 0, -1, 1.5, 10 ** 30, "", "x", "\u00e4\u0000", "9" * 3000, [], [1], ["x"], [[]], {}, {"x": 1}]
        for name, kind in ((name, kind) for name in body for kind in kinds):
            yield {**body, name: kind}
        yield from ({name: value for name, value in body.items() if name != left_out} for left_out in body)
        yield {**body, "more": 1}
        for name, value in body.items():  # a member twice, also where the second one is spelt with an escape
            for again in (name, f"\\u{ord(name[0]):04x}{name[1:]}"):
                yield f'{json.dumps(body)[:-1]}, "{again}": {json.dumps(value)}}}'
        yield from ("[]", "1", "null", '"x"', "{", "{}x", b"\xff", b'{"why":"\xff"}', '{"why":"\\ud800"}', '{"why":1e999}', "[" * 60000,
                    '{"a":' * 10000, "x")

    def test_bodies_of_wrong_types_are_told_and_change_nothing(self):
        self.report("/mutants", client="127.0.0.8")
        later = time.strftime("%Y-%m-%dT%H:%M:%S+01:00", time.gmtime(time.time() + 7200))
        common = {"action": "allow", "entry": "mutant.example.test", "why": "x", "filters": ["list"], "until": later}
        report = json.loads(self.proxy.ask("GET", "/reports?state=open", token=self.tokens["admin"])[2])["items"][0]["id"]
        rows = [("POST", "/exceptions", None, {**common, **people}) for people in
                ({"client": "10.0.0.0/8"}, {"user": "anna"}, {"group": "pupils"}, {"until_build": False})]
        rows += [("PUT", "/groups/{group}/switches/{key}", "/groups/pupils/switches/otherwise", {"value": "deny", "until": later, "why": "x"}),
                 ("POST", "/tokens", None, {"name": "mutant", "until": later, "groups": ["x"], "role": "viewer"}),
                 ("POST", "/reports/{id}/accept", f"/reports/{report}/accept",
                  {"scope": "group", "group": "pupils", "until": later, "until_build": False, "entry": "x.test", "words": "x"}),
                 ("POST", "/reports/{id}/reject", f"/reports/{report}/reject", {"words": "x"}),
                 ("POST", "/session", None, {"token": self.tokens["viewer"]}),
                 ("POST", "/session", None, {"user": "anna", "password": "x"}),
                 ("POST", "/update", None, {"filters": ["list"], "force": False, "why": "x"}),
                 ("POST", "/update/forced", None, {"filters": ["list"], "force": True, "why": "x"})]
        refused = taken = 0
        for method, path, target, body in rows:
            operation = self.document["paths"][path][method.lower()]["requestBody"]
            schema = {**operation["content"]["application/json"]["schema"], "components": self.document["components"]}
            described = jsonschema.Draft202012Validator(schema)
            for mutant in self.mutants(body):
                status, _ = self.check(method, path, target, body=mutant, token=self.tokens["admin"])
                is_right = isinstance(mutant, dict) and described.is_valid(mutant)
                self.assertIn(status, (200, 201, 400, 401, 404, 409) if is_right else (400, 413), f"{method} {path}: {mutant!r:.200}")
                refused += status == 400
                taken += status < 300
        self.assertGreater(refused, 300)
        self.assertGreater(taken, 10)
        self.proxy.ask("DELETE", "/groups/pupils/switches/otherwise", token=self.tokens["admin"])

    def test_what_no_handler_answers_is_an_error_like_others(self):
        """Of paths, methods and hosts that there are not, and of requests that do not come to their end."""
        for method, path, status in (("GET", "/nothing", 404), ("PATCH", "/status", 405), ("POST", "/status", 405), ("PUT", "/nothing", 404)):
            got, media, text = self.proxy.ask(method, path)
            self.assertEqual((got, media), (status, "application/problem+json"), path)
            self.assertEqual(json.loads(text)["status"], status)
        got, media, text = self.proxy.ask("GET", "/status", fields={"Host": "evil.example"})
        self.assertEqual((got, media, json.loads(text)["status"]), (421, "application/problem+json", 421))
        with socket.create_connection(("127.0.0.1", self.proxy.port), timeout=WAIT) as client:
            client.sendall(f"POST {BASE}/exceptions HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nno chunk".encode())
            answer = client.recv(65536).decode()
        self.assertRegex(answer, r"^HTTP/1\.1 400 (?s:.*)\r\nContent-Type: application/problem\+json\r\n")

    def test_idle_connections_keep_nobody_out(self):
        idle = [socket.create_connection(("127.0.0.1", self.proxy.port)) for _ in range(64)]
        self.assertEqual(self.proxy.ask("GET", "/status", token=self.tokens["viewer"])[0], 200)
        for each in idle:
            each.close()


class TlsTest(unittest.TestCase):
    """The admin address where others can reach it."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.issue("first.test")

    def issue(self, name):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30",
                        "-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}", "-keyout", self.folder / "admin.key",
                        "-out", self.folder / "admin.crt"], check=True, capture_output=True)
        (self.folder / "admin.key").chmod(0o600)

    def start(self, admin):
        proxy = Proxy(self.folder, admin)
        self.addCleanup(proxy.stop)
        return proxy

    def ask(self, port, name, method, path, body=None, token=None):
        context = ssl.create_default_context(cafile=self.folder / "admin.crt")
        with socket.create_connection(("127.0.0.1", port), timeout=WAIT) as plain, context.wrap_socket(plain, server_hostname=name) as client:
            fields = f"Authorization: Bearer {token}\r\n" if token else ""
            client.sendall(f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{fields}Content-Length: {len(body or '')}\r\n\r\n{body or ''}".encode())
            answer = b""
            while piece := client.recv(65536):
                answer += piece
        return answer.decode()

    def test_serves_the_api_where_it_speaks_tls(self):
        proxy = self.start('address: "0.0.0.0:0", tls: {certificate: admin.crt, key: admin.key}')
        token = proxy.command("token", "add", "anna", "--role", "viewer", "--for", "1h").strip()
        self.assertIn("HTTP/1.1 200", self.ask(proxy.port, "first.test", "GET", "/healthz"))
        self.assertIn('"phase":"serving"', self.ask(proxy.port, "first.test", "GET", BASE + "/status", token=token))
        session = self.ask(proxy.port, "first.test", "POST", BASE + "/session", json.dumps({"token": token}))
        self.assertRegex(session, r"Set-Cookie: bloomwall_session_\d+=\S+; Path=/; HttpOnly; SameSite=Strict; Secure\r\n")
        with socket.create_connection(("127.0.0.1", proxy.port), timeout=WAIT) as plain:
            plain.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            self.assertNotIn(b"alive", plain.recv(65536))
        self.issue("second.test")
        proxy.command("reload")
        self.assertIn("HTTP/1.1 200", self.ask(proxy.port, "second.test", "GET", "/healthz"))

    def test_serves_no_api_in_clear(self):
        proxy = self.start('address: "0.0.0.0:0", without_tls: true')
        self.assertEqual(proxy.ask("GET", "/status")[0], 404)
        for path in ("/healthz", "/metrics"):
            connection = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=WAIT)
            self.addCleanup(connection.close)
            connection.request("GET", path)
            self.assertEqual(connection.getresponse().status, 200, path)
        file = self.folder / "bloomwall.yaml"
        file.write_text(file.read_text().replace(", without_tls: true", ""))
        for command in ("check", "run", "reload"):
            refused = subprocess.run([BUILD / "bloomwall", command, "--config", file], capture_output=True, text=True, timeout=WAIT)
            self.assertEqual(refused.returncode, 1 if command == "reload" else 78, command)
            self.assertIn("admin.address: others can reach it: set tls", refused.stderr + refused.stdout, command)
        self.assertEqual(proxy.ask("GET", "/status")[0], 404)


class EndTest(unittest.TestCase):
    """Whoever has asked for a change while the process ends is told what came of it."""

    def ended_by(self, number, is_freed):
        with tempfile.TemporaryDirectory() as name:
            proxy = Proxy(pathlib.Path(name))
            self.addCleanup(proxy.process.kill)
            proxy.command("deny", "first.test", "--why", "x")
            database = sqlite3.connect(proxy.folder / "state" / "state.db", isolation_level=None)
            self.addCleanup(database.close)
            database.execute("BEGIN IMMEDIATE")
            askers = []
            for i in range(8):
                asker = socket.socket(socket.AF_UNIX)
                self.addCleanup(asker.close)
                asker.settimeout(WAIT)
                asker.connect(str(proxy.folder / "control.sock"))
                body = json.dumps({"action": "deny", "entry": f"late{i}.test", "why": "x"}).encode()
                asker.sendall(b"POST /api/v1/exceptions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
                askers.append(asker)
            # Connections are served in order: all that came before this answer were read.
            probe = socket.socket(socket.AF_UNIX)
            self.addCleanup(probe.close)
            probe.settimeout(WAIT)
            probe.connect(str(proxy.folder / "control.sock"))
            probe.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.assertIn(b"200 OK", probe.recv(4096))
            begun = time.monotonic()
            proxy.process.send_signal(number)
            until(lambda: "draining" in (log := (proxy.folder / "daemon.log").read_text()) or "stopping" in log)
            if is_freed:
                database.execute("ROLLBACK")
            statuses = [http_status(asker) for asker in askers]
            self.assertEqual(proxy.process.wait(WAIT), 0)
            took = time.monotonic() - begun
            if not is_freed:
                database.execute("ROLLBACK")
            kept = [row[0] for row in database.execute("SELECT item FROM exceptions ORDER BY id")]
            return statuses, [json.loads(item)["entry"] for item in kept], took

    def test_a_change_that_meets_the_end_is_confirmed(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            statuses, kept, _ = self.ended_by(number, is_freed=True)
            confirmed = [f"late{i}.test" for i, status in enumerate(statuses) if status == 201]
            self.assertEqual(kept, ["first.test"] + confirmed, statuses)
            self.assertIn(statuses[0], (201, 500))
            self.assertEqual([status for status in statuses if status not in (201, 500, 503)], [])

    def test_a_file_that_somebody_holds_does_not_delay_the_end(self):
        statuses, kept, took = self.ended_by(signal.SIGINT, is_freed=False)
        self.assertEqual((statuses, kept), ([500] * 8, ["first.test"]))
        self.assertLess(took, 10)


def http_status(connection):
    text = b""
    while piece := connection.recv(65536):
        text += piece
    return int(text.split()[1]) if text else None


if __name__ == "__main__":
    if BUILD is None:
        sys.exit(__doc__)
    unittest.main()
