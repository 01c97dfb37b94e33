#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Swaps a filter that is larger than memory for another under a running proxy
and load: who is listed must get its 403 all the time, everybody else an answer.

  large_swap.py [--size 25GB] [--entries 8G] [--listed 200000]

The files have the size and the geometry of that many entries and hold few, so
that they are soon made: what a swap costs depends on the bytes alone. Takes
twice the size on disk below BLOOMWALL_LARGE_DIR (default: RUN).
"""
import argparse, http.client, random
from lib import *
from peers import *

ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
ap.add_argument("--size", default="25GB")
ap.add_argument("--entries", default="8G")
ap.add_argument("--listed", type=int, default=200000)
A = ap.parse_args()


def url(i):
    return "http://h%d.example.test/p%d/x.html" % (i % 1000, i)


class Large(Bloomwall):
    name = "large"
    home = os.environ.get("BLOOMWALL_LARGE_DIR", RUN)

    def build(self, generation):
        with open(self.dir + "/urls.txt", "w") as o:
            o.writelines(url(i) + "\n" for i in range(A.listed))
            o.write("http://new%d.example.test/x.html\n" % generation)
        t0 = time.monotonic()
        r = sh([self.bin + "/bloomwall-filter", "build", "-q", "-o", "%s/list.bwf.%d" % (self.home, generation), "--format", "urls",
                "--entries", A.entries, "--memory", A.size, "--ram", "4GB", self.dir + "/urls.txt"])
        if r.returncode != 0:
            raise SystemExit(r.stdout)
        os.rename("%s/list.bwf.%d" % (self.home, generation), self.home + "/list.bwf")
        return time.monotonic() - t0

    def refresh(self):
        print("built %s in %.0f s" % (A.size, self.build(1)), flush=True)
        if not os.path.lexists(self.dir + "/list.bwf"):
            os.symlink(self.home + "/list.bwf", self.dir + "/list.bwf")


class Asker(threading.Thread):
    """Asks for listed URLs, one after the other, over one connection."""
    def __init__(self, addr):
        super().__init__(daemon=True)
        self.addr, self.waits, self.wrong, self.stop = addr, [], [], False

    def run(self):
        draw = random.Random(1)
        c = http.client.HTTPConnection(*self.addr.split(":"), timeout=60)
        while not self.stop:
            u = url(draw.randrange(A.listed))
            t0 = time.monotonic()
            c.request("GET", u)
            r = c.getresponse()
            r.read()
            self.waits.append(time.monotonic() - t0)
            if r.status != 403:
                self.wrong.append((u, r.status))
            time.sleep(0.001)


def available():
    return next(int(line.split()[1]) / 1024 for line in open("/proc/meminfo") if line.startswith("MemAvailable:"))


def summary(waits):
    w = sorted(waits)
    return "%d asked, p50 %.2f ms, p99 %.2f ms, longest %.1f ms" % (len(w), w[len(w) // 2] * 1e3, w[len(w) * 99 // 100] * 1e3, w[-1] * 1e3)


origin = Origin().start()
p = Large()
p.start_limit = 300
try:
    started = p.start("url", "-")
    if started is None:
        raise SystemExit("did not start: " + open(p.dir + "/out").read())
    print("started in %.1f s, file of %d bytes" % (started, os.path.getsize(p.home + "/list.bwf")), flush=True)
    load = subprocess.Popen([PXLOAD, "-m", "get", "-t", ORIGIN, "-h", "localhost:%d" % (BASE + 80), "-P", p.addr, "-c", "32", "-r", "500", "-d", "900",
                             "-T", "450000"], stdout=subprocess.PIPE, text=True)
    asker = Asker(p.addr)
    asker.start()
    made = p.build(2)
    time.sleep(2)
    before, anon = list(asker.waits), anonymous(p.pids())
    print("while the second was built (%.0f s): %s" % (made, summary(before)), flush=True)
    t0, peak, least, took = time.monotonic(), 0.0, available(), None
    p.reload()
    while time.monotonic() - t0 < 300 and p.p.poll() is None:
        peak, least = max(peak, anonymous(p.pids())), min(least, available())
        if http_status(p.addr, "http://new2.example.test/x.html", 0.5) == 403:
            took = time.monotonic() - t0
            break
        time.sleep(0.05)
    time.sleep(2)
    asker.stop = True
    asker.join(60)
    print("swap: %s; %s" % ("effective after %.1f s" % took if took else "NEVER", summary(asker.waits[len(before):])), flush=True)
    print("anonymous memory %.1f MiB, at most %.1f; available at least %.0f MiB" % (anon, peak, least))
    load.send_signal(signal.SIGINT)
    r = json.loads(load.communicate(timeout=200)[0])
    print("others: ok=%(ok)d err=%(err)d bad=%(bad)d longest_stall=%(stall_ms).0fms p99=%(p99_ms).1fms" % r)
    print("listed URLs let pass: %d %s" % (len(asker.wrong), asker.wrong[:3]))
    raise SystemExit(0 if took and not asker.wrong and not r["err"] and not r["bad"] else 1)
finally:
    p.stop()
    origin.stop()
    for name in os.listdir(p.home):
        if name.startswith("list.bwf"):
            os.unlink(os.path.join(p.home, name))
