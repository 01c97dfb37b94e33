# SPDX-License-Identifier: Apache-2.0
"""The proxies to compare, as Debian ships them, and ours."""
from lib import *
from peer import *
from other_peers import *


class Bloomwall(Peer):
    """Ours, from build/release; the list is built into a filter file first."""
    name = "bloomwall"; port = BASE + 20; filters = ("domain", "url")
    bin = os.environ.get("BLOOMWALL_BIN", os.path.join(BUILD, "release"))

    def refresh(self):
        form = "domains" if self.kind == "domain" else "urls"
        r = sh([self.bin + "/bloomwall-filter", "build", "-o", self.dir + "/list.bwf", "--format", form, self.listfile])
        if r.returncode != 0:
            raise SystemExit(r.stdout)

    def command(self):
        d = self.dir
        filters = f"[{{name: list, file: {d}/list.bwf}}]" if self.kind else "[]"
        c = write(d + "/conf.yaml", f"""
listeners: [{{address: "127.0.0.1:{self.port}"}}]
workers: {NPROC}
filters: {filters}
access: {{deny_destinations: [], connect_ports: [], opaque_tunnels: allow}}  # theirs carry HTTP, which would be judged
dns: {{hosts: {{localhost: 127.0.0.1}}}}
timeouts: {{idle: 10m}}
limits: {{connections_per_client: 0}}
admin: {{address: null, control_socket: null}}
log: {{level: warning, file: {d}/log, access: {{file: off}}}}
""")
        return [self.bin + "/bloomwall", "run", "--config", c]


class Squid(Peer):
    name = "squid"; port = BASE + 1; filters = ("domain", "url"); workers = 1; extra = ""

    def refresh(self):
        if self.kind == "domain":
            convert(self.listfile, self.dir + "/list", ".%s")
        else:                                   # squid's only URL lists are regular expressions
            convert(self.listfile, self.dir + "/list", "^http://%s")

    def acl(self):
        if self.kind == "domain":
            return f'acl bad dstdomain -n "{self.dir}/list"\nhttp_access deny bad\n'
        if self.kind == "url":
            return f'acl bad url_regex "{self.dir}/list"\nhttp_access deny bad\n'
        return ""

    def command(self):
        d = self.dir
        c = write(d + "/conf", f"""
http_port 127.0.0.1:{self.port}
workers {self.workers}
visible_hostname pb
{self.acl()}{self.extra}http_access allow all
cache deny all
cache_mem 0
memory_pools on
access_log none
cache_log /dev/null
cache_store_log none
logfile_rotate 0
pid_filename {d}/pid
coredump_dir {d}
cache_effective_user proxy
netdb_filename none
max_filedescriptors 20000
client_persistent_connections on
server_persistent_connections on
client_idle_pconn_timeout 10 minutes
request_timeout 10 minutes
shutdown_lifetime 0 seconds
pinger_enable off
""")
        return ["squid", "--foreground", "-f", c, "-n", "pb%d%s" % (BASE, self.name.replace("_", ""))]


class SquidGuard(Squid):
    """squid with squidGuard 1.6 as url_rewrite_program, lists in Berkeley DB."""
    name = "squidguard"; port = BASE + 3; filters = ("domain", "url"); start_limit = 120

    def acl(self):
        return (f"url_rewrite_program /usr/bin/squidGuard -c {self.dir}/sg.conf\n"
                "url_rewrite_children 8 startup=8 idle=1 concurrency=0\n")

    def refresh(self):
        d = self.dir + "/db/bad"
        os.makedirs(d, exist_ok=True)
        os.makedirs(self.dir + "/log", exist_ok=True)
        os.chmod(self.dir + "/log", 0o777)
        for f in os.listdir(d):
            os.unlink(d + "/" + f)
        dst = d + ("/domains" if self.kind == "domain" else "/urls")
        shutil.copyfile(self.listfile, dst)
        what = ("domainlist bad/domains" if self.kind == "domain" else "urllist bad/urls")
        write(self.dir + "/sg.conf", f"""
dbhome {self.dir}/db
logdir {self.dir}/log
dest bad {{
  {what}
}}
acl {{
  default {{
    pass !bad all
    redirect 302:http://{ORIGIN}/blocked
  }}
}}
""")
        r = sh(["squidGuard", "-c", self.dir + "/sg.conf", "-C", "all"], cwd=self.dir)
        for root, ds, fs in os.walk(self.dir + "/db"):
            for f in ds + fs:
                os.chmod(os.path.join(root, f), 0o777)
        os.chmod(self.dir + "/db", 0o777)
        for f in os.listdir(self.dir + "/log"):
            os.chmod(self.dir + "/log/" + f, 0o666)


class Haproxy(Peer):
    """HTTP forward proxy made of set-dst / do-resolve.  It cannot end a CONNECT."""
    name = "haproxy"; port = BASE + 6; connect = False; filters = ("domain", "url"); subdomains = False; need_names = True

    def refresh(self):
        shutil.copyfile(self.listfile, self.dir + "/list")

    def command(self):
        d = self.dir
        f = ""
        if self.kind == "domain":                # exact names: the only indexed string match that fits
            f = f"  http-request deny deny_status 403 if {{ req.hdr(host),field(1,:) -m str -f {d}/list }}\n"
        elif self.kind == "url":
            f = f"  http-request deny deny_status 403 if {{ base -m str -f {d}/list }}\n"
        c = write(d + "/conf", f"""
global
  nbthread {NPROC}
  maxconn 9000
  tune.bufsize 16384
defaults
  mode http
  timeout connect 10s
  timeout client 600s
  timeout server 600s
  timeout http-keep-alive 600s
  timeout http-request 600s
resolvers pb
  nameserver a 127.0.0.1:{DNS_PORT}
  hold valid 3600s
frontend f
  bind 127.0.0.1:{self.port} backlog 4096
{f}  default_backend b
backend b
  http-reuse always
  http-request set-var(txn.ip) url_ip
  http-request do-resolve(txn.ip,pb,ipv4) req.hdr(host),field(1,:) unless {{ var(txn.ip) -m found }}
  http-request set-dst var(txn.ip)
  http-request set-dst-port req.hdr(host),port_only
  http-request set-uri %[path]
  server s 0.0.0.0:0 pool-max-conn 1000
""")
        return ["haproxy", "-W", "-db", "-q", "-f", c]

    def reload(self):
        self.p.send_signal(signal.SIGUSR2)


class Relay(Peer):
    """haproxy in TCP mode with splice(): not a proxy, but what a relay can reach."""
    name = "relay_tcp"; port = BASE + 11; connect = False; filters = ()

    def command(self):
        c = write(self.dir + "/conf", f"""
global
  nbthread {NPROC}
  maxconn 4000
defaults
  mode tcp
  timeout connect 10s
  timeout client 600s
  timeout server 600s
  option splice-request
  option splice-response
listen l
  bind 127.0.0.1:{self.port} backlog 4096
  server o {ORIGIN}
""")
        return ["haproxy", "-db", "-q", "-f", c]


class External(Peer):
    """A proxy that somebody else started: --proxy name=host:port."""

    def __init__(self, name, addr):
        self.name, self._addr = name, addr
        self.port = int(addr.rsplit(":", 1)[1])
        self.roots = pids_listening(self.port)

    @property
    def addr(self):
        return self._addr

    def start(self, *a):
        return 0.0

    def pids(self):
        # looked up again each time: a reload may replace the processes
        return tree(set(self.roots) | set(pids_listening(self.port)))

    def stop(self):
        pass


ALL = {c.name: c for c in (Bloomwall, Squid, SquidGuard, Haproxy, Ats, E2guardian, Relay)}
PLAIN = ["bloomwall", "squid", "haproxy", "trafficserver", "e2guardian"]
