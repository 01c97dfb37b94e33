#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What interception of TLS costs, row by row, each beside its goal.

  interception.py [ROW ...] [--rounds 5] [--secs 3] [--before FOLDER]

ROW (default: all)
  full      CPU of one intercepted connection, full handshakes, one request    <= 1.15 x both handshakes in bare OpenSSL
  resumed   the same with both sides resumed                                   <= 1.25 x both resumed
  rate      intercepted connections per second, beside squid's ssl-bump        >= 2 x
  inside    requests per second inside kept connections, beside squid's        >= 3 x
  request   CPU of such a request                                              <= plain request + 25 us
  bulk      CPU of 1 GiB inside                                                <= 1.3 x (AES opened and sealed + copied tunnel)
  octet     p50 from the begin to the first octet of the answer                <= plain tunnel + 3 ms full, + 1 ms resumed
  memory    of an idle intercepted pair                                        <= 64 KiB
  others    p99 of plain requests during 200 handshakes/s                      <= p99 without + 5 ms
  off       CPU of CONNECT and tunnel in mode off, of unmarked hosts in urls   <= 1.01 x a build without interception
            (--before FOLDER names that build)

Rounds are interleaved, ratios are of one round, and medians are printed. CPU time is that of the proxy's processes. Ends with 1 if a goal is
missed.
"""
import argparse
import sys
from inspecting import *

ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
ap.add_argument("rows", nargs="*", metavar="ROW")
ap.add_argument("--rounds", type=int, default=5)
ap.add_argument("--secs", type=float, default=3)
ap.add_argument("--before", help="folder with the programs of a build without interception")
A = ap.parse_args()
MISSED = []


class Bench:
    """The servers that rows share; each started when it is first wanted."""

    def __init__(self):
        self.certificates = Certificates(Bloomwall.bin + "/bloomwall")
        self.origin = TlsOrigin().start(self.certificates)
        self.peers = {}

    def peer(self, name, make):
        if name not in self.peers:
            p = make()
            if p.start() is None:
                raise SystemExit("%s did not start, see %s/out" % (name, p.dir))
            self.peers[name] = p
        return self.peers[name]

    def ours(self, mode="all"):
        return self.peer(mode, lambda: Inspecting(self.certificates, mode, {"all": 20, "off": 22, "urls": 23}[mode]))

    def squid(self):
        return self.peer("squid", lambda: SquidBump(self.certificates))

    def before(self):
        return self.peer("before", lambda: Inspecting(self.certificates, "off", 24, A.before, before=True))

    def load(self, p, **how):
        return tlsload(p, self.certificates, secs=how.pop("secs", A.secs), **how)

    def cpu_us(self, p, **how):
        """CPU of the proxy for each unit, in microseconds."""
        r, u, s = measured(p, lambda: self.load(p, **how))
        return (u + s) * 1e6 / r["ok"]

    def stop(self):
        for p in self.peers.values():
            p.stop()
        self.origin.stop()


def rounds(fn, count=None):
    """fn() -> dict; medians of each key."""
    got = [fn() for _ in range(count or A.rounds)]
    for d in got:
        log(dict(d, test="interception"))
    return {k: median([d[k] for d in got]) for k in got[0]}


def say(row, figures, value, goal, at_least=False):
    good = value >= goal if at_least else value <= goal
    if not good:
        MISSED.append(row)
    print("%-22s %s | %.3f, goal %s %g: %s" % (row, "  ".join("%s %.4g" % x for x in figures.items()), value, ">=" if at_least else "<=", goal,
                                              "met" if good else "MISSED"), flush=True)


def row_full(b, resumed=False):
    # Of an origin two sessions are kept, each for one use: more clients at once would make full handshakes among them.
    p, tunnel = b.ours(), b.ours("off")
    how = dict(port=RESUMED_PORT if resumed else FULL_PORT, resume=resumed, conns=1 if resumed else 8)
    b.load(p, **how)                               # the leaf, the chain, sessions
    b.load(tunnel, tunnelled=True, **how)
    kind = "resumed" if resumed else "full"

    def one():
        alone = bare(b.certificates, min(A.secs, 2))
        alone = alone[f"server_{kind}_us"] + alone[f"client_{kind}_us"]
        us, octets = b.cpu_us(p, **how), b.cpu_us(tunnel, tunnelled=True, **how)
        return {"cpu_us": us, "bare_us": alone, "tunnel_us": octets, "beside_bare_and_tunnel": us / (alone + octets), "ratio": us / alone}
    m = rounds(one)
    say(kind, m, m["ratio"], 1.25 if resumed else 1.15)


def row_resumed(b):
    row_full(b, True)


def beside_squid(b, row, goal, **how):
    ours, squid = b.ours(), b.squid()
    for p in (ours, squid):
        b.load(p, **how)

    def one():
        (a, u, s), (o, squid_u, squid_s) = (measured(p, lambda p=p: b.load(p, **how)) for p in (ours, squid))
        us, squid_us = (u + s) * 1e6 / a["ok"], (squid_u + squid_s) * 1e6 / o["ok"]
        return {"per_sec": a["per_sec"], "squid_per_sec": o["per_sec"], "cpu_us": us, "squid_cpu_us": squid_us, "cpu_ratio": squid_us / us,
                "ratio": a["per_sec"] / o["per_sec"]}
    m = rounds(one)
    say(row, m, m["ratio"], goal, at_least=True)


def row_rate(b):
    beside_squid(b, "rate", 2, conns=16)


def row_inside(b):
    beside_squid(b, "inside", 3, conns=16, keep=True)


def row_request(b):
    p = b.ours()
    plain = "ok.test:%d" % PLAIN_PORT
    b.load(p, keep=True)
    wrk(p.addr, 32, A.secs, authority=plain)

    def one():
        r, u, s = measured(p, lambda: wrk(p.addr, 32, A.secs, authority=plain))
        if r["non2xx"] or not r["ok"]:
            raise SystemExit("bad answers: %s" % r)
        outside, inside = (u + s) * 1e6 / r["ok"], b.cpu_us(p, keep=True, conns=32)
        return {"inside_us": inside, "plain_us": outside, "more_us": inside - outside}
    m = rounds(one)
    say("request", m, m["more_us"], 25)


def row_bulk(b):
    p = b.ours()
    copier = subprocess.Popen([RELAY, str(BASE + 90), str(PLAIN_PORT), "copy", "65536"])
    wait_port(BASE + 90, 5)

    def one():
        r, u, s = measured(p, lambda: b.load(p, path="/1g", conns=2, count=2, keep=True, secs=120))
        inside = (u + s) / (r["bytes"] / 1e9)
        u0, s0 = cpu([copier.pid])
        t = pxload("-m", "direct", "-t", "127.0.0.1:%d" % PLAIN_PORT, "-P", "127.0.0.1:%d" % (BASE + 90), "-u", "/1g", "-c", 2, "-n", 2, "-d", 120, "-T", 120000)
        u1, s1 = cpu([copier.pid])
        copied = (u1 + s1 - u0 - s0) / (t["bytes"] / 1e9)
        alone = bare(b.certificates, min(A.secs, 1))
        aes = alone["aes128_s_per_gb" if "AES_128" in r["cipher"] or "AES128" in r["cipher"] else "aes256_s_per_gb"]
        return {"s_per_gb": inside, "aes_s_per_gb": aes, "copied_s_per_gb": copied, "ratio": inside / (aes + copied)}
    try:
        m = rounds(one)
    finally:
        copier.kill()
        copier.wait()
    say("bulk", m, m["ratio"], 1.3)


def row_octet(b):
    """One connection after another, so that nothing waits for the processor."""
    p, tunnel = b.ours(), b.ours("off")
    for resumed in (False, True):
        how = dict(port=RESUMED_PORT if resumed else FULL_PORT, resume=resumed, conns=1)

        def one():
            a, t = b.load(p, **how)["p50_ms"], b.load(tunnel, tunnelled=True, **how)["p50_ms"]
            return {"p50_ms": a, "tunnel_p50_ms": t, "more_ms": a - t}
        m = rounds(one)
        say("octet, " + ("resumed" if resumed else "full"), m, m["more_ms"], 1 if resumed else 3)


def row_memory(b):
    count = 1000

    def one():
        p = Inspecting(b.certificates, "all", 25)
        if p.start() is None:
            raise SystemExit("did not start")
        try:
            b.load(p, conns=16, count=200, secs=20)
            before = anonymous(p.pids())
            q = subprocess.Popen([TLSLOAD, "-P", p.addr, "-t", "ok.test:%d" % FULL_PORT, "-A", b.certificates.path("ca.crt"), "-H", "-c", str(count), "-r", "200", "-d", "60"],
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            held = int(q.stdout.readline().split("ok=")[1])
            if held != count:
                raise SystemExit("held %d of %d: %s" % (held, count, q.communicate()[0]))
            time.sleep(1.5)                            # what is given back when a connection rests
            kib = (anonymous(p.pids()) - before) * 1024 / count
            q.communicate()
            return {"kib": kib}
        finally:
            p.stop()
    m = rounds(one, min(A.rounds, 3))
    say("memory", m, m["kib"], 64)


def row_others(b):
    p = b.ours()
    plain = "ok.test:%d" % PLAIN_PORT

    def p99():
        r = pxload("-m", "get", "-t", "127.0.0.1:%d" % PLAIN_PORT, "-h", plain, "-P", p.addr, "-c", 32, "-d", A.secs, "-r", 500)
        if r["err"] or r["bad"] or not r["ok"]:
            raise SystemExit("plain requests failed: %s" % r)
        return r["p99_ms"]

    def one():
        alone = p99()
        q = subprocess.Popen([TLSLOAD, "-P", p.addr, "-t", "ok.test:%d" % FULL_PORT, "-A", b.certificates.path("ca.crt"), "-c", "64", "-r", "200",
                              "-d", str(A.secs + 1)], stdout=subprocess.PIPE, text=True)
        time.sleep(0.5)
        beside = p99()
        r = json.loads(q.communicate()[0])
        return {"p99_ms": beside, "alone_p99_ms": alone, "more_ms": beside - alone, "handshakes_per_sec": r["per_sec"], "err": r["err"]}
    b.load(p)
    m = rounds(one)
    if m["err"]:
        raise SystemExit("handshakes failed")
    say("others", m, m["more_ms"], 5)


def row_off(b):
    if not A.before:
        print("off: needs --before FOLDER, a build without interception", flush=True)
        MISSED.append("off")
        return
    before = b.before()
    target = "127.0.0.1:%d" % PLAIN_PORT

    def connect(p):
        r, u, s = measured(p, lambda: pxload("-m", "connect", "-t", target, "-h", "ok.test:%d" % PLAIN_PORT, "-P", p.addr, "-c", 32, "-d", A.secs))
        return (u + s) * 1e6 / r["ok"]

    def through(p):
        r, u, s = measured(p, lambda: b.load(p, tunnelled=True, resume=True, port=RESUMED_PORT, conns=16))
        return (u + s) * 1e6 / r["ok"]

    def bulk(p):
        r, u, s = measured(p, lambda: pxload("-m", "tunnel", "-t", target, "-h", "ok.test:%d" % PLAIN_PORT, "-P", p.addr, "-u", "/1g", "-c", 2, "-n", 4,
                                             "-d", 120, "-T", 120000))
        return (u + s) / (r["bytes"] / 1e9)

    for mode in ("off", "urls"):
        p = b.ours(mode)
        for what, fn in (("CONNECT", connect), ("TLS in a tunnel", through), ("tunnel per GB", bulk)):
            for x in (p, before):
                fn(x)
            turn = [0]

            def one():
                turn[0] += 1                           # who goes first alternates
                pair = {}
                for x in ((p, before) if turn[0] % 2 else (before, p)):
                    pair[x] = fn(x)
                return {"now": pair[p], "before": pair[before], "ratio": pair[p] / pair[before]}
            m = rounds(one, A.rounds * 2)
            say(f"{mode}, {what}", m, m["ratio"], 1.01)


ROWS = {name[4:]: fn for name, fn in list(globals().items()) if name.startswith("row_")}

if __name__ == "__main__":
    unknown = [r for r in A.rows if r not in ROWS]
    if unknown:
        ap.error("unknown row " + ", ".join(unknown))
    subprocess.check_call(["make", "-s", "-C", HERE])
    os.makedirs(RUN, exist_ok=True)
    bench = Bench()
    print("origin: %s; proxy: P-256 CA and leaf, %d workers; TLS 1.3" % (ORIGIN_CHAIN, NPROC), flush=True)
    try:
        for row in A.rows or ROWS:
            ROWS[row](bench)
    finally:
        bench.stop()
    sys.exit(1 if MISSED else 0)
