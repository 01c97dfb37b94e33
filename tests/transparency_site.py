"""Forward proxies side by side, one origin and one client for all of them, both by script: for transparency_test.py.

A row of the table runs through each proxy (a *lane*). Its origin has an address of its own, 127.LANE.x.y, so that no row can be answered
for another one, and no proxy keeps a connection from one row to the next. SPDX-License-Identifier: Apache-2.0
"""
import asyncio
import contextlib
import os
import re
import shutil
import socket
import struct
import subprocess

from ports import free_ports

LANES = ("bloomwall", "squid", "nginx", "haproxy")
PLAIN = "HTTP/1.1 200 OK~Content-Length: 2~{}~ok"        # `< +FIELDS`
ASKED = "GET {{url}}/ HTTP/1.1~Host: {{host}}~{}~"       # `> +FIELDS`
PIECE = re.compile(r"\{(\d+)\*([^}]*)\}|\{([^}]*)\}")


def octets(text):
    """`~` is CRLF; \\xNN, \\n, \\t, \\r and \\\\ are as in Python; {N*TEXT} is TEXT, N times."""
    out = PIECE.sub(lambda m: m[2] * int(m[1]) if m[1] else m[0], text).replace("~", "\r\n")
    return out.encode("ascii").decode("unicode_escape").encode("latin-1")


class Script:
    """What one side sends, and what it waits for: {client:TEXT} until the client has received TEXT, {origin:TEXT} until the origin has,
    {close}, {half} (no more from here), {reset}; {early}: an answer that does not wait for the body of its request."""

    def __init__(self, text, host):
        text = text.replace("{host}", host).replace("{url}", f"http://{host}")
        self.is_early, self.is_upgrade = "{early}" in text, text.startswith("HTTP/1.1 101")
        self.steps, at = [], 0
        for m in PIECE.finditer(text := text.replace("{early}", "")):
            if m[3] is not None:
                self.steps += [("send", octets(text[at:m.start()])), tuple(m[3].split(":", 1)) if ":" in m[3] else (m[3], "")]
                at = m.end()
        self.steps.append(("send", octets(text[at:])))

    async def play(self, session, writer):
        for what, text in self.steps:
            if what == "send" and text:
                writer.write(text)
                await writer.drain()
            elif what == "send":
                pass
            elif what in ("client", "origin"):
                await session.until(lambda: octets(text) in (session.at_client if what == "client" else session.at_origin))
            elif what == "close":
                writer.close()
            elif what == "half":
                writer.write_eof()
            elif what == "reset":
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                writer.close()
            else:
                raise ValueError(f"no such step: {{{what}}}")


class Cut(Exception):
    """The stream ended where a message did not."""


class Stream:
    """Octets of one connection, and messages read from them as a tolerant reader takes them."""

    def __init__(self, reader, note):
        self.reader, self.note, self.octets, self.is_clean = reader, note, b"", True

    async def fill(self):
        try:
            piece = await self.reader.read(1 << 16)
        except OSError:
            piece, self.is_clean = b"", False
        self.note(piece)
        self.octets += piece
        if not piece:
            raise Cut

    async def line(self):
        while b"\n" not in self.octets:
            await self.fill()
        line, self.octets = self.octets.split(b"\n", 1)
        return line.removesuffix(b"\r")

    async def take(self, size, into):
        """Octets of a body, as they come."""
        while size > 0:
            if not self.octets:
                await self.fill()
            into.body += self.octets[:size]
            piece, self.octets = self.octets[:size], self.octets[size:]
            size -= len(piece)

    async def fields(self):
        lines = []
        while line := await self.line():
            if line[:1] in (b" ", b"\t") and lines:
                lines[-1] += b" " + line.strip()
            else:
                lines.append(line)
        return [tuple(part.strip() for part in (line.partition(b":")[::2])) for line in lines]

    async def head(self):
        message = Message(self)
        while not (first := await self.line()):
            pass
        message.first = first
        message.fields = await self.fields()
        return message


class Message:
    def __init__(self, stream):
        self.stream, self.first, self.fields, self.trailers, self.body, self.is_whole = stream, b"", [], [], b"", False

    def values(self, name):
        return [value for key, value in self.fields if key.lower() == name.lower()]

    @property
    def status(self):
        """0 where there is no status line that clients of HTTP/1 know."""
        words = self.first.split()
        return int(words[1]) if self.first.startswith(b"HTTP/1.") and len(words) > 1 and words[1].isdigit() else 0

    async def read_body(self, until_close=False, none=False, opaque=None):
        """`opaque`: so many octets of another protocol follow."""
        with contextlib.suppress(Cut):
            codings, lengths = self.values(b"transfer-encoding"), self.values(b"content-length")
            if opaque is not None:
                await self.stream.take(opaque, self)
            elif none:
                pass
            elif codings and b"chunked" in codings[-1].lower():
                while size := int((await self.stream.line()).split(b";")[0] or b"0", 16):
                    await self.stream.take(size, self)
                    await self.stream.line()
                self.trailers = await self.stream.fields()
            elif lengths:
                await self.stream.take(int(lengths[0].split(b",")[0]), self)
            elif until_close:
                await self.read_to_end()
            self.is_whole = True

    async def read_to_end(self):
        try:
            await self.stream.take(1 << 40, self)
        except Cut:
            if not self.stream.is_clean:
                raise


class Session:
    """One row through one proxy."""

    def __init__(self, row, host):
        self.row, self.host = row, host
        self.at_client, self.at_origin = b"", b""
        self.answers, self.requests = [], []  # Message
        self.changed = asyncio.Event()

    async def until(self, condition):
        while not condition():
            self.changed.clear()
            await self.changed.wait()

    def note_client(self, piece):
        self.at_client += piece
        self.changed.set()

    def note_origin(self, piece):
        self.at_origin += piece
        self.changed.set()

    async def ask(self, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        sends = asyncio.create_task(Script(self.row.sends, self.host).play(self, writer))
        try:
            await self.read_answers(Stream(reader, self.note_client))
            if not self.row.fits_answers(self):
                return  # what is answered with an error need not arrive at the origin
            if self.row.origin:
                await self.until(lambda: len(self.requests) >= len(self.row.origin) and all(r.is_whole for r in self.requests))
        finally:
            sends.cancel()
            writer.transport.abort()
            with contextlib.suppress(asyncio.CancelledError, OSError):
                await sends

    async def read_answers(self, stream):
        expected = [m for m in self.row.client if m.status >= 200 or m.status == 101]
        for message in expected:
            while True:
                try:
                    answer = await stream.head()
                except Cut:
                    return
                self.answers.append(answer)
                if answer.status >= 200 or answer.status == 101:
                    break
                answer.is_whole = True
            is_tunnel = answer.status == 101 or (message.method == "CONNECT" and answer.status == 200)
            has_none = message.method == "HEAD" or answer.status in (204, 304)
            await answer.read_body(until_close=True, none=has_none, opaque=len(message.body) if is_tunnel else None)

    async def serve(self, reader, writer):
        stream = Stream(reader, self.note_origin)
        with contextlib.suppress(Cut, OSError):
            while True:
                request = await stream.head()
                self.requests.append(request)
                script = Script(self.row.answers[min(len(self.requests), len(self.row.answers)) - 1], self.host)
                plays = asyncio.create_task(script.play(self, writer)) if script.is_early else None
                await request.read_body()
                self.changed.set()
                plays = plays or asyncio.create_task(script.play(self, writer))
                while script.is_upgrade:
                    await stream.fill()
                await plays
        writer.close()


class Site:
    """The origin, and all proxies that are installed."""

    def __init__(self, build, folder):
        self.build, self.folder, self.processes, self.sessions, self.ports = build, folder, [], {}, {}
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"lo")  # each address of 127.0.0.0/8, and no other
        self.socket.bind(("0.0.0.0", 0))
        self.socket.listen(1024)
        self.port = self.socket.getsockname()[1]
        folder.chmod(0o755)
        for lane in LANES:
            if lane == "bloomwall" or shutil.which(lane):
                home = folder / lane
                home.mkdir(mode=0o777)
                home.chmod(0o777)
                self.ports[lane], = free_ports(1)
                getattr(self, f"start_{lane}")(home, self.ports[lane])

    def run(self, home, *command):
        with open(home / "output", "wb") as out:
            self.processes.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd=home))

    def start_bloomwall(self, home, port):
        (home / "list.txt").write_text("listed.test\n")
        subprocess.run([self.build / "bloomwall-filter", "build", "-q", "-o", home / "list.bwf", home / "list.txt"], check=True)
        (home / "bloomwall.yaml").write_text(f"""
listeners: [{{address: "127.0.0.1:{port}"}}]
workers: 2
filters: [{{name: list, file: list.bwf}}]
access: {{connect_ports: [], deny_ports: [], deny_destinations: []}}
admin: {{address: null, control_socket: null}}
state_dir: null
timeouts: {{announce: 0, drain: 1s}}
log: {{file: stderr, access: {{file: access.log}}}}
""")
        self.run(home, self.build / "bloomwall", "run", "--config", home / "bloomwall.yaml")

    def start_squid(self, home, port):
        user = "cache_effective_user proxy" if os.getuid() == 0 else ""
        (home / "squid.conf").write_text(f"""
http_port 127.0.0.1:{port}
http_access allow all
cache deny all
access_log none
cache_log {home}/cache.log
pid_filename {home}/squid.pid
coredump_dir {home}
netdb_filename none
pinger_enable off
shutdown_lifetime 0 seconds
visible_hostname squid.test
request_header_max_size 200 KB
reply_header_max_size 200 KB
{user}
""")
        self.run(home, "squid", "-N", "-f", home / "squid.conf")

    def start_nginx(self, home, port):
        (home / "nginx.conf").write_text(f"""
daemon off; master_process off; worker_processes 1; pid {home}/nginx.pid; error_log {home}/error.log;
{"user root;" if os.getuid() == 0 else ""}
events {{ worker_connections 4096; }}
http {{
    access_log off; underscores_in_headers on; ignore_invalid_headers off; merge_slashes off; client_max_body_size 0;
    large_client_header_buffers 8 128k; client_header_buffer_size 128k; keepalive_timeout 600; server_tokens off;
    client_body_temp_path {home}/body; proxy_temp_path {home}/proxy; fastcgi_temp_path {home}/f; uwsgi_temp_path {home}/u; scgi_temp_path {home}/s;
    map $http_upgrade $connection_upgrade {{ default upgrade; '' ''; }}
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://$host:{self.port}$request_uri;
            proxy_http_version 1.1; proxy_buffering off; proxy_request_buffering off; proxy_max_temp_file_size 0;
            proxy_buffer_size 128k; proxy_buffers 8 128k; proxy_busy_buffers_size 256k;
            proxy_set_header Host $http_host; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection $connection_upgrade;
            proxy_pass_header Date; proxy_pass_header Server; proxy_ignore_headers X-Accel-Redirect X-Accel-Expires;
        }}
    }}
}}
""")
        self.run(home, "nginx", "-p", home, "-c", home / "nginx.conf", "-e", home / "error.log")

    def start_haproxy(self, home, port):
        (home / "haproxy.cfg").write_text(f"""
global
    maxconn 8000
    tune.bufsize 163840
    tune.http.maxhdr 512
defaults
    mode http
    timeout connect 60s
    timeout client 600s
    timeout server 600s
    timeout http-request 600s
frontend all
    bind 127.0.0.1:{port}
    http-request set-uri %[pathq] if {{ url_beg http:// }}
    default_backend origin
backend origin
    http-request set-dst hdr_ip(host)
    http-request set-dst-port int({self.port})
    server origin 0.0.0.0:0
""")
        self.run(home, "haproxy", "-db", "-f", home / "haproxy.cfg")

    async def accept(self, reader, writer):
        session = self.sessions.get(writer.get_extra_info("sockname")[0])
        with contextlib.suppress(asyncio.CancelledError):
            if session:
                await session.serve(reader, writer)
        writer.close()

    def session(self, row, number, lane):
        address = f"127.{LANES.index(lane) + 1}.{number >> 8}.{(number & 255)}"
        session = self.sessions[address] = Session(row, f"{address}:{self.port}")
        return session

    def versions(self):
        """Of the peers: "squid 5.7"."""
        for lane, flag in (("squid", "-v"), ("nginx", "-v"), ("haproxy", "-v")):
            if lane in self.ports:
                out = subprocess.run([lane, flag], capture_output=True, text=True, check=True)
                yield f"{lane} {re.search(r'([0-9]+[.][0-9.]*[0-9])', out.stdout + out.stderr)[1]}"

    def is_up(self, lane):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.ports[lane])):
            return True
        return False

    def end(self):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.socket.close()
