#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What groups, schedules, exceptions, log-in and live requests cost. Of each request: two of bloomwall, the same keep-alive load on each in
turn; the median of the ratios of CPU time per request, pair by pair. All rows together take less than five minutes.

  groups_cost.py [--pairs 20] [--secs 1] [ROW ...]

ROW (default: all)
  groups    64 groups with schedules, 20 filters, 10,000 exceptions, against the 20 filters alone   <= 1.02 x
  all       the same against none of these
  login     a name and a password with each request, checked against a users file and remembered, against no log-in   <= 1.02 x
  hashing   p99 of 1,000 requests a second while 8 log-ins with wrong passwords are checked (bcrypt, cost 12), the worst of 5 rounds   <= 20 ms
  stream    the query log with record: blocked, and somebody who watches live requests, against neither   <= 1.02 x
  allow     with those groups and 10,000 exceptions: from the start of `bloomwall allow` to the first request that it lets pass,
            the slowest of 10   <= 100 ms
  map       memory with 64 groups over one filter of 1 GB, each with an action of its own, against that without groups   <= 1.02 x
"""
import argparse
import base64
from lib import *
from common import *
from configured import *

ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
ap.add_argument("rows", nargs="*", metavar="ROW")
ap.add_argument("--pairs", type=int, default=20)
ap.add_argument("--secs", type=int, default=1)
A = ap.parse_args()

FILTERS, GROUPS, EXCEPTIONS, ALLOWED = 20, 64, 10000, 10
HOST = "www.plain.test"  # of requests: three labels, as the hosts in the filters have
CREDENTIALS = "Proxy-Authorization: Basic " + base64.b64encode(b"alice:open sesame").decode()
HOSTS = [HOST] + [f"h{i}.list1.test" for i in range(ALLOWED)]
MISSED = []


class Listed(Configured):
    """With `filters` and exceptions. The client is in the last group."""

    def __init__(self, name, port, filters=0, more="", exceptions=0, large=None):
        files = [large] if large else [f"{RUN}/filters/{i}.bwf" for i in range(filters)]
        super().__init__(name, port, files, more, exceptions_json(exceptions) if exceptions else "", HOSTS)


def build_filter(file, lines, *options):
    if not os.path.exists(file):
        r = sh([Bloomwall.bin + "/bloomwall-filter", "build", "-q", *options, "-o", file, write(file + ".txt", lines)])
        if r.returncode != 0:
            raise SystemExit(r.stdout)
    return file


def exceptions_json(count):
    """As the proxy keeps it beside state.db."""
    def at(seconds):
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))
    items = [{"id": i + 1, "action": ("allow", "deny")[i % 2], "kind": "S", "entry": f"h{i}.except.test", "filters": [], "why": "bench", "created": at(0),
              "until": at(86400), "client": None, "user": None, "group": None, "who": "root", "until_build": False} for i in range(count)]
    return '{"next_id":%d,"items":[\n%s],\n"switches":[]}\n' % (count + 1, ",\n".join(json.dumps(item) for item in items))


def groups_yaml(filters=FILTERS):
    lines = ["state_dir: DIR/state", "schedules:"]
    lines += [f"- {{name: s{i}, times: [mon-sun 00:00-24:00]}}" for i in range(8)]
    lines.append("groups:")
    for i in range(GROUPS):
        client = "127.0.0.0/8" if i == GROUPS - 1 else f"10.{i}.0.0/16"
        actions = ", ".join(f"f{j}: {{s{j % 8}: {('block', 'monitor')[(i + j) % 2]}, otherwise: block}}" for j in range(filters))
        lines.append(f"- {{name: g{i}, clients: [{client}], filters: {{{actions}}}}}")
    return "\n".join(lines) + "\n"


def grouped(exceptions=EXCEPTIONS):
    return Listed("grouped", 31, FILTERS, groups_yaml(), exceptions)


def say(row, figures, value, goal):
    if goal is not None and value > goal:
        MISSED.append(row)
    print("groups_cost %-8s %s%s" % (row, figures, "" if goal is None else " goal=%g" % goal), flush=True)


def say_ratio(row, a, b, goal, fields=()):
    started(a, b)
    pairs = paired_costs(a, b, A.pairs, A.secs, fields, HOST)
    ratio = median([x / y for x, y in pairs])
    say(row, "pairs=%d cpu_us=%.2f without_us=%.2f ratio_median=%.4f" %
        (A.pairs, median([x for x, _ in pairs]), median([y for _, y in pairs]), ratio), ratio, goal)


def row_groups():
    say_ratio("groups", grouped(), Listed("filters", 33, FILTERS), 1.02)


def row_all():
    say_ratio("all", grouped(), Listed("without", 32), None)


def row_login():
    login = Listed("login", 34, 0, "authentication: {require: [127.0.0.0/8], users_file: DIR/users}\n")
    say_ratio("login", login, Listed("without", 32), 1.02, (CREDENTIALS,))


class Hashing(Listed):
    """Who comes from 127.1.0.0/16 must log in, as one of u0 to u39, whose password is "open sesame"."""
    HASH = "$2b$12$abcdefghijklmnopqrstuuq2uHH4t8IjTa8PV9VUUF1vssBH6WaR2"

    def command(self):
        command = super().command()
        write(self.dir + "/users", "".join("u%d:%s\n" % (i, self.HASH) for i in range(40)), 0o600)
        return command

    def log_in(self, i, statuses):
        with socket.create_connection(("127.0.0.1", BASE + 39), source_address=("127.1.0.%d" % (i + 1), 0)) as c:
            credentials = base64.b64encode(b"u%d:wrong" % i).decode()
            c.sendall(("GET http://%s/1k HTTP/1.1\r\nHost: x\r\nProxy-Authorization: Basic %s\r\n\r\n" % (HOST, credentials)).encode())
            statuses.append(int(c.recv(64).split()[1]))


def row_hashing():
    p, = started(Hashing("hashing", 39, 0, "authentication: {require: [127.1.0.0/16], users_file: DIR/users}\n"))
    alone, beside, statuses = [], [], []
    for round in range(5):
        alone.append(p99_ms(p, 1, 1000))
        guests = [threading.Thread(target=p.log_in, args=(8 * round + i, statuses)) for i in range(8)]
        for guest in guests:
            guest.start()
        beside.append(p99_ms(p, 1, 1000))
        for guest in guests:
            guest.join()
    if statuses != [407] * 40:
        raise SystemExit("log-ins were not checked: %s" % statuses)
    say("hashing", "p99_ms=%.2f worst_ms=%.2f without_ms=%.2f" % (median(beside), max(beside), median(alone)), max(beside), 20)


def row_stream():
    watched = Watched("watched", 35, (), "state_dir: DIR/state\nquery_log: {record: blocked}\n", hosts=HOSTS)
    say_ratio("stream", watched, Listed("unwatched", 36, 0, "query_log: {record: \"off\"}\n"), 1.02)


def row_allow():
    p, = started(grouped(EXCEPTIONS - ALLOWED - 1))
    options = ["--config", p.dir + "/conf.yaml", "--why", "bench"]
    if sh([p.bin + "/bloomwall", "deny", *options, "first.except.test"]).returncode:  # the first one writes state.db
        raise SystemExit("bloomwall deny failed")
    times = []
    for i in range(ALLOWED):
        host = f"h{i}.list1.test"  # which the client's group blocks
        url = "http://%s:%d/1k" % (host, BASE + 80)
        if http_status(p.addr, url) != 403:
            raise SystemExit("%s is not blocked" % url)
        begin = time.monotonic()
        command = subprocess.Popen([p.bin + "/bloomwall", "allow", *options, host], stdout=subprocess.DEVNULL)
        while http_status(p.addr, url) != 200 and time.monotonic() - begin < 10:
            time.sleep(0.001)
        times.append((time.monotonic() - begin) * 1000)
        if command.wait() != 0 or times[-1] > 10000:
            raise SystemExit("bloomwall allow %s: status %d, %.0f ms" % (host, command.returncode, times[-1]))
    say("allow", "exceptions=%d median_ms=%.1f slowest_ms=%.1f" % (EXCEPTIONS, median(times), max(times)), max(times), 100)


def row_map():
    """64 hosts in a filter that is made for as many as fill 1 GB."""
    large = build_filter(f"{RUN}/filters/large.bwf", "".join(f"h{i}.list1.test\n" for i in range(64)), "--entries", "250000000", "--kinds", "S=1",
                         "--memory", "1000M")
    memories = []
    for p in (Listed("large_grouped", 37, more=groups_yaml(1), large=large), Listed("large", 38, large=large)):
        started(p)
        memories.append(memory(p.pids())[1])
        p.stop()
    size = os.path.getsize(large) / 2**20
    if min(memories) < size / 2:
        raise SystemExit("the filter is not in memory: %s MiB" % memories)
    ratio = memories[0] / memories[1]
    say("map", "filter_mib=%.0f groups=%d mib=%.1f without_mib=%.1f ratio=%.4f" % (size, GROUPS, *memories, ratio), ratio, 1.02)


ROWS = {name[4:]: fn for name, fn in list(globals().items()) if name.startswith("row_")}

if __name__ == "__main__":
    unknown = [row for row in A.rows if row not in ROWS]
    if unknown:
        ap.error("unknown row " + ", ".join(unknown))
    os.makedirs(f"{RUN}/filters", exist_ok=True)
    for i in range(FILTERS):
        build_filter(f"{RUN}/filters/{i}.bwf", "".join(f"h{j}.list{i}.test\n" for j in range(2000)))
    origin = Origin().start()
    try:
        for name in A.rows or ROWS:
            try:
                ROWS[name]()
            finally:
                stop_all()
    finally:
        origin.stop()
    sys.exit(1 if MISSED else 0)
