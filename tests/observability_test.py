#!/usr/bin/env python3
"""What watches the proxy: metrics, the board, alerts and logs, by the programs that read them (Prometheus, promtool, goaccess).

Usage: observability_test.py BUILD_DIR [unittest arguments]. Exit status 77 (skipped) where one of them is missing, except with
BLOOMWALL_EVERY_CLIENT=1.
SPDX-License-Identifier: Apache-2.0
"""
import base64
import contextlib
import html
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.error
import urllib.parse
import urllib.request
import warnings

from interception_site import BUILD, SANITIZED, WAIT, Authority, Client, Origin, run, until, whole_lines

SOURCE = pathlib.Path(__file__).resolve().parent.parent
MONITORING = SOURCE / "docs" / "monitoring"
BOARD, ALERTS = MONITORING / "grafana" / "bloomwall.json", MONITORING / "alerts.yaml"
HASH = "$2b$04$abcdefghijklmnopqrstuu/LVz6MZlItEy42I2juLihZ66HnQx/cy"  # of "open sesame"
NAME = re.compile(r"\b(?:bloomwall|process)_[a-z0-9_]+")
SELECTOR = re.compile(r"\b((?:bloomwall|process)_[a-z0-9_]+|up)(\{[^}]*\})?")
ODD_USERS = ["an na", "a\"b", "a\\b", "a%20b", "änna", "日本", "a'b", "[a]", "-", "a/b", "x" * 200]
SCRAPES = "15s"  # what $__rate_interval stands for
MANY = 2_000 if SANITIZED else 10_000  # hosts, users, clients, agents
AT_ONCE = 200


def basic(user, password="open sesame"):
    return "Proxy-Authorization: Basic " + base64.b64encode(f"{user}:{password}".encode()).decode() + "\r\n"


class Proxy:
    """The program with everything there is to measure, and what uses it."""

    def __init__(self, folder):
        self.folder, self.file, self.said = folder, folder / "bloomwall.yaml", folder / "daemon.log"
        for name, entries in {"ads": "ads.test\n", "games": "games.test\n", "white": "white.test\n"}.items():
            (folder / f"{name}.txt").write_text(entries)
            run(BUILD / "bloomwall-filter", "build", "-q", "-o", folder / f"{name}.bwf", folder / f"{name}.txt")
        run(BUILD / "bloomwall", "ca", "init", "--out", folder)
        authority = Authority(folder)
        certificate, key = authority.issue("proxy", ["proxy.test"])
        self.origin = Origin()
        self.secure = Origin(*authority.issue("good", ["secret.test"]))
        (folder / "users").write_text(f"anna:{HASH}:class\n")
        hosts = ", ".join(f"{host}.test: 127.0.0.1" for host in ("ads", "games", "white", "other", "secret", "allowed", "denied"))
        self.file.write_text(f"""
listeners: [{{address: "127.0.0.1:0"}}, {{address: "127.0.0.2:0", tls: {{certificate: {certificate}, key: {key}}}}}]
workers: 2
filters:
- {{name: ads, file: ads.bwf, sources: [{{url: {folder}/ads.txt}}], guards: {{must_pass: []}}}}
- {{name: games, file: games.bwf, action: monitor}}
- {{name: white, file: white.bwf, action: allow}}
schedules: [{{name: lessons, times: [mon-fri 08:00-12:30]}}]
groups: [{{name: pupils, clients: [127.0.0.4], filters: {{games: {{lessons: block, otherwise: monitor}}}}, safe_search: [google]}}]
answers: [{{address: "127.0.0.1:0", protocol: http}}]
access: {{connect_ports: [{self.secure.port}], deny_destinations: [], deny_ports: [1]}}
dns: {{hosts: {{{hosts}}}}}
timeouts: {{announce: 0, drain: 1s}}
limits: {{connections_per_client: 0}}
authentication:
  require: [127.0.0.3, 127.64.0.0/10]
  users_file: users
  attempts: 1000
  basic_helper: {{command: [/usr/bin/sed, -u, "s/ .*/ OK/"], processes: 1, concurrency: 1000, queue: 4096}}
tls_inspection: {{mode: all, never: [], ca: {{certificate: ca.crt, key: ca.key}}, verify: {{ca_file: oca.crt}}}}
admin: {{address: "127.0.0.1:0", control_socket: control.sock}}
state_dir: state
query_log: {{record: all}}
update: {{folder: lists}}
log: {{file: daemon.log, access: {{file: access.log, format: squid}}}}
""")
        self.process = subprocess.Popen([BUILD / "bloomwall", "run", "--config", self.file])
        until(lambda: self.process.poll() is not None or (self.said.exists() and "on 127.0.0.2:" in self.said.read_text()))
        said = self.said.read_text()
        assert self.process.poll() is None, said
        self.port = int(re.search(r"listening on 127\.0\.0\.1:(\d+)", said)[1])
        self.admin = int(re.search(r"admin on 127\.0\.0\.1:(\d+)", said)[1])

    def end(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(WAIT)
        self.origin.close()
        self.secure.close()

    def ask(self, url, fields="", client="127.0.0.1", method="GET", body=b""):
        """The answer to a request on a connection of its own."""
        host = urllib.parse.urlsplit(url).netloc
        length = f"Content-Length: {len(body)}\r\n" if body else ""
        with socket.create_connection(("127.0.0.1", self.port), timeout=WAIT, source_address=(client, 0)) as to:
            to.sendall(f"{method} {url} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{fields}{length}\r\n".encode() + body)
            return b"".join(iter(lambda: to.recv(65536), b"")).decode()

    def get(self, host, **how):
        return int(self.ask(f"http://{host}.test:{self.origin.port}/", **how).split()[1])

    def command(self, *words):
        return run(BUILD / "bloomwall", *words, "--config", self.file).stdout

    def metrics(self):
        return urllib.request.urlopen(f"http://127.0.0.1:{self.admin}/metrics", timeout=WAIT).read().decode()

    def prepare(self):
        """What people do once."""
        self.command("update", "--force", "--why", "a test", "ads")
        self.command("allow", "allowed.test", "--for", "1h", "--why", "a test")
        self.command("deny", "denied.test", "--for", "1h", "--why", "a test")
        self.command("token", "add", "anna", "--role", "reviewer", "--for", "1h")
        page = self.ask(f"http://ads.test:{self.origin.port}/", "Accept: text/html\r\n")
        ticket = html.unescape(re.search(r'name="?ticket"? value="([^"]+)"', page)[1])
        form = urllib.parse.urlencode({"ticket": ticket, "comment": "a mistake"}).encode()
        assert "HTTP/1.1 201" in self.ask("http://bloomwall.internal/report", "Content-Type: application/x-www-form-urlencoded\r\n", method="POST", body=form)

    def use(self):
        """A bit of everything; each answer is as it should be."""
        ask = lambda *words, **how: self.get(*words, **how)
        got = [ask("other"), ask("ads"), ask("games"), ask("white"), ask("allowed"), ask("denied"), ask("other", client="127.0.0.4"),
               ask("ads", client="127.0.0.4"), ask("other", client="127.0.0.3"), ask("other", fields=basic("anna"), client="127.0.0.3"),
               ask("other", fields=basic("anna", "wrong"), client="127.0.0.3"), ask("other", fields=basic("bob"), client="127.0.0.3"),
               int(self.ask("http://other.test:1/").split()[1])]
        assert got == [200, 403, 200, 200, 200, 403, 200, 403, 407, 200, 407, 200, 403], got
        client = Client(self, "secret.test", self.secure.port).tls(self.folder / "ca.crt")
        assert client.ask("/")[0] == 200
        client.socket.close()
        with contextlib.suppress(urllib.error.HTTPError):
            urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{self.admin}/api/v1/status",
                                                          headers={"Authorization": "Bearer bw_wrong"}), timeout=WAIT)


class Prometheus:
    """Debian's, on the loopback address, which scrapes the proxy several times a second."""

    def __init__(self, folder, admin):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        shutil.copy(ALERTS, folder / "alerts.yaml")
        (folder / "prometheus.yaml").write_text(json.dumps({
            "global": {"scrape_interval": "250ms", "scrape_timeout": "250ms", "evaluation_interval": "500ms"},
            "rule_files": ["alerts.yaml"],
            "scrape_configs": [{"job_name": "bloomwall",
                                "static_configs": [{"targets": [f"127.0.0.1:{admin}"]}]}]}))
        self.process = subprocess.Popen(["prometheus", f"--config.file={folder}/prometheus.yaml", f"--storage.tsdb.path={folder}/tsdb",
                                         f"--web.listen-address=127.0.0.1:{self.port}", "--log.level=warn"])

    def end(self):
        self.process.kill()
        self.process.wait(WAIT)

    def ask(self, path, **query):
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(query)}"
        with contextlib.suppress(ConnectionError, urllib.error.URLError):
            return json.load(urllib.request.urlopen(url, timeout=WAIT))["data"]
        return None

    def has_data(self, expression):
        found = self.ask("query", query=expression)
        return bool(found) and any(sample["value"][1] != "NaN" for sample in found["result"])


def board_expressions():
    """(panel, expression) of the board, its variables filled in."""
    board = json.loads(BOARD.read_text())
    for panel in board["panels"]:
        for target in panel.get("targets", []):
            text = target["expr"].replace("$__rate_interval", SCRAPES).replace("$job", ".*").replace("$instance", ".*")
            yield panel["title"], text


def rule_expressions():
    """(alert, expression) of alerts.yaml, which has each expression folded behind "expr: >-"."""
    for name, folded in re.findall(r"alert: (\w+)\n    expr: >-\n((?:      .+\n)+)", ALERTS.read_text()):
        yield name, " ".join(folded.split())


def families(text):
    """Names, types and labels of an exposition."""
    found = {}
    for name, kind in re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M):
        labels = set()
        for inside in re.findall(rf"^{name}(?:_bucket)?\{{(.+)\}} ", text, re.M):
            labels |= set(re.findall(r'(\w+)="', inside))
        found[name] = kind, labels - {"le"}
    return found


class Files(unittest.TestCase):
    """What is shipped, by itself."""

    def test_alerts_fire_and_stay_silent(self):  # OBS-001
        with tempfile.TemporaryDirectory(prefix="bloomwall-test-") as folder:
            for file in (ALERTS, MONITORING / "prometheus.yaml", SOURCE / "tests" / "data" / "alerts_test.yaml"):
                shutil.copy(file, folder)
            run("promtool", "check", "config", f"{folder}/prometheus.yaml")
            run("promtool", "check", "rules", f"{folder}/alerts.yaml")
            run("promtool", "test", "rules", f"{folder}/alerts_test.yaml", timeout=120)
        tested = (SOURCE / "tests" / "data" / "alerts_test.yaml").read_text()
        names = [name for name, _ in rule_expressions()]
        self.assertEqual((len(names), ALERTS.read_text().count("- alert:")), (27, 27))
        for name in names:
            self.assertIn(f"- name: {name} fires\n", tested)
            self.assertIn(f"- name: {name} is silent\n", tested)
            rule = ALERTS.read_text().split(f"alert: {name}\n")[1].split("- alert:")[0]
            for key in ("severity: page" if "severity: page" in rule else "severity: warning", "summary: ", "description: ", "action: "):
                self.assertIn(key, rule, name)

    def test_what_alerts_advise_can_be_done(self):
        """Keys of the configuration that they name exist, and so do commands with their options."""
        advice = " ".join(ALERTS.read_text().split())
        keys, section = {}, None
        for line in (SOURCE / "conf" / "bloomwall.yaml").read_text().splitlines():
            if begun := re.match(r"([a-z_]+):", line):
                section = keys.setdefault(begun[1], set())
            section is None or section.update(re.findall(r"^#? *(?:- )?([a-z_0-9]+):(?: |$)", line))
        named = re.findall(rf"(?<![-\w])({'|'.join(keys)})(?:\[\])?\.([a-z_0-9.]+[a-z0-9])", advice)
        named = [(top, key) for top, path in named for key in path.split(".")]
        self.assertGreaterEqual(len(named), 10)
        self.assertEqual([f"{top}.{key}" for top, key in named if key not in keys[top]], [])
        commands = re.findall(r"`(bloomwall(?:-filter)?) ([a-z]+)([^`]*)`", advice)
        self.assertGreaterEqual(len(commands), 10)
        for program, command, rest in commands:
            said = run(BUILD / program, command, "--help").stdout
            for option in re.findall(r"--[a-z-]+", rest):
                self.assertIn(option, said, f"{program} {command}")
        # A filter that has a delta is not made of lists, and so no update can build it anew.
        self.assertNotIn("bloomwall update", advice.split("BloomwallRebuildDue")[1].split("- alert:")[0])

    def test_the_board_needs_nothing_but_core_panels(self):
        board = json.loads(BOARD.read_text())
        self.assertEqual({panel["type"] for panel in board["panels"]}, {"row", "stat", "timeseries"})
        self.assertEqual([panel["title"] for panel in board["panels"] if panel["type"] == "row"],
                         ["Overview", "Traffic", "Filters and lists", "Errors and latency", "Authentication", "Reviews", "Process"])
        self.assertEqual([variable["name"] for variable in board["templating"]["list"]], ["datasource", "job", "instance"])
        ids = [panel["id"] for panel in board["panels"]]
        self.assertEqual(len(set(ids)), len(ids))
        for panel in board["panels"]:
            for target in panel.get("targets", []):
                self.assertEqual(target["datasource"]["uid"], "${datasource}")
                self.assertIn('job=~"$job",instance=~"$instance"', target["expr"], panel["title"])


class Watched(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="bloomwall-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.proxy = Proxy(cls.folder)
        cls.addClassCleanup(cls.proxy.end)
        cls.proxy.prepare()
        cls.proxy.use()

    @contextlib.contextmanager
    def traffic(self):
        stop, failures = threading.Event(), []

        def go_on():
            try:
                while not stop.is_set():
                    self.proxy.use()
            except Exception as failure:  # for the test to raise
                failures.append(failure)

        thread = threading.Thread(target=go_on)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()
        self.assertEqual(failures, [])

    def test_every_panel_has_data_and_no_rule_asks_for_what_is_not_there(self):  # OBS-002
        prometheus = Prometheus(self.folder, self.proxy.admin)
        self.addCleanup(prometheus.end)
        wanted = dict.fromkeys(board_expressions())
        for alert, expression in rule_expressions():
            for name, labels in SELECTOR.findall(expression):
                wanted[alert, f"count({name}{labels})"] = None
        self.assertGreater(len(wanted), 100)
        with self.traffic():
            def is_there():
                for each in [each for each in wanted if prometheus.has_data(each[1])]:
                    del wanted[each]
                return not wanted
            with contextlib.suppress(AssertionError):
                until(is_there)
            self.assertEqual(list(wanted), [], "no data")
            rules = until(lambda: [rule for group in (prometheus.ask("rules") or {"groups": []})["groups"] for rule in group["rules"]
                                   if all(each["health"] != "unknown" for each in group["rules"])])
        self.assertEqual([(rule["name"], rule.get("lastError")) for rule in rules if rule["health"] != "ok"], [])
        exported = families(self.proxy.metrics())
        for where, expression in [*board_expressions(), *rule_expressions()]:
            for name in set(NAME.findall(expression)):
                self.assertIn(re.sub(r"_bucket$", "", name), exported, where)

    def test_the_table_of_metrics_says_what_there_is(self):
        rows = re.findall(r"^\| `(\w+)` \| (\w+) \| (.*?) \| .+ \|$", (MONITORING / "metrics.md").read_text(), re.M)
        told = {name: (kind, set(re.findall(r"`(\w+)`", labels))) for name, kind, labels in rows}
        exported = families(self.proxy.metrics())
        self.assertEqual(told, exported)
        labels = set().union(*(each for _, each in exported.values()))
        self.assertFalse(labels & {"host", "url", "user", "client", "address", "agent"})

    def test_each_help_text_is_whole_in_itself(self):
        # Metrics are sorted by name: a text that points to the one before it points to another one.
        helps = dict(re.findall(r"^# HELP (\w+) (.+)$", self.proxy.metrics(), re.M))
        self.assertGreater(len(helps), 100)
        told = dict(re.findall(r"^\| `(\w+)` \| \w+ \| .*? \| (.+) \|$", (MONITORING / "metrics.md").read_text(), re.M))
        self.assertEqual(told, helps)
        points = re.compile(r"\b(?:those|these|likewise|the same|such a|ditto)\b|^(?:of the|that|them|it|its|the other)\b"
                            r"|\b(?:ago|where|which|if|while|when|until|since|as|for|with|than) that\b|\bhow long that\b|\bthat (?:was|is|took|share|time)[,.]?$"
                            r"|\b(?:while|when|if|where|until) it\b", re.I)
        self.assertEqual({name: text for name, text in helps.items() if points.search(text)}, {})
        # "they" and "of them" are about something that the text itself names, in the plural.
        for name, text in helps.items():
            for before in re.findall(r"^(.*?)\b(?:they|them)\b", text):
                self.assertRegex(before, r"\w{3,}s\b", name)
        for text in ("How long ago that was", "The same for all blocking filters together", "1 where that share is over", "Of the failed ones",
                     "How long those took", "1 while it serves"):
            self.assertRegex(text, points)

    def test_every_series_is_there_from_the_start(self):
        """An alert on an increase sees the first one only where there was a 0 before."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix="bloomwall-test-"))
        self.addCleanup(shutil.rmtree, folder)
        proxy = Proxy(folder)
        self.addCleanup(proxy.end)

        def series():
            return {line.rsplit(" ", 1)[0] for line in proxy.metrics().splitlines() if not line.startswith("#")}

        before = series()
        for name in ('requests_total{method_class="GET",verdict="blocked",reason="listed"}',
                     'tls_decisions_total{action="refused",reason="blocked"}', 'reloads_refused_total{reason="damaged"}',
                     'lists_refused{list="ads",reason="shrink"}', 'filter_fallback{filter="ads"}'):
            self.assertIn("bloomwall_" + name, before)
        proxy.prepare()
        proxy.use()
        proxy.file.write_text(proxy.file.read_text() + "nosuchkey: 1\n")
        subprocess.run([BUILD / "bloomwall", "reload", "--config", proxy.file], capture_output=True, check=False)
        proxy.file.write_text(proxy.file.read_text().removesuffix("nosuchkey: 1\n"))
        self.assertEqual(series() - before, set())
        self.assertEqual(before - series(), set())

    def test_ten_thousand_of_everything_leave_the_series_as_they_are(self):  # OBS-004
        def series():
            return {line.rsplit(" ", 1)[0] for line in self.proxy.metrics().splitlines() if not line.startswith("#")}

        def ask_all(numbers):
            """One request of each, at once."""
            with contextlib.ExitStack() as open_sockets:
                asked = []
                for i in numbers:
                    client = f"127.64.{i >> 8}.{i & 255}"
                    to = open_sockets.enter_context(socket.create_connection(("127.0.0.1", self.proxy.port), WAIT, (client, 0)))
                    host = f"h{i}.ads.test"
                    to.sendall(f"GET http://{host}/{i} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nUser-Agent: agent {i}\r\n"
                               f"Accept: text/plain\r\n{basic(f'user{i}', str(i))}\r\n".encode())
                    asked.append(to)
                return [to.recv(65536)[9:12] for to in asked]

        self.assertEqual(ask_all([1]), [b"403"])
        before = series()
        answers = []
        for start in range(2, MANY + 2, AT_ONCE):
            answers += ask_all(range(start, start + AT_ONCE))
        self.assertEqual(set(answers), {b"403"})
        self.assertEqual(len(answers), MANY)
        self.assertEqual(series() - before, set())
        self.assertEqual(before - series(), set())
        accepted = re.search(r'bloomwall_auth_total\{scheme="basic",result="accepted"\} (\d+)', self.proxy.metrics())
        self.assertGreaterEqual(int(accepted[1]), MANY)

    def test_goaccess_reads_every_line_of_the_squid_log(self):  # OBS-003
        words = re.search(r"goaccess --log-format='(.+?)' --datetime-format='(.+?)'", (SOURCE / "docs/operations.md").read_text())
        for user in ODD_USERS:
            self.assertEqual(self.proxy.get("ads", fields=basic(user, "x"), client="127.0.0.3"), 403, user)
        log = self.folder / "access.log"
        until(lambda: "x" * 200 in log.read_text())
        lines = log.read_text().splitlines()
        (self.folder / "squid.log").write_text("\n".join(lines) + "\n")
        run("goaccess", self.folder / "squid.log", f"--log-format={words[1]}", f"--datetime-format={words[2]}", "--no-global-config",
            "-o", self.folder / "report.json", env={**os.environ, "TERM": "dumb", "LC_ALL": "C.UTF-8"})
        report = json.loads((self.folder / "report.json").read_text())
        self.assertEqual((report["general"]["valid_requests"], report["general"]["failed_requests"]), (len(lines), 0))
        users = {each["data"] for each in report["remote_user"]["data"]}
        self.assertLessEqual({"anna", "bob", "an%20na", "a%22b", "a%5Cb", "%C3%A4nna", "x" * 200}, users)


class Fields(unittest.TestCase):
    """What a line of the access log and a record of the machine's log hold."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="bloomwall-test-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.origin = Origin()
        self.addCleanup(self.origin.close)
        (self.folder / "ads.txt").write_text("ads.test\n")
        run(BUILD / "bloomwall-filter", "build", "-q", "-o", self.folder / "ads.bwf", self.folder / "ads.txt")
        (self.folder / "users").write_text(f"anna:{HASH}:class\n")

    def start(self, target, *before):
        (self.folder / "bloomwall.yaml").write_text(f"""
listeners: [{{address: "127.0.0.1:0"}}]
filters: [{{name: ads, file: ads.bwf}}]
groups: [{{name: pupils, clients: [127.0.0.1]}}]
authentication: {{require: [127.0.0.1], users_file: users}}
access: {{connect_ports: [], deny_destinations: []}}
dns: {{hosts: {{ads.test: 127.0.0.1, other.test: 127.0.0.1}}}}
timeouts: {{announce: 0, drain: 1s}}
admin: {{address: null, control_socket: control.sock}}
state_dir: state
log: {{file: daemon.log, access: {{file: {target}}}}}
""")
        process = subprocess.Popen([*before, BUILD / "bloomwall", "run", "--config", self.folder / "bloomwall.yaml"])
        self.addCleanup(process.wait, WAIT)
        self.addCleanup(process.send_signal, signal.SIGINT)
        said = self.folder / "daemon.log"
        self.port = int(until(lambda: said.exists() and re.search(r"listening on 127\.0\.0\.1:(\d+)", said.read_text()))[1])

    get, ask = Proxy.get, Proxy.ask

    def test_a_trace_is_passed_and_its_id_logged(self):
        self.start("access.log")
        trace = "4bf92f3577b34da6a3ce929d0e0e4736"
        field = f"traceparent: 00-{trace}-00f067aa0ba902b7-01\r\n"
        self.assertEqual(self.get("other", fields=basic("anna") + field), 200)
        self.assertEqual(self.get("ads", fields=basic("anna") + "traceparent: 00-junk-01\r\n"), 403)
        log = self.folder / "access.log"
        passed, stopped = map(json.loads, until(lambda: len(lines := whole_lines(log)) >= 2 and lines))
        self.assertEqual((passed["trace_id"], passed["user"], passed["group"]), (trace, "anna", "pupils"))
        self.assertNotIn("trace_id", stopped)
        [(_, fields)] = self.origin.requests
        self.assertEqual(fields["traceparent"], f"00-{trace}-00f067aa0ba902b7-01")

    def test_the_journal_gets_what_was_stopped_and_what_was_changed(self):
        if os.geteuid() != 0:
            self.skipTest("only root can give the program a journal of the test's")
        journal = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(journal.close)
        journal.bind(str(self.folder / "journal"))
        journal.settimeout(WAIT)
        # A mount namespace of its own, in which this is the journal's socket.
        mount = ("mount -t tmpfs none /run && mkdir -p /run/systemd/journal && touch /run/systemd/journal/socket && "
                 'mount --bind "$1" /run/systemd/journal/socket && shift && exec "$@"')
        self.start("journal", "unshare", "-m", "sh", "-c", mount, "sh", self.folder / "journal")
        self.assertEqual(self.get("other", fields=basic("anna")), 200)  # is let through, and no record
        answer = self.ask(f"http://ads.test:{self.origin.port}/", basic("anna") + "Accept: application/json\r\n")
        record = dict(line.split("=", 1) for line in journal.recv(65536).decode().splitlines())
        message = json.loads(record.pop("MESSAGE"))
        self.assertIn(record["BLOOMWALL_ID"], answer)
        self.assertEqual(message["id"], record.pop("BLOOMWALL_ID"))
        self.assertEqual(record, {"PRIORITY": "5", "SYSLOG_IDENTIFIER": "bloomwall", "BLOOMWALL_EVENT": "request",
                                  "BLOOMWALL_CLIENT": "127.0.0.1", "BLOOMWALL_USER": "anna", "BLOOMWALL_GROUP": "pupils",
                                  "BLOOMWALL_FILTER": "ads"})
        run(BUILD / "bloomwall", "allow", "ads.test", "--for", "1h", "--why", "two\nlines", "--config", self.folder / "bloomwall.yaml")
        record = dict(line.split("=", 1) for line in journal.recv(65536).decode().splitlines())
        message = json.loads(record.pop("MESSAGE"))
        self.assertEqual((message["what"], message["why"].split()), ("exception.made", ["two", "lines"]))
        self.assertEqual(record, {"PRIORITY": "5", "SYSLOG_IDENTIFIER": "bloomwall", "BLOOMWALL_EVENT": "audit",
                                  "BLOOMWALL_USER": "root", "BLOOMWALL_WHAT": "exception.made", "BLOOMWALL_SUBJECT": "1"})


if __name__ == "__main__":
    missing = [program for program in ("prometheus", "promtool", "goaccess") if not shutil.which(program)]
    if missing:
        print("skipped: not installed:", ", ".join(missing))
        sys.exit(1 if os.environ.get("BLOOMWALL_EVERY_CLIENT") == "1" else 77)
    warnings.simplefilter("ignore", ResourceWarning)  # sockets of origins end with them
    unittest.main(verbosity=2, warnings="ignore")
