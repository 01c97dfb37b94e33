#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What misbehaving clients of the admin address cost clients of the proxy: p99 at 500 requests a second with 8 live streams that nobody
reads, 64 idle connections and bodies of 1 MiB beside it, and without; in turn, against one bloomwall. A release build.

  admin_load.py [--pairs 10] [--secs 3]

Prints the median of the ratios, pair by pair; goal: 1.1 x. Streams are opened anew for each round: the proxy cuts them.
"""
import argparse
from lib import *
from common import *
from configured import *

ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
ap.add_argument("--pairs", type=int, default=10)
ap.add_argument("--secs", type=float, default=3)
A = ap.parse_args()
GOAL = 1.1


class Nuisance:
    """Of the control socket and of the admin address, from its start to stop()."""

    def __init__(self, p):
        self.p, self.ended, self.refused, self.held = p, False, 0, []
        self.held += [p.open_stream() for _ in range(8)]
        self.held += [socket.create_connection(("127.0.0.1", BASE + 38)) for _ in range(64)]
        self.poster = threading.Thread(target=self.post, daemon=True)
        self.poster.start()

    def post(self):
        head = b"POST /api/v1/exceptions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1048576\r\n\r\n"
        while not self.ended:
            c = socket.socket(socket.AF_UNIX)
            c.connect(self.p.dir + "/sock")
            try:
                c.sendall(head + b"x" * 1048576)
                self.refused += b" 413 " in c.recv(4096)
            except OSError:                           # closed while it was sent
                self.refused += 1
            c.close()
            time.sleep(0.02)

    def stop(self):
        self.ended = True
        self.poster.join()
        for c in self.held:
            c.close()


p = Configured("admin", 37, (), "state_dir: DIR/state\nquery_log: {record: blocked}\n", admin='"127.0.0.1:%d"' % (BASE + 38))
os.makedirs(RUN, exist_ok=True)
origin = Origin().start()
try:
    started(p)
    p99_ms(p, 1)                                      # connections, caches
    pairs, refused = [], 0
    for i in range(A.pairs):
        at = {}
        for beside in (True, False) if i % 2 else (False, True):
            nuisance = Nuisance(p) if beside else None
            at[beside] = p99_ms(p, A.secs)
            if nuisance:
                nuisance.stop()
                refused += nuisance.refused
        pairs.append((at[True], at[False]))
finally:
    stop_all()
    origin.stop()
ratio = median([x / y for x, y in pairs])
print("admin_load pairs=%d refused_bodies=%d p99_ms=%.3f without_ms=%.3f ratio_median=%.3f goal=%.2f" %
      (A.pairs, refused, median([x for x, _ in pairs]), median([y for _, y in pairs]), ratio, GOAL))
sys.exit(ratio > GOAL or refused == 0)
