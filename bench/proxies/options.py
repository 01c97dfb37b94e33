# SPDX-License-Identifier: Apache-2.0
"""Side-by-side benchmark of forward HTTP proxies.

  ./compare.py TEST [--peers a,b,c | --peers none] [--proxy name=host:port ...]
             [--rounds 3] [--secs 4]

TEST
  check      does every proxy answer, pass bytes whole, ask the origin each time
  keepalive  requests/s, 1 KiB object, kept-alive client connections (wrk)
  close      the same, one request per client connection (wrk)
  post       requests/s, POST of 1 KiB on kept-alive client connections (wrk); post64: of 64 KiB
  url        the same as keepalive, with URLs of 5,000 octets
  tunnel     GB/s and CPU seconds per GB through CONNECT, 4 downloads in parallel
  download   the same for a plain GET of 1 GiB
  connect    CONNECT handshakes per second
  latency    p50/p99/p99.9 at a fixed rate (--rate, default 1000/s), open loop
  beside     the same while two downloads of 1 GiB take what they can
  memory     MiB with no client, 1000 and 5000 idle clients, 1000 idle tunnels
  syscalls   system calls per request and per CONNECT (strace -c)
  filter     block lists: start time, memory, rate, correctness (--kind, --sizes)
  reload     reload of a block list under load: errors, longest stall, time to
             take effect (--kind, --sizes)
  basic      check keepalive close connect latency tunnel download memory

--peers names peers of peers.py to start here (default: all that fit the test);
--proxy adds a proxy that already runs.  The two tests with lists start what they
measure, so an outside proxy joins them with --proxy plus, for reload,
--list-file (the file it reads) and --reload-cmd.

Rounds are interleaved (A B C A B C ...) and the median is printed, one line per
proxy and test; every single figure goes to RUN/results.jsonl.  CPU time is taken
from /proc for the proxy's whole process tree: on a busy machine it is steadier
than the rate.
"""
import argparse

ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
ap.add_argument("test")
ap.add_argument("--peers", default="all")
ap.add_argument("--proxy", action="append", default=[], metavar="NAME=HOST:PORT")
ap.add_argument("--rounds", type=int, default=3)
ap.add_argument("--secs", type=int, default=4)
ap.add_argument("--conns", type=int, default=32)
ap.add_argument("--rate", type=float, default=1000)
ap.add_argument("--sizes", default="100000,1000000,5000000")
ap.add_argument("--kind", default="domain", choices=["domain", "url"])
ap.add_argument("--list-file", help="block list that the outside proxy reads (reload test)")
ap.add_argument("--reload-cmd", help="shell command that makes the outside proxy reload")
A = ap.parse_args()
