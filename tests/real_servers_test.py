#!/usr/bin/env python3
"""Random disguises of listed files against the real servers of Debian: whatever a server answers with a listed file, the filter
must list, or refuse (the proxy then answers 400). Servers that are not installed are named and skipped.

BLOOMWALL_DISGUISES: how many (default 400). BLOOMWALL_DISGUISE_SEED: which ones; the seed is printed.
Usage: real_servers_test.py BUILD_DIR [unittest arguments].
SPDX-License-Identifier: Apache-2.0
"""
import collections
import concurrent.futures
import os
import pathlib
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

from ports import free_ports

BUILD = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else "build/dev").resolve()
COUNT = int(os.environ.get("BLOOMWALL_DISGUISES", "400"))
SEED = int(os.environ.get("BLOOMWALL_DISGUISE_SEED", "1"))
START = 60  # seconds that a server may take until it answers
ANSWER = 10  # seconds
MARKER = b"this file is listed"
FILES = ["/evil.html", "/d/evil.html", "/d/e/page.txt", "/bad/x/y.html"]
ENTRIES = ["http://h.test/evil.html", "http://h.test/d/evil.html", "http://h.test/d/e/page.txt", "http://h.test/bad/"]

# What stays clear although a server gives a listed file, and why: README says so of each.
PATH_INFO = "what follows a file's name is path info to these; the entry http://host/file/ lists it"
CASE = "these routes are read without regard to case, and entries are not"
OUT_OF_REACH = {
    "lighttpd": PATH_INFO, "php": PATH_INFO, "apache with path info": PATH_INFO, "nginx $uri to php": PATH_INFO, "express": CASE,
}

NODE = """
const http = require('http'), fs = require('fs'), url = require('url'), path = require('path');
const [root, ...ports] = process.argv.slice(2);
const names = [r => new URL(r.url, 'http://h.test').pathname, r => url.parse(r.url).pathname, r => r.url.split('?')[0]];
names.forEach((name, i) => http.createServer((request, response) => {
  try {
    response.end(fs.readFileSync(path.join(root, path.posix.normalize('/' + decodeURIComponent(name(request))))));
  } catch (e) { response.statusCode = 404; response.end(); }
}).listen(+ports[i], '127.0.0.1'));
"""

EXPRESS = """
const express = require('express'), fs = require('fs');
const [root, port, files] = process.argv.slice(2);
const app = express();
for (const file of files.split(' ')) app.get(file, (q, r) => r.end(fs.readFileSync(root + file)));
app.listen(+port, '127.0.0.1');
"""


def nginx_conf(folder, root, ports, backends):
    """The set-ups: files, files unmerged, handed on as spelt, with a URI, by a rewrite, and as $uri to each backend."""
    static, unmerged, spelt, uri, rewrite, *handed = ports
    servers = [f"server {{ listen 127.0.0.1:{static}; root {root}; }}",
               f"server {{ listen 127.0.0.1:{unmerged}; merge_slashes off; root {root}; }}",
               f"server {{ listen 127.0.0.1:{spelt}; location / {{ proxy_pass http://127.0.0.1:{static}; }} }}",
               f"server {{ listen 127.0.0.1:{uri}; location / {{ proxy_pass http://127.0.0.1:{static}/; }} }}",
               f"server {{ listen 127.0.0.1:{rewrite}; root {root}; rewrite ^/old/(.*)$ /$1 last; }}"]
    servers += [f"server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://127.0.0.1:{to}$uri; }} }}"
                for port, to in zip(handed, backends)]
    paths = "".join(f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    return (f"daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/nginx.log crit;\n"
            f"events {{}}\nhttp {{ access_log off; {paths}\n" + "\n".join(servers) + "\n}\n")


def apache_conf(folder, root, plain, path_info):
    modules = pathlib.Path("/usr/lib/apache2/modules")
    load = "".join(f"LoadModule {name}_module {modules}/mod_{name}.so\n" for name in ("mpm_event", "authz_core", "dir", "mime"))
    site = "<VirtualHost 127.0.0.1:{}>\nDocumentRoot {}\n<Directory {}>\nRequire all granted\n{}</Directory>\n</VirtualHost>\n"
    return (f"ServerRoot {folder}\nServerName h.test\nPidFile {folder}/apache.pid\nErrorLog {folder}/apache.log\n{load}"
            f"TypesConfig /etc/mime.types\nListen 127.0.0.1:{plain}\nListen 127.0.0.1:{path_info}\n"
            + site.format(plain, root, root, "") + site.format(path_info, root, root, "AcceptPathInfo On\n"))


class Servers:
    """Every server that is installed, on free ports of loopback. close() ends them all."""

    def __init__(self, folder):
        self.folder, self.root = folder, folder / "root"
        self.ports, self.missing, self.processes = {}, [], []
        for file in FILES:
            (self.root / file[1:]).parent.mkdir(parents=True, exist_ok=True)
            (self.root / file[1:]).write_bytes(MARKER)
        self.start_plain()
        self.start_nginx()
        self.start_java()

    def run(self, *command, names, ports, cwd=None):
        log = open(self.folder / "servers.log", "ab")
        with log:
            self.processes.append(subprocess.Popen([str(word) for word in command], cwd=cwd or self.folder, stdin=subprocess.DEVNULL,
                                                   stdout=log, stderr=log))
        self.ports.update(zip(names, ports))

    def program(self, name, *places):
        found = shutil.which(name) or next((place for place in places if os.path.exists(place)), None)
        if not found:
            self.missing.append(name)
        return found

    def start_plain(self):
        py, php, *node, express, apache, info, lighttpd, caddy = free_ports(10)
        self.run(sys.executable, "-m", "http.server", py, "--bind", "127.0.0.1", "--directory", self.root, names=["python"], ports=[py])
        if program := self.program("php"):
            self.run(program, "-S", f"127.0.0.1:{php}", "-t", self.root, names=["php"], ports=[php])
        if program := self.program("node"):
            (self.folder / "node.js").write_text(NODE)
            self.run(program, "node.js", self.root, *node, names=["node URL", "node url.parse", "node decodeURIComponent"], ports=node)
            if self.program("express", "/usr/share/nodejs/express"):
                (self.folder / "express.js").write_text(EXPRESS)
                self.run("env", "NODE_PATH=/usr/share/nodejs", program, "express.js", self.root, express, " ".join(FILES),
                         names=["express"], ports=[express])
        if program := self.program("apache2", "/usr/sbin/apache2"):
            (self.folder / "apache.conf").write_text(apache_conf(self.folder, self.root, apache, info))
            self.run(program, "-X", "-f", self.folder / "apache.conf", names=["apache", "apache with path info"], ports=[apache, info])
        if program := self.program("lighttpd", "/usr/sbin/lighttpd"):
            (self.folder / "lighttpd.conf").write_text(
                f'server.document-root = "{self.root}"\nserver.port = {lighttpd}\nserver.bind = "127.0.0.1"\n')
            self.run(program, "-D", "-f", "lighttpd.conf", names=["lighttpd"], ports=[lighttpd])
        if program := self.program("caddy"):
            self.run("env", f"HOME={self.folder}", program, "file-server", "--root", self.root, "--listen", f"127.0.0.1:{caddy}",
                     names=["caddy"], ports=[caddy])

    def start_nginx(self):
        program = self.program("nginx", "/usr/sbin/nginx")
        if not program:
            return
        backends = [name for name in ("php", "python", "node URL", "caddy") if name in self.ports]
        ports = free_ports(6 + len(backends))
        to = [self.ports[name] for name in backends] + [ports[0]]
        (self.folder / "nginx.conf").write_text(nginx_conf(self.folder, self.root, ports, to))
        names = ["nginx", "nginx unmerged", "nginx proxy_pass", "nginx proxy_pass with URI", "nginx rewrite"]
        names += [f"nginx $uri to {name}" for name in backends] + ["nginx $uri to nginx"]
        self.run(program, "-p", self.folder, "-c", self.folder / "nginx.conf", names=names, ports=ports)

    def start_java(self):
        java, home = self.program("java"), pathlib.Path("/usr/share/jetty9")
        if java and not (home / "start.jar").exists():
            self.missing.append("jetty9")
        if not java or "jetty9" in self.missing:
            return
        port, = free_ports(1)
        base = self.folder / "jetty"
        shutil.copytree(self.root, base / "webapps" / "ROOT")
        self.run(java, f"-Djetty.base={base}", "-jar", home / "start.jar", "--module=http,deploy", "jetty.http.host=127.0.0.1",
                 f"jetty.http.port={port}", names=["jetty"], ports=[port], cwd=base)

    def wait(self):
        """Servers that do not give the plain file within the limit are taken out and named."""
        end = time.monotonic() + START
        for name, port in list(self.ports.items()):
            while not serves(port, FILES[0]):
                if time.monotonic() > end:
                    self.missing.append(f"{name} (does not answer)")
                    del self.ports[name]
                    break
                time.sleep(0.1)  # between two attempts; the end is the limit above

    def close(self):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            try:
                process.wait(ANSWER)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def serves(port, target):
    try:
        with socket.create_connection(("127.0.0.1", port), ANSWER) as to:
            to.settimeout(ANSWER)
            to.sendall(f"GET {target} HTTP/1.1\r\nHost: h.test\r\nConnection: close\r\n\r\n".encode())
            answer = b""
            while piece := to.recv(65536):
                answer += piece
                if MARKER in answer:
                    return True
    except OSError:
        pass
    return False


def disguise(rng):
    """One spelling of a listed file: visible ASCII, without '\\' and '#', which the proxy refuses as they stand."""
    path = rng.choice(FILES)
    for _ in range(rng.randint(1, 3)):
        path = rng.choice(CHANGES)(rng, path)
    return path if path.startswith("/") else "/" + path


def at_slash(rng, path, text):
    place = rng.choice([i for i, c in enumerate(path) if c == "/"] or [0])
    return path[:place] + text + path[place:]


def escape_one(rng, path):
    place = rng.randrange(1, len(path))
    octet = f"{ord(path[place]):02x}"
    return path[:place] + rng.choice(["%" + octet, "%" + octet.upper(), "%25" + octet, "%2525" + octet, f"%u00{octet}", f"%U00{octet}",
                                      f"%25u00{octet}", f"%u{0xfee0 + ord(path[place]):04x}", f"%c0%{0x80 | ord(path[place]) & 0x3f:02x}",
                                      "%" + octet[0] + chr(0x30 + int(octet[1], 16))]) + path[place + 1:]


INSERTED = ["/", "/.", "/x/..", "/x/%2e%2e", "/%2e", "//x/..", "/x//..", "/%2f", "/x%2f..", "/x/%252e%252e", "/x/..;v", "/;v", ";v=1", "%3bv",
            "/.;", "/%u002e%u002e", "/x/%u002e%u002e", "/x/..%2f", "/%5c..", "%3f", "/..", "%23", "%20"]
APPENDED = ["%23", "%23x", "%20", "%20x", "%20HTTP/1.1%0d%0aa:", "%3f", "%3fx", "?", "?x=1", "/", "/x", ";", ";x", "%00", "%00.png", "%09",
            "%0a", ".", "%2e", "/.", "/..", "%2520", "%2523", "%c0%af", ":", "::$DATA"]
CHANGES = [escape_one, escape_one, escape_one,
           lambda rng, path: at_slash(rng, path, rng.choice(INSERTED)),
           lambda rng, path: at_slash(rng, path, rng.choice(INSERTED)),
           lambda rng, path: path + rng.choice(APPENDED),
           lambda rng, path: rng.choice(["//x", "///x", "//x:80", "//u@x", "//x/..", "/%2fx", "/.//x", "/old"]) + path,
           lambda rng, path: path.upper() if rng.random() < 0.1 else path.replace("/", "%2f" if rng.random() < 0.5 else "//")]


class RealServers(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="bloomwall-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        os.chmod(self.folder, 0o755)  # servers that change their user read it
        self.servers = Servers(self.folder)
        self.addCleanup(self.servers.close)
        self.servers.wait()
        self.filter = self.build("listed", ENTRIES)
        self.with_path_info = self.build("path_info", ENTRIES + [f"http://h.test{file}/" for file in FILES])

    def build(self, name, entries):
        source = self.folder / f"{name}.txt"
        source.write_text("\n".join(entries) + "\n")
        out = self.folder / f"{name}.bwf"
        subprocess.run([BUILD / "bloomwall-filter", "build", "-q", "--format", "urls", "-o", out, source], check=True, timeout=60)
        return out

    def clear(self, file, urls):
        """Those of the URLs that the filter neither lists nor refuses."""
        answer = subprocess.run([BUILD / "bloomwall-filter", "query", file], input="\n".join(urls) + "\n", stdout=subprocess.PIPE,
                                text=True, timeout=300, check=False).stdout.splitlines()
        self.assertEqual(len(answer), len(urls), "one answer for each URL")
        return {line.split("\t")[1] for line in answer if line.startswith("clear\t")}

    def is_out_of_reach(self, server, target, clear_with_path_info):
        reason = OUT_OF_REACH.get(server)
        if reason == PATH_INFO:
            return "http://h.test" + target not in clear_with_path_info
        return reason == CASE and "http://h.test" + target.lower() not in self.clear(self.filter, ["http://h.test" + target.lower()])

    def test_what_a_server_serves_is_listed_or_refused(self):
        rng = random.Random(SEED)
        targets = sorted({disguise(rng) for _ in range(COUNT)})
        served = collections.defaultdict(list)
        with concurrent.futures.ThreadPoolExecutor(len(self.servers.ports)) as pool:
            ask = lambda name: [target for target in targets if serves(self.servers.ports[name], target)]
            for name, found in zip(self.servers.ports, pool.map(ask, self.servers.ports)):
                served[name] = found
        urls = ["http://h.test" + target for target in targets]
        clear, clear_with_path_info = self.clear(self.filter, urls), self.clear(self.with_path_info, urls)
        faults, excused = [], collections.Counter()
        for name, found in served.items():
            for target in found:
                if "http://h.test" + target not in clear:
                    continue
                if self.is_out_of_reach(name, target, clear_with_path_info):
                    excused[name, OUT_OF_REACH[name]] += 1
                else:
                    faults.append(f"{name}: {target}")
        print(f"seed {SEED}, {len(targets)} disguises, served by "
              + ", ".join(f"{name} {len(found)}" for name, found in served.items())
              + f"; not here: {', '.join(self.servers.missing) or 'none'}; out of reach: {dict(excused)}", file=sys.stderr)
        self.assertGreater(sum(map(len, served.values())), len(targets) // 4, "hardly anything was served: the disguises do not fit")
        self.assertEqual(faults, [], f"{len(faults)} served and clear, seed {SEED}")


if __name__ == "__main__":
    unittest.main()
