#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the query log costs: CPU for each request and p99 of two of bloomwall in turn, searches, and a daemon at rest. A release build;
nothing else may run on the machine.

  query_log_cost.py [--pairs 6] [--secs 2] [--rows 1000000] [--entries 1000000] [ROW ...]

ROW (default: all)
  stream    query_log: {record: blocked} and a live stream that is read, against record: off   cpu <= 1.02 x, p99 <= 1.1 x
  all       query_log: {record: all} against record: off, at 500 requests/s                    cpu <= 1.10 x
  most      the same at as many requests as it can; as information
  search    the first page of each kind of search among --rows rows (query_log_bench)          <= 300 ms; by id <= 50 ms
  rest      own memory of a daemon at rest, with a filter of --entries entries: Private_Dirty, RssAnon; as information
"""
import argparse, glob
from lib import *
from common import *
from configured import *

ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
ap.add_argument("rows", nargs="*", metavar="ROW")
ap.add_argument("--pairs", type=int, default=6)
ap.add_argument("--secs", type=int, default=2)
ap.add_argument("--rows", type=int, default=1_000_000, dest="logged")
ap.add_argument("--entries", type=int, default=1_000_000)
A = ap.parse_args()


def off(port):
    return Configured("unlogged", port, (), "query_log: {record: \"off\"}\n")


def cpu_ns(p):
    """Of the process and its threads, exactly: at a low rate the clock ticks of /proc/PID/stat are too coarse."""
    return sum(int(open(f).read().split()[0]) for pid in p.pids() for f in glob.glob("/proc/%d/task/*/schedstat" % pid))


def cost_at_rate(p, secs, rate=500):
    """CPU of the proxy for each request at a fixed rate, in microseconds."""
    before = cpu_ns(p)
    r = pxload("-m", "get", "-t", "localhost:%d" % (BASE + 80), "-P", p.addr, "-c", 32, "-d", secs, "-r", rate)
    if r["bad"] or r["err"]:
        raise SystemExit("bad answers: %s" % r)
    return (cpu_ns(p) - before) / 1e3 / (rate * secs)


def costs_at_rate(a, b, pairs, secs):
    cost_at_rate(a, 1), cost_at_rate(b, 1)           # connections, caches
    out = []
    for i in range(pairs):
        costs = {p: cost_at_rate(p, secs) for p in ((a, b) if i % 2 else (b, a))}
        out.append((costs[a], costs[b]))
    return out


def compare(row, a, b, cpu_goal=None, p99_goal=None, costs_of=paired_costs):
    """The medians of CPU and p99, and of their ratios pair by pair. True: both are within their goals."""
    try:
        started(a, b)
        costs = costs_of(a, b, A.pairs, A.secs)
        waits = []
        for i in range(A.pairs):
            at = {p: p99_ms(p, A.secs) for p in ((a, b) if i % 2 else (b, a))}
            waits.append((at[a], at[b]))
    finally:
        stop_all()
    cpu_ratio, p99_ratio = median([x / y for x, y in costs]), median([x / y for x, y in waits])
    print("query_log_cost %-7s pairs=%d cpu_us=%.2f without_us=%.2f cpu_ratio=%.4f%s p99_ms=%.3f without_ms=%.3f p99_ratio=%.3f%s" %
          (row, A.pairs, median([x for x, _ in costs]), median([y for _, y in costs]), cpu_ratio, goal_text(cpu_goal),
           median([x for x, _ in waits]), median([y for _, y in waits]), p99_ratio, goal_text(p99_goal)), flush=True)
    return (cpu_goal is None or cpu_ratio <= cpu_goal) and (p99_goal is None or p99_ratio <= p99_goal)


def goal_text(goal):
    return "" if goal is None else " goal=%.2f" % goal


def row_stream():
    return compare("stream", Watched("watched", 35, (), "state_dir: DIR/state\nquery_log: {record: blocked}\n"), off(36), 1.02, 1.1)


def everything(port):
    return Configured("logged", port, (), "state_dir: DIR/state\nquery_log: {record: all}\n")


def row_all():
    return compare("all", everything(35), off(36), 1.10, costs_of=lambda a, b, pairs, secs: costs_at_rate(a, b, pairs, 3 * secs))


def row_most():
    return compare("most", everything(35), off(36))


def row_search():
    r = subprocess.run([Bloomwall.bin + "/bench/query_log_bench", "--benchmark_format=json", "--benchmark_filter=newest|host|path|client|filter|id"],
                       stdout=subprocess.PIPE, text=True, env=dict(os.environ, BLOOMWALL_BENCH_ROWS=str(A.logged)))
    if r.returncode != 0:
        raise SystemExit("query_log_bench failed; `./dev bench query_log` builds it")
    good = True
    for b in json.loads(r.stdout)["benchmarks"]:
        ms = b["real_time"] * {"ns": 1e-6, "us": 1e-3, "ms": 1}[b["time_unit"]]
        goal = 50 if b["name"] == "decision_id" else 300
        good &= ms <= goal
        print("query_log_cost search  rows=%d %s ms=%.2f goal=%d" % (A.logged, b["name"], ms, goal), flush=True)
    return good


def row_rest():
    p = Configured("rest", 37, (), "state_dir: DIR/state\n")
    listfile = os.path.join(rundir("rest"), "list.txt")
    with open(listfile, "w") as f:
        f.writelines("h%d.example%d.test\n" % (i, i % 1000) for i in range(A.entries))
    try:
        RUNNING.append(p)
        if p.start("domain", listfile) is None:
            raise SystemExit("did not start, see %s/out" % p.dir)
        time.sleep(2)                                 # the log of its start is written
        dirty = sum(int(line.split()[1]) for pid in p.pids() for line in open("/proc/%d/smaps_rollup" % pid) if line.startswith("Private_Dirty:"))
        print("query_log_cost rest    entries=%d private_dirty_mib=%.1f rss_anon_mib=%.1f filter_mib=%.1f" %
              (A.entries, dirty / 1024, anonymous(p.pids()), os.path.getsize(p.dir + "/list.bwf") / 2**20), flush=True)
    finally:
        stop_all()
    return True


ROWS = {"stream": row_stream, "all": row_all, "most": row_most, "search": row_search, "rest": row_rest}
if set(A.rows) - set(ROWS):
    ap.error("no such row")
os.makedirs(RUN, exist_ok=True)
origin = Origin().start()
try:
    missed = [row for row in A.rows or ROWS if not ROWS[row]()]
finally:
    origin.stop()
sys.exit(bool(missed))
