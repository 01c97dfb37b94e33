#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tunnel floor: CPU seconds per GB of a bare relay, copying or with splice(),
for several buffer sizes.  4 parallel downloads of 1 GiB, interleaved rounds."""
from lib import *
import sys
rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
os.makedirs(RUN, exist_ok=True)
o = Origin().start()
kinds = [("copy", 4096), ("copy", 16384), ("copy", 65536), ("copy", 262144), ("splice", 65536), ("splice", 262144), ("splice", 1048576)]
got = {k: [] for k in kinds}
try:
    for _ in range(rounds):
        for i, k in enumerate(kinds):
            port = BASE + 60 + i
            p = subprocess.Popen([os.path.join(BUILD, "proxies", "relay"), str(port), str(BASE + 80), k[0], str(k[1])])
            time.sleep(0.3)
            a = cpu([p.pid])
            r = pxload("-m", "direct", "-t", ORIGIN, "-P", "127.0.0.1:%d" % port, "-u", "/1g", "-c", 4, "-n", 4, "-d", 40, "-T", 40000)
            b = cpu([p.pid])
            gb = r["bytes"] / 1e9
            got[k].append((gb / r["sec"], (b[0] + b[1] - a[0] - a[1]) / gb, r["ok"]))
            p.terminate(); p.wait()
    for k, v in got.items():
        print(f"relay {k[0]:<6} {k[1]:>8}  GB_s={median([x[0] for x in v]):.2f} cpu_s_per_GB={median([x[1] for x in v]):.3f} ok={sum(x[2] for x in v)}/{4*rounds}")
finally:
    o.stop()
