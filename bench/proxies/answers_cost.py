#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a verdict by `answers:` costs a request of squid: squid alone, squid with `bloomwall answer squid` as external ACL, and squid with the
proxy as ICAP service, the same keep-alive load on each in turn. Prints the CPU time for each request: of squid, of its helper, and of
bloomwall; and what the last two, which are ours, add to what they take while nobody asks. The rest of the difference is squid's own way to ask.

  answers_cost.py [--rounds 15] [--secs 2]      ours: <= 15 us a question
"""
import argparse, glob
from lib import *
from common import *
from configured import *

ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
ap.add_argument("--rounds", type=int, default=15)
ap.add_argument("--secs", type=int, default=2)
A = ap.parse_args()

ICAP, SOCKET, HELPER = BASE + 44, RUN + "/answering/squid.sock", RUN + "/answering/bloomwall"
BY_HELPER = f"""external_acl_type bloomwall ttl=0 negative_ttl=0 children-max=1 concurrency=500 queue-size=2000 %URI %METHOD %SRC \
{HELPER} answer squid --socket {SOCKET}
acl clean external bloomwall
http_access deny !clean
"""
BY_ICAP = f"""icap_enable on
icap_preview_enable on
adaptation_send_client_ip on
icap_service bloomwall reqmod_precache bypass=off icap://127.0.0.1:{ICAP}/reqmod
adaptation_access bloomwall allow all
"""
GOAL = 15


class Asking(Squid):
    def __init__(self, name, port, lines):
        self.name, self.port, self.extra = name, BASE + port, lines
        super().__init__()


class Answering(Configured):
    def command(self):
        command = super().command()
        shutil.copy(self.bin + "/bloomwall", HELPER)     # where squid's user reaches it
        return command


def cpu_ns(pids):
    """Of the processes and their threads, exactly."""
    return sum(int(open(f).read().split()[0]) for pid in pids for f in glob.glob("/proc/%d/task/*/schedstat" % pid))


def is_helper(pid):
    try:
        return b"answer" in open("/proc/%d/cmdline" % pid, "rb").read().split(b"\0")
    except OSError:
        return False


def costs(squid, ours):
    """Microseconds of CPU a request: squid, helper, bloomwall."""
    helpers = [pid for pid in squid.pids() if is_helper(pid)]
    groups = [[pid for pid in squid.pids() if pid not in helpers], helpers, ours.pids()]
    before = [cpu_ns(pids) for pids in groups]
    r = wrk(squid.addr, 32, A.secs, authority="localhost:%d" % (BASE + 80))
    if r["non2xx"] or not r["ok"]:
        raise SystemExit("bad answers: %s" % r)
    return [(cpu_ns(pids) - was) / 1e3 / r["ok"] for pids, was in zip(groups, before)]


os.makedirs(RUN, exist_ok=True)
rundir("answering")
files = [Answering("answering", 40).dir + "/listed.bwf"]
write(RUN + "/answering/listed.txt", "".join("d%08x.example%d.test\n" % (i * 2654435761 & 0xffffffff, i % 1000) for i in range(1_000_000)))
built = sh([Bloomwall.bin + "/bloomwall-filter", "build", "-q", "-o", files[0], RUN + "/answering/listed.txt"])
if built.returncode != 0:
    raise SystemExit(built.stdout)
ours = Answering("answering", 40, files, f"""answers:
- {{address: "127.0.0.1:{ICAP}", protocol: icap, trust: [127.0.0.1]}}
- {{address: "unix:{SOCKET}", protocol: squid, trust: [127.0.0.1], group: proxy}}
""")
kinds = {"alone": Asking("squid_alone", 41, ""), "helper": Asking("squid_helper", 42, BY_HELPER), "icap": Asking("squid_icap", 45, BY_ICAP)}
origin = Origin().start()
try:
    started(ours, *kinds.values())
    found = {kind: [] for kind in kinds}
    for kind, squid in kinds.items():
        costs(squid, ours)                               # connections, caches
    for turn in range(A.rounds):
        order = list(kinds.items())
        for kind, squid in order[turn % 3:] + order[:turn % 3]:
            found[kind].append(costs(squid, ours))
finally:
    stop_all()
    origin.stop()
medians = {kind: [median(each) for each in zip(*rows)] for kind, rows in found.items()}
missed = False
for kind, (squid, helper, proxy) in medians.items():
    added = median([row[1] + row[2] - idle[1] - idle[2] for row, idle in zip(found[kind], found["alone"])])
    missed |= kind != "alone" and added > GOAL
    print("answers_cost %-6s rounds=%d squid_us=%.1f helper_us=%.1f bloomwall_us=%.1f ours_us=%.1f goal=%d squid_asks_us=%.1f" %
          (kind, A.rounds, squid, helper, proxy, added, GOAL, squid - medians["alone"][0]))
sys.exit(missed)
