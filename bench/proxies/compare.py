#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs one test of options.py over the chosen proxies."""
import sys
from lib import *
from peers import *
from common import *
from lists import t_filter
from options import A, ap




class Direct(External):
    """No proxy at all: the ceiling."""
    connect = False; filters = ()

    def __init__(self):
        self.name, self._addr, self.port = "direct", ORIGIN, BASE + 80
        self.roots = [ORG.p.pid]


def chosen(extra=()):
    if A.peers == "none":
        names = []
    elif A.peers == "all":
        names = PLAIN + list(extra)
    else:
        names = A.peers.split(",")
    out = [Direct() if n == "direct" else ALL[n]() for n in names]
    return out + [External(*p.split("=", 1)) for p in A.proxy]


def up(ps):
    good = []
    for p in ps:
        if p.start() is None:
            print(f"{A.test:<10} {p.name:<14} DID NOT START (see {p.dir}/out)", flush=True)
        else:
            good.append(p)
    time.sleep(1)
    return good


def rounds(ps, fn, pause=0.3):
    """fn(p) -> dict of numbers; interleaved; medians per proxy."""
    got = {p.name: [] for p in ps}
    for _ in range(A.rounds):
        for p in ps:
            d = fn(p)
            log(dict(d, test=A.test, proxy=p.name))
            got[p.name].append(d)
            time.sleep(pause)
    return {n: {k: (sum(x[k] for x in v) if k.startswith("err") or k == "bad" else median([x[k] for x in v])) for k in v[0]} for n, v in got.items()}


def show(test, res, spread=None):
    for n, d in res.items():
        print(f"{test:<10} {n:<14} " + " ".join(f"{k}={v:.4g}" if isinstance(v, float) and abs(v) < 1000 else f"{k}={v:.0f}" for k, v in d.items()), flush=True)


# ------------------------------------------------------------------ tests
# What is kept of an origin's connections in its first second must rest before it is used again (bloomwall): a row is
# of an origin that is known.
WARM_SECS = 3


# 5,000 octets behind a host with a port: many segments with an escape in each.
LONG_PATH = "/sink/" + "/".join("segment%%20%d" % i for i in range(1000, 1333))


def t_wrk(**how):
    ps = up(chosen(["relay_tcp", "direct"]))
    for p in ps:
        wrk(p.addr, A.conns, WARM_SECS, **how)

    def one(p):
        r, u, s = measured(p, lambda: wrk(p.addr, A.conns, A.secs, **how))
        n = max(r["ok"], 1)
        return {"rps": r["ok"] / r["sec"], "cpu_us_per_req": (u + s) * 1e6 / n, "user_us": u * 1e6 / n, "sys_us": s * 1e6 / n,
                "p50_ms": r.get("p50_ms", -1), "p99_ms": r.get("p99_ms", -1), "bad": r["non2xx"],
                "err": r.get("err_connect", 0) + r.get("err_timeout", 0) + (r.get("err_read", 0) if p.keepalive else 0)}
    show(A.test, rounds(ps, one))
    return ps


def t_bulk(mode):
    ps = up([p for p in chosen(["relay_tcp", "direct"]) if mode == "get" or p.connect or p.name in ("relay_tcp", "direct")])

    def one(p):
        m = "direct" if p.name in ("relay_tcp", "direct") else mode
        r, u, s = measured(p, lambda: pxload("-m", m, "-t", ORIGIN, "-P", p.addr, "-u", "/1g", "-c", 4, "-n", 4, "-d", 60, "-T", 60000))
        gb = max(r["bytes"], 1) / 1e9
        if r["ok"] != 4 or r["bytes"] != 4 << 30:
            print("!! short transfer", p.name, r)
        return {"GB_s": gb / r["sec"], "cpu_s_per_GB": (u + s) / gb, "user": u / gb, "sys": s / gb, "err": r["err"], "bad": r["bad"]}
    show(A.test, rounds(ps, one))
    return ps


def t_connect():
    ps = up([p for p in chosen() if p.connect])

    def one(p):
        r, u, s = measured(p, lambda: pxload("-m", "connect", "-t", ORIGIN, "-P", p.addr, "-c", A.conns, "-d", A.secs))
        n = max(r["ok"], 1)
        return {"connects_s": r["per_sec"], "cpu_us": (u + s) * 1e6 / n, "p50_ms": r["p50_ms"], "p99_ms": r["p99_ms"], "err": r["err"], "bad": r["bad"]}
    show(A.test, rounds(ps, one, 1.0))
    return ps


def t_latency():
    ps = up(chosen(["relay_tcp", "direct"]))

    def one(p):
        r, u, s = measured(p, lambda: pxload("-m", "get", "-t", ORIGIN, "-P", p.addr, "-c", 64, "-d", A.secs, "-r", A.rate))
        return {"rate": r["per_sec"], "p50_ms": r["p50_ms"], "p99_ms": r["p99_ms"], "p999_ms": r["p999_ms"],
                "cpu_pct": (u + s) / r["sec"] * 100, "err": r["err"], "bad": r["bad"]}
    show(A.test, rounds(ps, one))
    return ps


def t_beside():
    """Small requests at a fixed rate while two downloads take what they can."""
    ps = up(chosen())

    def one(p):
        bulk = subprocess.Popen([PXLOAD, "-m", "get", "-t", ORIGIN, "-P", p.addr, "-u", "/1g", "-c", "2", "-n", "1000",
                                 "-d", str(A.secs + 2), "-T", "60000"], stdout=subprocess.PIPE, text=True)
        time.sleep(1)
        r = pxload("-m", "get", "-t", ORIGIN, "-P", p.addr, "-c", 64, "-d", A.secs, "-r", A.rate)
        moved = json.loads(bulk.communicate()[0])
        return {"rate": r["per_sec"], "p50_ms": r["p50_ms"], "p99_ms": r["p99_ms"], "p999_ms": r["p999_ms"],
                "bulk_GB_s": moved["bytes"] / 1e9 / moved["sec"], "err": r["err"], "bad": r["bad"]}
    show(A.test, rounds(ps, one))
    return ps


def hold(p, mode, n):
    """Open n connections and keep them idle; returns (held, rss, pss)."""
    q = subprocess.Popen([PXLOAD, "-m", mode, "-H", "-t", ORIGIN, "-P", p.addr, "-c", str(n), "-d", "60"],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    line = q.stdout.readline()
    time.sleep(1.5)
    rss, pss = memory(p.pids())
    out = q.communicate()[0]
    held = int(re.search(r"held=(\d+)", out or line).group(1))
    time.sleep(1)
    return held, rss, pss




def t_memory():
    for p in chosen(["relay_tcp"]):
        if p.name == "direct":
            continue
        res = []
        for mode, n in (("get", 0), ("get", 1000), ("get", 5000), ("connect", 1000)):
            if mode == "connect" and not p.connect:
                res.append("tunnels1000=n/a")
                continue
            if p.start() is None:            # fresh process for each figure
                res.append("start failed")
                continue
            RUNNING[:] = [p]
            time.sleep(1)
            pxload("-m", "get", "-t", ORIGIN, "-P", p.addr, "-c", 4, "-n", 200, "-d", 5)   # warm
            held, rss, pss = hold(p, mode, n) if n else (0, *memory(p.pids()))
            key = {"get": "idle", "connect": "tunnels"}[mode] + str(n)
            res.append(f"{key}={pss:.1f}MiB" + (f"(held {held})" if held != n else ""))
            log({"test": "memory", "proxy": p.name, "what": key, "held": held, "rss": rss, "pss": pss})
            p.stop()
        print(f"memory     {p.name:<14} PSS " + " ".join(res), flush=True)
    return []


def t_check():
    ps = up(chosen(["relay_tcp"]))
    for p in ps:
        c0 = ORG.requests()
        r = pxload("-m", "get", "-t", ORIGIN, "-P", p.addr, "-c", 8, "-n", 800, "-d", 20)
        seen = ORG.requests() - c0 - 1
        whole = r["ok"] == 800 and r["bytes"] == 800 * 1024
        con = tls = "n/a"
        if p.connect:
            t = pxload("-m", "tunnel", "-t", ORIGIN, "-P", p.addr, "-c", 8, "-n", 80, "-d", 20)
            con = "ok" if t["ok"] == 80 and t["bytes"] == 80 * 1024 else "FAILED %s" % t
            b = sh(["curl", "-sk", "-m", "20", "-o", "/dev/null", "-w", "%{http_code} %{size_download}", "-x", "http://" + p.addr, "https://" + ORIGIN_TLS + "/64k"]).stdout
            tls = "ok" if b == "200 65536" else "FAILED " + b
        print(f"check      {p.name:<14} get={'ok' if whole else 'FAILED %s' % r} origin_saw={seen}/800 tunnel={con} tls={tls} conns={r['conns']} retried={r['retried']}", flush=True)
    return ps


def strace_count(p, fn):
    """System calls of the proxy's processes while fn runs: {name: calls}."""
    out = os.path.join(RUN, "strace.out")
    cmd = ["strace", "-c", "-f", "-U", "name,calls", "-o", out] + sum((["-p", str(x)] for x in p.pids()), [])
    q = subprocess.Popen(cmd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(1.5)
    r = fn()
    time.sleep(0.3)
    q.send_signal(signal.SIGINT)
    try:
        q.wait(10)
    except subprocess.TimeoutExpired:
        q.kill()
    calls = {}
    for line in open(out):
        w = line.split()
        if len(w) == 2 and w[1].isdigit() and w[0] != "total":
            calls[w[0]] = int(w[1])
        elif len(w) == 2 and w[0].isdigit() and w[1] != "total":
            calls[w[1]] = int(w[0])
    return r, calls


def t_syscalls():
    # the smaller of two runs is taken off the larger: fixed cost cancels out
    ps = up(chosen(["relay_tcp"]))
    for p in ps:
        for mode, extra in (("get", []), ("get", ["-C"]), ("connect", [])):
            if mode == "connect" and not p.connect:
                continue
            f = lambda n: strace_count(p, lambda: pxload("-m", mode, "-t", ORIGIN, "-P", p.addr, "-c", 16, "-n", n, "-d", 30, *extra))
            (r0, a), (r, b) = f(400), f(2400)
            units = max(r["ok"] - r0["ok"], 1)
            per = {k: (b[k] - a.get(k, 0)) / units for k in b}
            tot = sum(per.values())
            top = " ".join(f"{k}:{v:.2f}" for k, v in sorted(per.items(), key=lambda x: -x[1])[:12] if v >= 0.05)
            what = "keepalive" if mode == "get" and not extra else "close" if mode == "get" else "connect"
            log({"test": "syscalls", "proxy": p.name, "mode": what, "per_unit": tot, "calls": per})
            print(f"syscalls   {p.name:<14} {what:<9} total={tot:.1f} ok={r['ok']} | {top}", flush=True)
    return ps


TESTS = {"check": t_check, "keepalive": t_wrk, "close": lambda: t_wrk(close=True),
         "post": lambda: t_wrk(post=1024), "post64": lambda: t_wrk(post=65536), "url": lambda: t_wrk(path=LONG_PATH),
         "tunnel": lambda: t_bulk("tunnel"),
         "download": lambda: t_bulk("get"), "connect": t_connect, "latency": t_latency, "beside": t_beside, "memory": t_memory,
         "syscalls": t_syscalls, "filter": t_filter, "reload": t_filter}

if __name__ == "__main__":
    if A.test != "basic" and A.test not in TESTS:
        ap.error("unknown test " + A.test)
    if not os.path.exists(PXLOAD):
        subprocess.check_call(["make", "-s", "-C", HERE])
    os.makedirs(RUN, exist_ok=True)
    Dns().start()
    ORG = Origin().start()
    try:
        for t in (["check", "keepalive", "close", "connect", "latency", "tunnel", "download", "memory"] if A.test == "basic" else [A.test]):
            A.test = t
            ps = []
            try:
                ps = TESTS[t]()
            finally:
                for p in ps:
                    p.stop()
    finally:
        for p in RUNNING:
            if p.p:
                p.stop()
        ORG.stop()
