"""The web servers of Debian on ports of loopback, each serving the same folder in the ways in which people set it up.

One that is not installed, or does not start, is named in `missing`. SPDX-License-Identifier: Apache-2.0
"""
import contextlib
import os
import pathlib
import shutil
import socket
import socketserver
import subprocess
import sys
import threading
import time

from ports import free_ports

START = 120  # seconds that a server may take until it answers
ANSWER = 30  # seconds, likewise
HOST = "h.test"
LOCAL = "127.0.0.1"
JAVA = ["java", "-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]

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
const express = require('express'), serveStatic = require('serve-static'), http = require('http'), fs = require('fs');
const [root, routed, folder, plain, ...files] = process.argv.slice(2);
const routes = express(), tree = express(), serve = serveStatic(root);
for (const file of files) routes.get(file, (request, response) => response.end(fs.readFileSync(root + file)));
tree.use(express.static(root));
routes.listen(+routed, '127.0.0.1');
tree.listen(+folder, '127.0.0.1');
http.createServer((q, r) => serve(q, r, () => { r.statusCode = 404; r.end(); })).listen(+plain, '127.0.0.1');
"""

# The path as applications read it that are asked for everything: once by a library, once by hand, and decoded again.
PHP = """<?php
$path = parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
$file = is_string($path) ? realpath(getenv('ROOT') . '/' . urldecode($path)) : false;
if ($file !== false && str_starts_with($file, getenv('ROOT') . '/') && is_file($file)) readfile($file); else http_response_code(404);
"""

PYTHON = """
import http.server, os, sys, threading, urllib.parse
root, *ports = sys.argv[1:]
names = [lambda target: urllib.parse.unquote(urllib.parse.urlsplit(target).path), lambda target: urllib.parse.unquote(target.split('?')[0]),
         lambda target: urllib.parse.unquote(urllib.parse.unquote(target.split('?')[0]))]

def serve(name, port):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            try:
                with open(root + os.path.normpath('/' + name(self.path).lstrip('/')), 'rb') as file:
                    text = file.read()
            except (OSError, ValueError):
                return self.send_error(404)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(text)
        def log_message(self, *_):
            pass
    http.server.ThreadingHTTPServer.request_queue_size = 512
    http.server.ThreadingHTTPServer(('127.0.0.1', int(port)), Handler).serve_forever()

for name, port in zip(names, ports):
    threading.Thread(target=serve, args=(name, port)).start()
"""

GO = """package main

import (
	"io"
	"net/http"
	"os"
	"path"
)

func main() {
	go http.ListenAndServe("127.0.0.1:"+os.Args[2], http.FileServer(http.Dir(os.Args[1])))
	http.ListenAndServe("127.0.0.1:"+os.Args[3], http.HandlerFunc(func(to http.ResponseWriter, request *http.Request) {
		file, err := os.Open(os.Args[1] + path.Clean("/"+request.URL.Path))
		if err != nil {
			http.NotFound(to, request)
			return
		}
		defer file.Close()
		io.Copy(to, file)
	}))
}
"""

HAPROXY = """
global
 maxconn 4000
defaults
 mode http
 timeout client 30s
 timeout server 30s
 timeout connect 30s
"""
HAPROXY_SITE = """
frontend f{port}
 bind 127.0.0.1:{port}
 http-request set-path {path}
 default_backend b{port}
backend b{port}
 server s 127.0.0.1:{to}
"""

TOMCAT = """<Server port="-1"><Service name="Catalina">
<Connector address="127.0.0.1" port="{strict}" />
<Connector address="127.0.0.1" port="{lax}" relaxedPathChars="&quot;&lt;&gt;[\\]^`{{|}}" relaxedQueryChars="&quot;&lt;&gt;[\\]^`{{|}}"
  encodedSolidusHandling="decode" allowBackslash="true" />
<Engine name="Catalina" defaultHost="localhost"><Host name="localhost" appBase="webapps" autoDeploy="false">
<Context path="" docBase="{root}" /></Host></Engine></Service></Server>
"""
TOMCAT_WEB = """<web-app><servlet><servlet-name>default</servlet-name>
<servlet-class>org.apache.catalina.servlets.DefaultServlet</servlet-class></servlet>
<servlet-mapping><servlet-name>default</servlet-name><url-pattern>/</url-pattern></servlet-mapping></web-app>
"""

APACHE_MODULES = ("mpm_event", "authz_core", "dir", "mime", "proxy", "proxy_http", "rewrite", "alias")
CADDY = "{{\nadmin off\nauto_https off\n}}\n{sites}"
CADDY_SITE = "http://:{port} {{\nbind 127.0.0.1\n{does}\n}}\n"


def get(port, target, proxy=None, whole=False):
    """What is answered to GET on a connection of its own, of the server or through the proxy; b"" where nothing is. The target is sent
    as it stands, in octets. Not `whole`: the status line at least."""
    answer = b""
    try:
        with socket.create_connection((LOCAL, proxy or port), ANSWER) as to:
            to.sendall(b"GET " + target + b" HTTP/1.1\r\nHost: %s:%d\r\nConnection: close\r\n\r\n" % (HOST.encode(), port))
            while (whole or b"\n" not in answer) and (piece := to.recv(65536)):
                answer += piece
    except OSError:  # reset, by a server that does not read such a request to its end
        pass
    return answer


class Anything(socketserver.ThreadingTCPServer):
    """An origin that answers whatever it is asked: what reaches it was let through."""
    daemon_threads = allow_reuse_address = True
    request_queue_size = 512

    class Handler(socketserver.StreamRequestHandler):
        def handle(self):
            while self.rfile.readline():  # the request line
                while self.rfile.readline() not in (b"\r\n", b"\n", b""):
                    pass
                self.wfile.write(b"HTTP/1.1 299 Let through\r\nContent-Length: 0\r\n\r\n")

    def __init__(self):
        super().__init__((LOCAL, 0), self.Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        pass  # the proxy ended an idle connection


class RealServers:
    """`ports`: by name, of all that answer. Those of `required` must be there. close() ends what was started."""

    def __init__(self, folder, files, marker):
        self.folder, self.root, self.files = folder, folder / "root", files
        self.ports, self.missing, self.processes = {}, [], []
        for file in files:
            (self.root / file[1:]).parent.mkdir(parents=True, exist_ok=True)
            (self.root / file[1:]).write_bytes(marker)
        self.marker = marker
        for start in (self.start_scripts, self.start_apache, self.start_lighttpd, self.start_caddy, self.start_tomcat, self.start_jetty,
                      self.start_go, self.start_haproxy):
            start()
        self.start_nginx()  # in front of the others
        self.wait()

    def run(self, command, ports, cwd=None, environment=None):
        with open(self.folder / "servers.log", "ab") as log:
            self.processes.append(subprocess.Popen([str(word) for word in command], cwd=cwd or self.folder, stdin=subprocess.DEVNULL,
                                                   stdout=log, stderr=log, env={**os.environ, **(environment or {})}))
        self.ports.update(ports)

    def has(self, program, *files):
        if shutil.which(program) and all(pathlib.Path(file).exists() for file in files):
            return True
        self.missing.append(pathlib.Path(files[0]).name if files else program)
        return False

    def start_scripts(self):
        python, php, *node = free_ports(5)
        routed, tree, plain = free_ports(3)
        front, *by_hand = free_ports(4)
        self.run([sys.executable, "-m", "http.server", python, "--bind", LOCAL, "--directory", self.root], {"python": python})
        if self.has("php"):
            self.run(["php", "-S", f"{LOCAL}:{php}", "-t", self.root], {"php": php})
            (self.folder / "front.php").write_text(PHP)
            self.run(["php", "-S", f"{LOCAL}:{front}", "front.php"], {"php front controller": front}, environment={"ROOT": str(self.root)})
        (self.folder / "names.py").write_text(PYTHON)
        self.run([sys.executable, "names.py", self.root, *by_hand],
                 dict(zip(["python urlsplit", "python unquote", "python unquote twice"], by_hand)))
        if self.has("node"):
            (self.folder / "node.js").write_text(NODE)
            self.run(["node", "node.js", self.root, *node], dict(zip(["node URL", "node url.parse", "node decodeURIComponent"], node)))
        if self.has("node", "/usr/share/nodejs/express", "/usr/share/nodejs/serve-static"):
            (self.folder / "express.js").write_text(EXPRESS)
            self.run(["node", "express.js", self.root, routed, tree, plain, *self.files],
                     {"express routes": routed, "express static": tree, "serve-static": plain}, environment={"NODE_PATH": "/usr/share/nodejs"})

    def start_apache(self):
        if not self.has("apache2"):
            return
        plain, path_info, encoded, handed_on, rewritten, alias, matched, unescaped = free_ports(8)
        folder, root = self.folder, self.root
        load = "".join(f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n" for name in APACHE_MODULES)
        python = self.ports["python"]
        sites = [(plain, ""), (path_info, f"<Directory {root}>\nAcceptPathInfo On\n</Directory>\n"), (encoded, "AllowEncodedSlashes On\n"),
                 (handed_on, f"AllowEncodedSlashes NoDecode\nProxyPass / http://{LOCAL}:{python}/ nocanon\n"),
                 (rewritten, f"AllowEncodedSlashes On\nRewriteEngine On\nRewriteRule ^(.*)$ http://{LOCAL}:{python}$1 [P]\n"),
                 (alias, f"AllowEncodedSlashes On\nAliasMatch ^/(.*)$ {root}/$1\n"),
                 (matched, f"AllowEncodedSlashes On\nProxyPassMatch ^/(.*)$ http://{LOCAL}:{python}/$1\n"),
                 (unescaped, f"RewriteEngine On\nRewriteMap un int:unescape\nRewriteRule ^/(.*)$ {root}/${{un:$1}} [L]\n")]
        user = "User www-data\nGroup www-data\n" if os.geteuid() == 0 else ""
        (folder / "apache.conf").write_text(
            f"ServerRoot {folder}\nServerName h.test\nPidFile {folder}/apache.pid\nErrorLog {folder}/apache.log\n{load}{user}"
            f"DefaultRuntimeDir {folder}\nTypesConfig /dev/null\n<Directory />\nRequire all granted\n</Directory>\n" + "".join(
                f"Listen {LOCAL}:{port}\n<VirtualHost {LOCAL}:{port}>\nDocumentRoot {root}\n{more}</VirtualHost>\n" for port, more in sites))
        self.run(["apache2", "-DFOREGROUND", "-f", folder / "apache.conf"],
                 {"apache": plain, "apache with path info": path_info, "apache with encoded slashes": encoded,
                  "apache to python": handed_on, "apache rewrite to python": rewritten, "apache alias": alias,
                  "apache match to python": matched, "apache unescape": unescaped})

    def start_lighttpd(self):
        if not self.has("lighttpd"):
            return
        port, spelt, backslash, rewritten = free_ports(4)
        for name, number, more in (("lighttpd", port, ""),
                                   ("lighttpd backslash", backslash, '\nserver.http-parseopts = ("url-path-backslash-trans" => "enable")'),
                                   ("lighttpd rewrite", rewritten, '\nserver.modules += ("mod_rewrite")\nurl.rewrite-once = ("^/(.*)$" => "/$1")'),
                                   ("lighttpd as spelt", spelt, '\nserver.http-parseopts = ("url-normalize" => "disable")')):
            (self.folder / f"{name}.conf").write_text(
                f'server.document-root = "{self.root}"\nserver.port = {number}\nserver.bind = "{LOCAL}"{more}\n')
            self.run(["lighttpd", "-D", "-f", f"{name}.conf"], {name: number})

    def start_caddy(self):
        if not self.has("caddy"):
            return
        port, handed_on, tried, matched = free_ports(4)
        files = f"root * {self.root}\n"
        does = {"caddy": (port, f"{files}file_server"), "caddy try_files": (tried, f"{files}try_files {{path}}.html {{path}}\nfile_server"),
                "caddy rewrite": (matched, f"{files}@all path_regexp all ^/(.*)$\nrewrite @all /{{re.all.1}}\nfile_server"),
                "caddy rewrite to python": (handed_on, f"rewrite * {{path}}\nreverse_proxy {LOCAL}:{self.ports['python']}")}
        sites = "".join(CADDY_SITE.format(port=number, does=what) for number, what in does.values())
        (self.folder / "Caddyfile").write_text(CADDY.format(sites=sites))
        self.run(["caddy", "run", "--config", "Caddyfile", "--adapter", "caddyfile"], {name: number for name, (number, _) in does.items()},
                 environment={"HOME": str(self.folder)})

    def start_tomcat(self):
        home = pathlib.Path("/usr/share/tomcat10")
        if not self.has("java", home / "bin/bootstrap.jar"):
            return
        strict, lax = free_ports(2)
        base = self.folder / "tomcat"
        for name in ("conf", "temp", "webapps", "logs", "work"):
            (base / name).mkdir(parents=True)
        (base / "conf/server.xml").write_text(TOMCAT.format(strict=strict, lax=lax, root=self.root))
        (base / "conf/web.xml").write_text(TOMCAT_WEB)
        self.run([*JAVA, "-cp", f"{home}/bin/bootstrap.jar:{home}/bin/tomcat-juli.jar", f"-Dcatalina.home={home}", f"-Dcatalina.base={base}",
                  f"-Djava.io.tmpdir={base}/temp", "org.apache.catalina.startup.Bootstrap", "start"], {"tomcat": strict, "tomcat lax": lax})

    def start_jetty(self):
        home = pathlib.Path("/usr/share/jetty9")
        if not self.has("java", home / "start.jar"):
            return
        for (name, more), port in zip({"jetty": (), "jetty legacy": ("jetty.http.compliance=LEGACY",)}.items(), free_ports(2)):
            base = self.folder / name.replace(" ", "_")
            shutil.copytree(self.root, base / "webapps/ROOT")
            self.run([*JAVA, f"-Djetty.home={home}", f"-Djetty.base={base}", "-jar", home / "start.jar", "--module=http,deploy",
                      f"jetty.http.host={LOCAL}", f"jetty.http.port={port}", *more], {name: port}, cwd=base)

    def start_go(self):
        if not self.has("go"):
            return
        files, path = free_ports(2)
        (self.folder / "serve.go").write_text(GO)
        built = subprocess.run(["go", "build", "-o", "serve", "serve.go"], cwd=self.folder, capture_output=True, text=True, check=False,
                               env={**os.environ, "GO111MODULE": "off", "GOCACHE": str(self.folder / "go")})
        if built.returncode != 0:
            self.missing.append(f"go (builds nothing: {built.stderr.strip()})")
            return
        self.run([self.folder / "serve", self.root, files, path], {"go FileServer": files, "go URL.Path": path})

    def start_haproxy(self):
        """The path decoded, once and twice, in front of servers that read what comes then."""
        if not self.has("haproxy"):
            return
        sites = [(how, to, port) for (how, to), port in zip([(how, to) for how in ("url_dec", "url_dec,url_dec")
                                                             for to in ("python", "node URL", "tomcat lax") if to in self.ports], free_ports(6))]
        (self.folder / "haproxy.cfg").write_text(HAPROXY + "".join(
            HAPROXY_SITE.format(port=port, path=f"%[path,{how}]", to=self.ports[to]) for how, to, port in sites))
        self.run(["haproxy", "-f", "haproxy.cfg", "-db"], {f"haproxy {how} to {to}": port for how, to, port in sites})

    def start_nginx(self):
        """Files, files unmerged, by alias, handed on as spelt, with a URI, by a rewrite, by an expression; and as $uri to each other
        server."""
        if not self.has("nginx"):
            return
        static, unmerged, alias, spelt, uri, rewrite, matched, inside = free_ports(8)
        slash = f"location / {{ proxy_pass http://{LOCAL}"
        sites = {"nginx": (static, f"root {self.root};"), "nginx unmerged": (unmerged, f"merge_slashes off; root {self.root};"),
                 "nginx alias": (alias, f"root {self.root}; location /d/ {{ alias {self.root}/d/; }}"),
                 "nginx proxy_pass": (spelt, f"{slash}:{static}; }}"), "nginx proxy_pass with URI": (uri, f"{slash}:{static}/; }}"),
                 "nginx rewrite": (rewrite, f"rewrite ^(.*)$ $1 break; {slash}:{static}; }}"),
                 "nginx match to python": (matched, f"location ~ ^/(.*)$ {{ proxy_pass http://{LOCAL}:{self.ports['python']}/$1; }}"),
                 "nginx internal": (inside, "location / { rewrite ^/(.*)$ /in/$1 last; } "
                                    f"location /in/ {{ internal; alias {self.root}/; }}")}
        behind = {name: port for name, port in {**self.ports, "nginx": static}.items()
                  if name in ("python", "php", "php front controller", "node URL", "node decodeURIComponent", "express static", "apache", "lighttpd", "caddy",
                              "tomcat lax", "jetty", "nginx")}
        for (name, to), port in zip(behind.items(), free_ports(len(behind))):
            sites[f"nginx $uri to {name}"] = (port, f"{slash}:{to}$uri; }}")
        for (name, to), port in zip(behind.items(), free_ports(len(behind))):
            sites[f"nginx unmerged $uri to {name}"] = (port, f"merge_slashes off; {slash}:{to}$uri; }}")
        temporary = "".join(f"{kind}_temp_path {self.folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        (self.folder / "nginx.conf").write_text(
            f"daemon off; worker_processes 1; pid {self.folder}/nginx.pid; error_log {self.folder}/nginx.log crit;\n"
            f"events {{}}\nhttp {{ access_log off; {temporary}\n"
            + "\n".join(f"server {{ listen {LOCAL}:{port}; {does} }}" for port, does in sites.values()) + "\n}\n")
        self.run(["nginx", "-p", self.folder, "-c", self.folder / "nginx.conf", "-e", self.folder / "nginx.log"],
                 {name: port for name, (port, _) in sites.items()})

    def serves(self, name, target, proxy=None, host=None):
        """Whether what is answered is a listed file."""
        port = self.ports[name]
        asked = b"http://%s%s" % (host, target) if proxy else target
        return self.marker in get(port, asked, proxy, whole=True)

    def wait(self):
        end = time.monotonic() + START
        for name in list(self.ports):
            while not self.serves(name, self.files[0].encode()):
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
