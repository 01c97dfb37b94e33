# SPDX-License-Identifier: Apache-2.0
"""Shared parts of the comparison: processes, /proc readings, origin, DNS.

Standard library only.  Everything that is written goes under RUN (default:
build/proxies).
"""
import os, re, signal, socket, struct, subprocess, sys, threading, time, json, statistics, shutil

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.normpath(os.path.join(HERE, "..", "..", "build"))
RUN = os.environ.get("PB_RUN", os.path.join(BUILD, "proxies"))
BASE = int(os.environ.get("PB_BASE", "21000"))     # first port; BASE..BASE+99 are used
PXLOAD = os.path.join(BUILD, "proxies", "pxload")
LUA = os.path.join(HERE, "tools", "absolute.lua")
ORIGIN = "127.0.0.1:%d" % (BASE + 80)
ORIGIN_TLS = "127.0.0.1:%d" % (BASE + 43)
DNS_PORT = BASE + 53
HZ = os.sysconf("SC_CLK_TCK")


def sh(cmd, **kw):
    return subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **kw)


def write(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(text)
    os.chmod(path, mode)
    return path


def rundir(name, open_to_all=True):
    d = os.path.join(RUN, name)
    os.makedirs(d, exist_ok=True)
    if open_to_all:                 # peers drop to users of their own
        os.chmod(d, 0o777)
    return d


def wait_port(port, limit=30.0, host="127.0.0.1"):
    """Seconds until something accepts on the port, or None."""
    t0 = time.monotonic()
    while time.monotonic() - t0 < limit:
        try:
            socket.create_connection((host, port), 0.5).close()
            return time.monotonic() - t0
        except OSError:
            time.sleep(0.02)
    return None


# ---------------------------------------------------------------- processes
def children_map():
    kids = {}
    for p in os.listdir("/proc"):
        if p.isdigit():
            try:
                with open("/proc/%s/stat" % p) as f:
                    s = f.read()
                ppid = int(s[s.rindex(")") + 2:].split()[1])
                kids.setdefault(ppid, []).append(int(p))
            except (OSError, ValueError):
                pass
    return kids


def tree(pids):
    """The given processes and all their descendants."""
    kids, out, todo = children_map(), [], list(pids)
    while todo:
        p = todo.pop()
        if p not in out and os.path.exists("/proc/%d" % p):
            out.append(p)
            todo += kids.get(p, [])
    return out


def pids_listening(port):
    """Processes that hold a listening TCP socket on the port."""
    inodes = set()
    for fn in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            for line in open(fn).readlines()[1:]:
                w = line.split()
                if w[3] == "0A" and int(w[1].rsplit(":", 1)[1], 16) == port:
                    inodes.add("socket:[%s]" % w[9])
        except OSError:
            pass
    found = []
    for p in os.listdir("/proc"):
        if not p.isdigit():
            continue
        try:
            for fd in os.listdir("/proc/%s/fd" % p):
                if os.readlink("/proc/%s/fd/%s" % (p, fd)) in inodes:
                    found.append(int(p))
                    break
        except OSError:
            pass
    return found


def cpu(pids):
    """(user seconds, system seconds) of the processes, all threads."""
    u = s = 0
    for p in pids:
        try:
            with open("/proc/%d/stat" % p) as f:
                st = f.read()
            w = st[st.rindex(")") + 2:].split()
            u += int(w[11]); s += int(w[12])
        except OSError:
            pass
    return u / HZ, s / HZ


def memory(pids):
    """(sum of RSS, sum of PSS) in MiB.  PSS counts shared pages once."""
    rss = pss = 0
    for p in pids:
        try:
            for line in open("/proc/%d/smaps_rollup" % p):
                if line.startswith("Rss:"): rss += int(line.split()[1])
                elif line.startswith("Pss:"): pss += int(line.split()[1])
        except OSError:
            pass
    return rss / 1024, pss / 1024


def anonymous(pids):
    """MiB that are the processes' own: no file stands behind them (RssAnon)."""
    total = 0
    for pid in pids:
        try:
            for line in open("/proc/%d/status" % pid):
                if line.startswith("RssAnon:"):
                    total += int(line.split()[1])
        except OSError:
            pass
    return total / 1024


def stop(popen, limit=3):
    """Stop one program we started, and its descendants, by pid."""
    if popen is None:
        return
    pids = tree([popen.pid])
    try:
        popen.terminate()
    except OSError:
        pass
    t0 = time.time()
    while time.time() - t0 < limit and popen.poll() is None:
        time.sleep(0.05)
    for sig in (signal.SIGTERM, signal.SIGKILL):
        left = [p for p in pids if os.path.exists("/proc/%d" % p)]
        for p in left:
            try:
                os.kill(p, sig)
            except OSError:
                pass
        if left:
            time.sleep(0.3)
    popen.poll()
    if popen.returncode is None:
        popen.wait()


# ------------------------------------------------------------------ load
def pxload(*args, stdin=None):
    """Run pxload to its end, return its result as a dict."""
    r = subprocess.run([PXLOAD] + [str(a) for a in args], stdout=subprocess.PIPE, text=True)
    try:
        return json.loads(r.stdout)
    except ValueError:
        return {"ok": 0, "bad": 0, "err": -1, "per_sec": 0, "raw": r.stdout}


def wrk(proxy, conns=32, secs=4, path="/1k", close=False, authority=None, post=0, fields=()):
    """GETs; or POSTs with a body of `post` octets, to /sink. Each with these fields ("Name: value")."""
    cmd = ["wrk", "-t1", "-c%d" % conns, "-d%ds" % secs, "--timeout", "10s", "-s", LUA,
           *(word for field in fields for word in ("-H", field)), "http://" + proxy, "--", authority or ORIGIN, "/sink" if post else path]
    cmd += ["close"] if close else [str(post)] if post else []
    out = sh(cmd).stdout
    m = re.search(r"^JSON (.*)$", out, re.M)
    if not m:
        return {"ok": 0, "sec": 1, "non2xx": -1, "raw": out}
    return json.loads(m.group(1))


def http_status(proxy, url, timeout=10, block_text=None):
    """Status code of one GET through a proxy ('host:port'), or the error's name.
    403 also when the answer matches block_text (e2guardian blocks with a 200)."""
    h, p = proxy.split(":")
    m = re.match(r"http://([^/]+)", url)
    try:
        s = socket.create_connection((h, int(p)), timeout)
        s.settimeout(timeout)
        s.sendall(("GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: pb\r\nConnection: close\r\n\r\n" % (url, m.group(1))).encode())
        data = b""
        while b"\r\n\r\n" not in data or (block_text and len(data) < 65536):
            k = s.recv(65536)
            if not k:
                break
            data += k
        s.close()
        if block_text and block_text.search(data):
            return 403
        return int(data.split()[1]) if data else "closed"
    except (OSError, IndexError, ValueError) as e:
        return type(e).__name__


def connect_status(proxy, authority, timeout=10):
    h, p = proxy.split(":")
    try:
        s = socket.create_connection((h, int(p)), timeout)
        s.settimeout(timeout)
        s.sendall(("CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (authority, authority)).encode())
        data = s.recv(65536)
        s.close()
        return int(data.split()[1]) if data else "closed"
    except (OSError, IndexError, ValueError) as e:
        return type(e).__name__


# ---------------------------------------------------------------- origin
class Origin:
    """nginx with a 1 KiB object, a sparse 1 GiB object and a TLS port."""

    def start(self):
        d = rundir("origin")
        www = os.path.join(d, "www")
        os.makedirs(www, exist_ok=True)
        write(os.path.join(www, "1k"), "x" * 1024)
        write(os.path.join(www, "64k"), "x" * 65536)
        write(os.path.join(www, "blocked"), "blocked\n")
        with open(os.path.join(www, "1g"), "wb") as f:
            f.truncate(1 << 30)
        os.chmod(os.path.join(www, "1g"), 0o644)
        if not os.path.exists(d + "/cert.pem"):
            sh(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "3650", "-subj", "/CN=localhost",
                "-keyout", d + "/key.pem", "-out", d + "/cert.pem"])
        conf = write(d + "/nginx.conf", f"""
user root; worker_processes 2; pid {d}/pid; error_log {d}/error.log crit;
worker_rlimit_nofile 20000; daemon off;
events {{ worker_connections 9000; }}
http {{
  access_log off; sendfile on; tcp_nopush on; keepalive_timeout 600s; keepalive_requests 100000000;
  client_body_temp_path {d}/t1; proxy_temp_path {d}/t2; fastcgi_temp_path {d}/t3; uwsgi_temp_path {d}/t4; scgi_temp_path {d}/t5;
  open_file_cache max=16 inactive=600s; open_file_cache_valid 600s;
  default_type application/octet-stream;
  server {{ listen 127.0.0.1:{BASE+80} backlog=4096 reuseport; root {www}; location = /status {{ stub_status; }}
    location /sink {{ client_body_buffer_size 128k; return 200 "taken\\n"; }} }}
  server {{ listen 127.0.0.1:{BASE+43} ssl backlog=4096; ssl_certificate {d}/cert.pem; ssl_certificate_key {d}/key.pem; root {www}; }}
}}
""")
        self.p = subprocess.Popen(["nginx", "-e", d + "/error.log", "-c", conf], stdout=subprocess.DEVNULL, stderr=open(d + "/stderr", "w"))
        if wait_port(BASE + 80, 10) is None:
            raise SystemExit("origin did not start: " + open(d + "/stderr").read())
        pxload("-m", "direct", "-t", ORIGIN, "-u", "/1g", "-c", 1, "-n", 1, "-d", 60)   # fill the page cache
        return self

    def pids(self):
        return tree([self.p.pid])

    def requests(self):
        """Requests the origin has served so far (to prove that nothing was cached)."""
        s = sh(["curl", "-s", "-m", "5", "http://%s/status" % ORIGIN]).stdout
        return int(s.split("\n")[2].split()[2])

    def stop(self):
        stop(self.p)


class Dns(threading.Thread):
    """Answers every A question with 127.0.0.1 (for nginx and haproxy, which do
    not read /etc/hosts at run time)."""
    daemon = True

    def run(self):
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.bind(("127.0.0.1", DNS_PORT))
        while True:
            q, a = s.recvfrom(1500)
            i = 12
            while q[i]:
                i += q[i] + 1
            qtype = struct.unpack(">H", q[i + 1:i + 3])[0]
            ans = b"\xc0\x0c\x00\x01\x00\x01\x00\x00\x0e\x10\x00\x04\x7f\x00\x00\x01" if qtype == 1 else b""
            s.sendto(q[:2] + b"\x81\x80\x00\x01" + struct.pack(">H", 1 if ans else 0) + b"\0\0\0\0" + q[12:i + 5] + ans, a)


def median(v):
    return statistics.median(v) if v else float("nan")
