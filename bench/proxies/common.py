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
