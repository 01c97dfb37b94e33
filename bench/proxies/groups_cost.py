#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What groups, schedules, exceptions, log-in and live requests cost each request: two of bloomwall, the same keep-alive load on each in
turn. Prints the median of the ratios of CPU time per request, pair by pair.

  groups_cost.py [--pairs 30] [--secs 2] [ROW ...]

ROW (default: all)
  groups    64 groups with schedules, 20 filters, 10,000 exceptions, against the 20 filters alone   <= 1.02 x
  all       the same against none of these
  login     a name and a password with each request, checked against a users file, against no log-in   <= 1.02 x
  stream    the query log with record: blocked, and somebody who watches live requests, against neither   <= 1.02 x
"""
import argparse
import base64
import http.client
import json
from lib import *
from peers import *
from common import *

ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
ap.add_argument("rows", nargs="*", metavar="ROW")
ap.add_argument("--pairs", type=int, default=30)
ap.add_argument("--secs", type=float, default=2)
A = ap.parse_args()

FILTERS, GROUPS, EXCEPTIONS = 20, 64, 10000
USERS = "alice:$2b$04$abcdefghijklmnopqrstuu/LVz6MZlItEy42I2juLihZ66HnQx/cy\n"  # open sesame
CREDENTIALS = "Proxy-Authorization: Basic " + base64.b64encode(b"alice:open sesame").decode()


class Configured(Bloomwall):
    """With `filters` and more lines of configuration. The client is in the last group."""

    def __init__(self, name, port, filters=0, more=""):
        self.name, self.port, self.filters_count, self.more = name, BASE + port, filters, more
        super().__init__()

    def command(self):
        command = super().command()
        d = self.dir
        for i in range(self.filters_count):
            write(f"{d}/{i}.txt", "".join(f"h{j}.list{i}.test\n" for j in range(2000)))
            r = sh([self.bin + "/bloomwall-filter", "build", "-q", "-o", f"{d}/{i}.bwf", f"{d}/{i}.txt"])
            if r.returncode != 0:
                raise SystemExit(r.stdout)
        names = ", ".join(f"{{name: f{i}, file: {d}/{i}.bwf}}" for i in range(self.filters_count))
        text = open(d + "/conf.yaml").read().replace("filters: []", f"filters: [{names}]")
        text = text.replace("control_socket: null", f"control_socket: {d}/sock")
        os.makedirs(d + "/state", exist_ok=True)
        write(d + "/users", USERS, 0o600)
        write(d + "/conf.yaml", text + self.more.replace("DIR", d))
        return command

    def ask(self, method, path, body=None):
        """Of the API, on the socket."""
        connection = http.client.HTTPConnection("localhost")
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.connect(self.dir + "/sock")
        connection.request(method, "/api/v1" + path, body and json.dumps(body), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        if answer.status // 100 != 2:
            raise SystemExit("%d: %s" % (answer.status, text))
        return json.loads(text)

    def add_exceptions(self, count):
        """Those that an earlier run has left in its state are kept."""
        for i in range(count - len(self.ask("GET", "/exceptions")["items"]) if count else 0):
            self.ask("POST", "/exceptions", {"action": ("allow", "deny")[i % 2], "entry": f"h{i}.except.test", "why": "bench"})


class Watched(Configured):
    """With a live stream that is read from its start on."""

    def add_exceptions(self, count):
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(self.dir + "/sock")
        connection.sendall(b"GET /api/v1/stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
        threading.Thread(target=self.read, args=(connection,), daemon=True).start()

    @staticmethod
    def read(connection):
        while connection.recv(65536):
            pass


def groups_yaml():
    lines = ["state_dir: DIR/state", "schedules:"]
    lines += [f"- {{name: s{i}, times: [mon-sun 00:00-24:00]}}" for i in range(8)]
    lines.append("groups:")
    for i in range(GROUPS):
        client = "127.0.0.0/8" if i == GROUPS - 1 else f"10.{i}.0.0/16"
        actions = ", ".join(f"f{j}: {{s{j % 8}: {('block', 'monitor')[(i + j) % 2]}, otherwise: block}}" for j in range(FILTERS))
        lines.append(f"- {{name: g{i}, clients: [{client}], filters: {{{actions}}}}}")
    return "\n".join(lines) + "\n"


ROWS = {
    "groups": (lambda: (Configured("grouped", 31, FILTERS, groups_yaml()), Configured("filters", 33, FILTERS)), EXCEPTIONS, (), 1.02),
    "all": (lambda: (Configured("grouped", 31, FILTERS, groups_yaml()), Configured("without", 32)), EXCEPTIONS, (), None),
    "stream": (lambda: (Watched("watched", 35, 0, "state_dir: DIR/state\nquery_log: {record: blocked}\n"),
                        Configured("unwatched", 36, 0, "query_log: {record: \"off\"}\n")), 0, (), 1.02),
    "login": (lambda: (Configured("login", 34, 0, "authentication: {require: [127.0.0.0/8], users_file: DIR/users}\n"), Configured("without", 32)),
              0, (CREDENTIALS,), 1.02),
}

os.makedirs(RUN, exist_ok=True)
origin = Origin().start()
missed = 0
try:
    for row in A.rows or ROWS:
        make, exceptions, fields, goal = ROWS[row]
        a, b = make()
        try:
            if a.start() is None or b.start() is None:
                raise SystemExit("did not start, see %s/out" % a.dir)
            a.add_exceptions(exceptions)
            pairs = paired_costs(a, b, A.pairs, A.secs, fields)
        finally:
            for p in (a, b):
                if p.p:
                    p.stop()
        ratio = median([x / y for x, y in pairs])
        missed += goal is not None and ratio > goal
        print("groups_cost %-8s pairs=%d cpu_us=%.2f without_us=%.2f ratio_median=%.4f%s" %
              (row, A.pairs, median([x for x, _ in pairs]), median([y for _, y in pairs]), ratio, "" if goal is None else " goal=%.2f" % goal), flush=True)
finally:
    origin.stop()
sys.exit(missed > 0)
