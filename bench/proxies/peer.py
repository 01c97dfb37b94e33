# SPDX-License-Identifier: Apache-2.0
"""What a proxy to compare is: its configuration, how it starts and reloads.

Every peer: caching off, logging off or to /dev/null, two workers or threads where
the program has such a setting, its own port on 127.0.0.1, its own files in RUN.

   class Peer:
     connect    True when it can serve CONNECT
     filters    kinds of block list it takes: "domain", "url"
     start(kind, listfile)   write the configuration and start
     reload()   make it read its changed lists again

Block lists come as plain text files, one domain (or one host/path) a line;
start() and refresh() turn them into the peer's own form.
"""
from lib import *

NPROC = 2


class Peer:
    name = "?"; port = 0; connect = True; filters = (); keepalive = True
    subdomains = True          # a listed domain also blocks its subdomains
    need_names = False         # resolves with a resolver of its own (uses lib.Dns)
    block_text = None          # set where a block is not told by the status code
    p = None
    start_limit = 60

    def __init__(self):
        self.dir = os.path.join(RUN, self.name)

    @property
    def addr(self):
        return "127.0.0.1:%d" % self.port

    def start(self, kind=None, listfile=None):
        """Returns seconds until the port accepts, or None."""
        rundir(self.name)
        t0 = time.monotonic()
        self.kind, self.listfile = kind, listfile
        if kind:
            self.refresh()
        self.prep_s = time.monotonic() - t0       # turning the list into the peer's form
        t0 = time.monotonic()
        self.p = subprocess.Popen(self.command(), stdout=open(self.dir + "/out", "w"), stderr=subprocess.STDOUT,
                                  env=self.environ(), cwd=self.dir)
        ok = wait_port(self.port, float(os.environ.get("PB_START_LIMIT", self.start_limit)))
        if ok is None or self.p.poll() is not None:
            self.stop()
            return None
        return time.monotonic() - t0

    def environ(self):
        return dict(os.environ)

    def refresh(self):
        """Convert self.listfile; called before start and before reload."""

    def reload(self):
        self.p.send_signal(signal.SIGHUP)

    def pids(self):
        return tree([self.p.pid])

    def stop(self):
        stop(self.p)
        self.p = None


def convert(src, dst, fmt, head=""):
    """dst = head + one line per line of src, made with fmt ('%s')."""
    pre, post = fmt.split("%s")
    with open(src) as i, open(dst, "w") as o:
        o.write(head)
        o.writelines(pre + l.rstrip("\n") + post + "\n" for l in i)
    os.chmod(dst, 0o644)
