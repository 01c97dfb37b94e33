#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a build costs the proxy beside it: p99 at 500 requests a second and the daemon's own memory while `bloomwall update` builds a
filter of 5 million entries, as its unit runs it (on idle processors and disks), and before. A release build; needs util-linux.

  build_beside.py [--entries 5M] [--secs 15] [--rate 500]

Goals: p99 beside <= 1.1 x of alone; RssAnon of the daemon within 4 MiB once the new filter is served.
"""
import argparse
from lib import *
from common import *
from configured import *

ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
ap.add_argument("--entries", default="5M")
ap.add_argument("--secs", type=float, default=15)
ap.add_argument("--rate", type=int, default=500)
A = ap.parse_args()
ENTRIES = int(float(A.entries.rstrip("kM")) * {"k": 1e3, "M": 1e6}.get(A.entries[-1], 1))


class Updated(Configured):
    """With one filter that is made of a list on this disk."""

    def command(self):
        command = super().command()
        d = self.dir
        text = open(d + "/conf.yaml").read().replace("filters: []", f"filters: [{{name: big, file: {d}/big.bwf, sources: [{{url: {d}/big.txt}}]}}]")
        write(d + "/conf.yaml", text + f"update: {{folder: {d}/lists}}\n")
        self.make_list(1000)
        self.update().wait()
        return command

    def make_list(self, count):
        with open(self.dir + "/big.txt", "w") as f:
            f.writelines("h%d.example%d.test\n" % (i, i % 5000) for i in range(count))

    def update(self):
        """As bloomwall-update.service runs it; --force: the list has grown."""
        return subprocess.Popen(["chrt", "--idle", "0", "nice", "-n", "19", "ionice", "-c", "3", self.bin + "/bloomwall", "update", "big", "--force", "--config",
                                 self.dir + "/conf.yaml"], stdout=open(self.dir + "/update.out", "w"), stderr=subprocess.STDOUT)


p = Updated("beside", 39, (), "state_dir: DIR/state\n")
os.makedirs(RUN, exist_ok=True)
origin = Origin().start()
try:
    shutil.rmtree(p.dir + "/lists", ignore_errors=True)
    os.makedirs(p.dir, exist_ok=True)
    started(p)
    p99_ms(p, 1, A.rate)                              # connections, caches
    alone = p99_ms(p, A.secs, A.rate)
    before = anonymous(p.pids())
    p.make_list(ENTRIES)
    beside, during, t0 = [], [], time.monotonic()
    build = p.update()
    while build.poll() is None:
        beside.append(p99_ms(p, 2, A.rate))
        during.append(anonymous(p.pids()))
    took = time.monotonic() - t0
    if build.returncode != 0:
        raise SystemExit("the build failed, see %s/update.out" % p.dir)
    after = anonymous(p.pids())
finally:
    stop_all()
    origin.stop()
worst = median(beside)
print("build_beside entries=%d build_s=%.1f p99_ms=%.3f worst_2s_ms=%.3f alone_ms=%.3f rss_anon_mib before=%.1f most=%.1f after=%.1f" %
      (ENTRIES, took, worst, max(beside), alone, before, max(during), after))
sys.exit(worst > 1.1 * alone or after > before + 4)
