#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a list costs each request: one bloomwall with 5 million domains and 1
million URLs, one without any, the same keep-alive load on each in turn. Prints
the median of the ratios of CPU time per request, pair by pair, and how long the
start with the list took.

  filter_cost.py [--pairs 30] [--secs 2] [--domains 5000000] [--urls 1000000]
"""
import argparse
from lib import *
from peers import *
from common import *

ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
ap.add_argument("--pairs", type=int, default=30)
ap.add_argument("--secs", type=int, default=2)
ap.add_argument("--domains", type=int, default=5000000)
ap.add_argument("--urls", type=int, default=1000000)
A = ap.parse_args()


class Listed(Bloomwall):
    """With both kinds of entries in one file."""
    name = "listed"

    def refresh(self):
        d = self.dir
        with open(d + "/domains.txt", "w") as o:
            o.writelines("d%08x.example%d.test\n" % (i * 2654435761 & 0xffffffff, i % 1000) for i in range(A.domains))
        with open(d + "/urls.txt", "w") as o:
            o.writelines("http://u%d.example%d.test/p%d/x%d.html\n" % (i // 4, i % 1000, i % 97, i) for i in range(A.urls))
        r = sh([self.bin + "/bloomwall-filter", "build", "-o", d + "/list.bwf", d + "/domains.txt", d + "/urls.txt"])
        if r.returncode != 0:
            raise SystemExit(r.stdout)


class Unlisted(Bloomwall):
    name = "unlisted"; port = BASE + 21


os.makedirs(RUN, exist_ok=True)
origin = Origin().start()
listed, unlisted = Listed(), Unlisted()
try:
    started = listed.start("both", "-")
    if started is None or unlisted.start() is None:
        raise SystemExit("did not start")
    pairs = paired_costs(listed, unlisted, A.pairs, A.secs)
    ratios = [a / b for a, b in pairs]
    print("filter_cost pairs=%d listed_cpu_us=%.2f unlisted_cpu_us=%.2f ratio_median=%.4f start=%.3fs" %
          (A.pairs, median([a for a, _ in pairs]), median([b for _, b in pairs]), median(ratios), started))
finally:
    listed.stop()
    unlisted.stop()
    origin.stop()
