# SPDX-License-Identifier: Apache-2.0
"""What the tests share: the log of figures, CPU time around a load."""
from lib import *

RUNNING = []                 # stopped at the end even after an interrupt


def log(rec):
    with open(os.path.join(RUN, "results.jsonl"), "a") as f:
        f.write(json.dumps(dict(rec, t=int(time.time()))) + "\n")


def measured(p, fn):
    """Run fn, return (result, user s, system s) spent by the proxy meanwhile."""
    pids = p.pids()
    u0, s0 = cpu(pids)
    r = fn()
    u1, s1 = cpu(set(pids) | set(p.pids()))
    return r, u1 - u0, s1 - s0


def keepalive_us(p, secs, fields=(), host="localhost"):
    """CPU of the proxy for each keep-alive request, in microseconds."""
    r, u, s = measured(p, lambda: wrk(p.addr, 32, secs, authority="%s:%d" % (host, BASE + 80), fields=fields))
    if r["non2xx"] or not r["ok"]:
        raise SystemExit("bad answers: %s" % r)
    return (u + s) * 1e6 / r["ok"]


def paired_costs(a, b, pairs, secs, fields=(), host="localhost"):
    """keepalive_us() of both, pair by pair; who goes first alternates. `fields` are those of a's requests."""
    def cost(p):
        return keepalive_us(p, secs, fields if p is a else (), host)
    cost(a), cost(b)                                 # connections, caches
    out = []
    for i in range(pairs):
        costs = {p: cost(p) for p in ((a, b) if i % 2 else (b, a))}
        out.append((costs[a], costs[b]))
    return out
