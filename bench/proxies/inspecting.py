# SPDX-License-Identifier: Apache-2.0
"""What the comparison of interception needs: certificates, an origin that speaks TLS, proxies that decrypt it."""
from peers import *
from common import *

TLSLOAD = os.path.join(BUILD, "proxies", "tlsload")
TLSBARE = os.path.join(BUILD, "proxies", "tlsbare")
RELAY = os.path.join(BUILD, "proxies", "relay")
FULL_PORT, RESUMED_PORT, PLAIN_PORT = BASE + 44, BASE + 45, BASE + 46
NAMES = ("ok.test", "marked.test")        # the second has a URL entry
ORIGIN_CHAIN = "RSA-2048 root and intermediate, P-256 leaf"


class Certificates:
    """Roots for both sides, all in one folder; made once.

    ca.crt, ca.key        the interception's authority (P-256), for every proxy
    leaf.pem, leaf.key    as it would make for ok.test
    origin.pem, .key      the origin's leaf with its intermediate; roots.pem vouches for it
    """

    def __init__(self, bloomwall):
        self.dir = d = rundir("certificates")
        if os.path.exists(d + "/done"):
            return
        for f in os.listdir(d):
            os.unlink(d + "/" + f)
        self.need([bloomwall, "ca", "init", "--out", d])
        san = "subjectAltName=" + ",".join("DNS:" + n for n in NAMES)
        ec, rsa = ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"], ["rsa:2048"]
        self.root("roots", rsa, "/CN=origins' root")
        self.issue("middle", rsa, "/CN=origins' intermediate", "roots", "basicConstraints=critical,CA:TRUE,pathlen:0\nkeyUsage=critical,keyCertSign,cRLSign\n")
        self.issue("origin", ec, "/CN=ok.test", "middle", san + "\nextendedKeyUsage=serverAuth\nkeyUsage=critical,digitalSignature\n")
        shutil.copyfile(d + "/ca.crt", d + "/ca.pem")
        self.issue("leaf", ec, "/CN=ok.test", "ca", san + "\nextendedKeyUsage=serverAuth\nkeyUsage=critical,digitalSignature\n")
        with open(d + "/origin.pem", "a") as f:
            f.write(open(d + "/middle.pem").read())
        write(d + "/done", "")

    def need(self, command):
        r = sh(command)
        if r.returncode:
            raise SystemExit("%s\n%s" % (" ".join(command), r.stdout))

    def root(self, name, key, subject):
        self.need(["openssl", "req", "-x509", "-newkey", *key, "-nodes", "-days", "365", "-subj", subject, "-keyout", f"{self.dir}/{name}.key",
                   "-out", f"{self.dir}/{name}.pem", "-addext", "keyUsage=critical,keyCertSign,cRLSign"])

    def issue(self, name, key, subject, issuer, extensions):
        d = self.dir
        write(f"{d}/{name}.ext", extensions)
        self.need(["openssl", "req", "-newkey", *key, "-nodes", "-subj", subject, "-keyout", f"{d}/{name}.key", "-out", f"{d}/{name}.csr"])
        self.need(["openssl", "x509", "-req", "-in", f"{d}/{name}.csr", "-CA", f"{d}/{issuer}.pem", "-CAkey", f"{d}/{issuer}.key", "-CAcreateserial",
                   "-days", "200", "-extfile", f"{d}/{name}.ext", "-out", f"{d}/{name}.pem"])

    def path(self, name):
        return os.path.join(self.dir, name)


class TlsOrigin:
    """nginx with HTTP/1.1 inside TLS, on a port that resumes nothing and one that does; and without TLS."""

    def start(self, certificates):
        d = rundir("tls_origin")
        www = os.path.join(d, "www")
        write(www + "/1k", "x" * 1024)
        with open(www + "/1g", "wb") as f:
            f.truncate(1 << 30)
        os.chmod(www + "/1g", 0o644)
        c = certificates
        tls = f"ssl_certificate {c.path('origin.pem')}; ssl_certificate_key {c.path('origin.key')}; root {www};"
        conf = write(d + "/nginx.conf", f"""
user root; worker_processes 2; pid {d}/pid; error_log {d}/error.log crit; daemon off;
worker_rlimit_nofile 20000;
events {{ worker_connections 9000; }}
http {{
  access_log off; sendfile on; tcp_nopush on; keepalive_timeout 600s; keepalive_requests 100000000; ssl_protocols TLSv1.2 TLSv1.3;
  client_body_temp_path {d}/t1; proxy_temp_path {d}/t2; fastcgi_temp_path {d}/t3; uwsgi_temp_path {d}/t4; scgi_temp_path {d}/t5;
  open_file_cache max=16 inactive=600s; open_file_cache_valid 600s; default_type application/octet-stream;
  server {{ listen 127.0.0.1:{FULL_PORT} ssl backlog=4096; ssl_session_tickets off; ssl_session_cache off; {tls} }}
  server {{ listen 127.0.0.1:{RESUMED_PORT} ssl backlog=4096; ssl_session_tickets on; {tls} }}
  server {{ listen 127.0.0.1:{PLAIN_PORT} backlog=4096; root {www}; }}
}}
""")
        self.p = subprocess.Popen(["nginx", "-e", d + "/error.log", "-c", conf], stdout=subprocess.DEVNULL, stderr=open(d + "/stderr", "w"))
        for port in (FULL_PORT, RESUMED_PORT, PLAIN_PORT):
            if wait_port(port, 10) is None:
                raise SystemExit("origin did not start: " + open(d + "/stderr").read())
        return self

    def stop(self):
        stop(self.p)


class Inspecting(Bloomwall):
    """Ours, in one of the modes; `before`: without the section, for builds that do not know it."""

    def __init__(self, certificates, mode, port, program=None, before=False):
        self.name = f"{'before' if before else 'bloomwall'}_{mode}"
        self.certificates, self.mode, self.port, self.before = certificates, mode, BASE + port, before
        self.bin = program or Bloomwall.bin
        super().__init__()

    def command(self):
        d, c = self.dir, self.certificates
        write(d + "/list.txt", "http://marked.test/listed/\n")
        r = sh([self.bin + "/bloomwall-filter", "build", "-o", d + "/list.bwf", d + "/list.txt"])
        if r.returncode:
            raise SystemExit(r.stdout)
        section = "" if self.before else f"""
tls_inspection:
  mode: {self.mode}
  ca: {{certificate: {c.path('ca.crt')}, key: {c.path('ca.key')}}}
  never: []
  verify: {{ca_file: {c.path('roots.pem')}}}
"""
        return [self.bin + "/bloomwall", "run", "--config", write(d + "/conf.yaml", f"""
listeners: [{{address: "127.0.0.1:{self.port}"}}]
workers: {NPROC}
filters: [{{name: list, file: {d}/list.bwf}}]
access: {{deny_destinations: [], connect_ports: [], opaque_tunnels: allow}}  # theirs carry HTTP, which would be judged
dns: {{hosts: {{{", ".join(n + ": 127.0.0.1" for n in NAMES)}, localhost: 127.0.0.1}}}}
timeouts: {{idle: 10m, announce: 0}}
limits: {{connections_per_client: 0}}
admin: {{address: null, control_socket: null}}
log: {{level: warning, file: {d}/log, access: {{file: off}}}}
{section}""")]


class SquidBump(Squid):
    """squid-openssl that decrypts everything, with our authority's key: its leaves are of the same kind. It looks at the origin
    first (stare), as we do; else it would put clients' requests on connections that it has."""
    name = "squid_bump"; port = BASE + 31; start_limit = 60

    def __init__(self, certificates):
        self.certificates = certificates
        super().__init__()

    def command(self):
        command, d, c = super().command(), self.dir, self.certificates
        shutil.rmtree(d + "/ssl_db", ignore_errors=True)
        helper = "/usr/lib/squid/security_file_certgen"
        r = sh([helper, "-c", "-s", d + "/ssl_db", "-M", "16MB"])
        if r.returncode:
            raise SystemExit(r.stdout)
        for root, folders, files in os.walk(d + "/ssl_db"):     # squid drops to its own user
            for f in ["", *folders, *files]:
                shutil.chown(os.path.join(root, f), "proxy")
        write(d + "/hosts", "".join("127.0.0.1 %s\n" % n for n in NAMES))
        write(d + "/both.pem", open(c.path("ca.key")).read() + open(c.path("ca.crt")).read(), 0o644)
        conf = open(d + "/conf").read().replace(f"http_port 127.0.0.1:{self.port}\n", f"""
http_port 127.0.0.1:{self.port} ssl-bump generate-host-certificates=on dynamic_cert_mem_cache_size=16MB tls-cert={d}/both.pem
sslcrtd_program {helper} -s {d}/ssl_db -M 16MB
sslcrtd_children 4 startup=4
hosts_file {d}/hosts
tls_outgoing_options cafile={c.path('roots.pem')}
acl step1 at_step SslBump1
acl step2 at_step SslBump2
ssl_bump peek step1
ssl_bump stare step2
ssl_bump bump all
""")
        write(d + "/conf", conf)
        return command


def tlsload(peer, certificates, **how):
    """One run of tlsload through a proxy. Options: port, name, resume, keep, conns, secs, count, rate, path, tunnelled."""
    args = [TLSLOAD, "-P", peer.addr, "-t", "%s:%d" % (how.get("name", "ok.test"), how.get("port", FULL_PORT)),
            "-A", certificates.path("roots.pem" if how.get("tunnelled") else "ca.crt")]
    for option, flag in (("conns", "-c"), ("secs", "-d"), ("count", "-n"), ("rate", "-r"), ("path", "-u")):
        if option in how:
            args += [flag, str(how[option])]
    args += ["-R"] * bool(how.get("resume")) + ["-k"] * bool(how.get("keep"))
    out = subprocess.run(args, stdout=subprocess.PIPE, text=True).stdout
    r = json.loads(out)
    if not r["ok"] or r["err"] > (r["ok"] / 100 if isinstance(peer, Squid) else 0):    # it ends a kept connection now and then
        raise SystemExit("%s: %s" % (peer.name, out))
    if how.get("resume") and not how.get("keep") and r["resumed"] < r["ok"] * 0.9:
        raise SystemExit("%s: not resumed: %s" % (peer.name, out))
    return r


def bare(certificates, seconds):
    """What OpenSSL alone needs for the same certificates."""
    c = certificates.path
    r = sh([TLSBARE, "-d", str(seconds), c("leaf.pem"), c("leaf.key"), c("ca.crt"), c("origin.pem"), c("origin.key"), c("roots.pem"), "ok.test"])
    return json.loads(r.stdout)
