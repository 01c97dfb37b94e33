# SPDX-License-Identifier: Apache-2.0
"""Tests with block lists: start, memory, rate, reload under load."""
from lib import *
from peers import *
from common import *
from options import A, ap


# ----------------------------------------------------------- block lists
def domain(i):
    """The i-th generated domain: looks random, always the same, never repeats."""
    x = (i * 2654435761 + 12345) & 0xffffffff
    y = x ^ (x >> 15)
    w = ("ads", "shop", "news", "track", "media", "cdn", "play", "stat")[y & 7]
    return "%s%08x.%s" % (w, x, ("com", "net", "org", "info", "de", "ru", "xyz", "co.uk")[(y >> 3) & 7])


def entry(kind, i):
    return domain(i) if kind == "domain" else "%s/p%d/x%d.html" % (domain(i // 4), i % 97, i)


def list_file(kind, n):
    f = os.path.join(RUN, "lists", "%s.%d" % (kind, n))
    if not os.path.exists(f):
        os.makedirs(os.path.dirname(f), exist_ok=True)
        with open(f + ".new", "w") as o:
            o.writelines(entry(kind, i) + "\n" for i in range(n))
        os.rename(f + ".new", f)
    return f


def is_blocked(status):
    return status in (403, 302, 307)


def verify(p, kind, n):
    """Listed names are blocked (first, middle, last, below), others pass."""
    bad = []
    for i in (0, n // 2, n - 1):
        e = entry(kind, i)
        url = "http://" + e + ("/any" if kind == "domain" else "")
        s = http_status(p.addr, url, 30, p.block_text)
        if not is_blocked(s):
            bad.append("listed %d -> %s" % (i, s))
    if kind == "domain" and p.subdomains:
        s = http_status(p.addr, "http://www.a." + domain(n // 3) + "/", 30, p.block_text)
        if not is_blocked(s):
            bad.append("subdomain -> %s" % s)
    s = http_status(p.addr, "http://localhost:%d/1k" % (BASE + 80), 30)
    if s != 200:
        bad.append("not listed -> %s" % s)
    return bad


def filter_peers():
    default = ["bloomwall", "squid", "squidguard", "e2guardian", "haproxy"]
    if A.peers == "none":
        names = []
    else:
        names = default if A.peers == "all" else A.peers.split(",")
    return [n for n in names if A.kind in ALL[n].filters]


def t_filter():
    """filter and reload in one: starting with a big list is the costly part."""
    do_reload = A.test == "reload"
    sizes = [int(float(x)) for x in A.sizes.split(",")]
    todo = [(n, s) for s in sizes for n in filter_peers()]
    for p_ in A.proxy:
        todo.append((p_, sizes[0]))
    for name, n in todo:
        ext = "=" in name
        p = External(*name.split("=", 1)) if ext else ALL[name]()
        src = list_file(A.kind, n)
        os.makedirs(RUN + "/lists", exist_ok=True)
        if ext:
            f = A.list_file
        else:
            f = os.path.join(RUN, "lists", "now." + name)
            shutil.copyfile(src, f)
        t0 = time.monotonic()
        head = f"filter     {p.name:<14} {A.kind} n={n}"
        if p.start(A.kind, f) is None:
            print(head, f"DID NOT START within {p.start_limit}s", flush=True)
            log({"test": "filter", "proxy": p.name, "kind": A.kind, "n": n, "failed": True})
            continue
        RUNNING[:] = [p]
        if ext:
            p.prep_s = 0.0
        s = None
        while time.monotonic() - t0 < 300 and s != 200:        # first good answer
            s = http_status(p.addr, "http://localhost:%d/1k" % (BASE + 80), 60)
            if s != 200:
                time.sleep(0.1)
        start_s = time.monotonic() - t0 - p.prep_s
        wrong = verify(p, A.kind, n)
        auth = "localhost:%d" % (BASE + 80)
        rates, cpus = [], []
        for _ in range(A.rounds):
            r, u, sy = measured(p, lambda: wrk(p.addr, A.conns, A.secs, authority=auth))
            rates.append(r["ok"] / r["sec"]); cpus.append((u + sy) * 1e6 / max(r["ok"], 1))
        rss, pss = memory(p.pids())
        rec = {"test": "filter", "proxy": p.name, "kind": A.kind, "n": n, "prep_s": p.prep_s, "start_s": start_s, "pss": pss, "rss": rss,
               "rps": median(rates), "cpu_us": median(cpus), "wrong": wrong}
        log(rec)
        print(f"{head} prep={p.prep_s:.2f}s start={start_s:.2f}s PSS={pss:.0f}MiB RSS={rss:.0f}MiB rps={median(rates):.0f} cpu_us={median(cpus):.0f} "
              f"blocks={'ok' if not wrong else 'WRONG ' + '; '.join(wrong)}", flush=True)
        if do_reload and (not ext or (A.list_file and A.reload_cmd)):
            reload_under_load(p, f, n, median(rates), ext)
        p.stop()
        if not ext:
            os.unlink(f)
    return []


def reload_under_load(p, f, n, rps, ext):
    """Load at a third of the capacity (at most 500/s); add one entry; reload;
    wait until the new entry is blocked."""
    rate = max(5, min(500, rps * 0.3))
    new = "added%d-%d.example" % (n, int(time.time()))
    url = "http://%s/x.html" % new
    before = http_status(p.addr, url, 30, p.block_text)
    if is_blocked(before):
        print("!! already blocked:", url, before)
    q = subprocess.Popen([PXLOAD, "-m", "get", "-t", ORIGIN, "-h", "localhost:%d" % (BASE + 80), "-P", p.addr, "-c", "32", "-r", str(rate), "-d", "200", "-T", "150000"],
                         stdout=subprocess.PIPE, text=True)
    time.sleep(2)
    with open(f, "a") as o:
        o.write(new + ("\n" if A.kind == "domain" else "/x.html\n"))
    t0 = time.monotonic()
    anon, anon_peak = anonymous(p.pids()), 0.0
    peak = [0.0]
    if not ext:
        p.refresh()
    prep = time.monotonic() - t0
    t0 = time.monotonic()
    if ext:
        sh(["sh", "-c", A.reload_cmd])
    else:
        p.reload()
    took, died = None, ""
    while time.monotonic() - t0 < 60:
        # short: a question asked before the reload may hang on the unknown name (DNS, retries)
        s = http_status(p.addr, url, 0.5, p.block_text)
        peak[0] = max(peak[0], memory(p.pids())[1])
        anon_peak = max(anon_peak, anonymous(p.pids()))
        if is_blocked(s):
            took = time.monotonic() - t0
            break
        if p.p and p.p.poll() is not None:
            died = "DIED(exit %s) " % p.p.returncode      # negative: killed by that signal
            break
        time.sleep(0.05)
    time.sleep(2)
    if p.p and p.p.poll() is not None:
        died = "DIED(exit %s) " % p.p.returncode
    q.send_signal(signal.SIGINT)
    try:
        r = json.loads(q.communicate(timeout=200)[0])
    except ValueError:
        r = {"ok": 0, "err": -1, "bad": -1, "stall_ms": -1, "p99_ms": -1, "max_ms": -1, "retried": 0}
    rec = {"test": "reload", "proxy": p.name, "kind": A.kind, "n": n, "prep_s": prep, "effect_s": took, "rate": rate, "ok": r["ok"], "err": r["err"], "bad": r["bad"],
           "retried": r["retried"], "stall_ms": r["stall_ms"], "max_ms": r["max_ms"], "p99_ms": r["p99_ms"], "peak_pss": peak[0], "anon": anon, "peak_anon": anon_peak, "died": died}
    log(rec)
    print(f"reload     {p.name:<14} {A.kind} n={n} rate={rate:.0f}/s prep={prep:.2f}s {died}effective_after={'%.2fs' % took if took is not None else 'NEVER(60s)'} "
          f"ok={r['ok']} err={r['err']} bad={r['bad']} retried={r['retried']} longest_stall={r['stall_ms']:.0f}ms max_latency={r['max_ms']:.0f}ms peak_PSS={peak[0]:.0f}MiB anonymous={anon:.1f}->{anon_peak:.1f}MiB status={r.get('status')}", flush=True)
