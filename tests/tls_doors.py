"""The doors of one_verdict_test.py inside TLS: the server name of a tunnel, and requests of HTTP/1.1 and HTTP/2 in TLS that the proxy ends.
SPDX-License-Identifier: Apache-2.0
"""
import contextlib
import os
import socket
import ssl

from http2_test import PREFACE, Frames, frame, read_until
from interception_site import BUILD, WAIT, Authority, Proxy, Server, run

SINK = "sink.test"  # what CONNECT names where the server name is what is asked about
AGENT = b"Mozilla/5.0 (one verdict)"  # of a browser, which is shown pages inside TLS
AT_ONCE = 40  # streams of a connection
VERDICTS = {204: "allowed", 403: "blocked", 451: "blocked", 400: "rejected", 421: "rejected"}
# Of HPACK: statuses that its table has, and digits in its code.
STATUSES = {8: 200, 9: 204, 10: 206, 11: 304, 12: 400, 13: 404, 14: 500}
DIGITS = {f"{code:05b}": str(code) for code in range(3)} | {f"{22 + digit:06b}": str(digit) for digit in range(3, 10)}


def client_hello(name):
    """One that no server can use but that names a host."""
    def sized(octets, width=2):
        return len(octets).to_bytes(width, "big") + octets
    extension = b"\0\0" + sized(sized(b"\0" + sized(name)))
    body = b"\3\3" + os.urandom(32) + b"\0" + sized(b"\x13\x01") + b"\1\0" + sized(extension)
    return b"\x16\3\1" + sized(b"\1" + sized(body, 3))


def literal(octets):
    """A string of HPACK as it is."""
    if len(octets) < 127:
        return bytes([len(octets)]) + octets
    rest, out = len(octets) - 127, b"\x7f"
    while rest > 127:
        rest, out = rest >> 7, out + bytes([rest & 127 | 128])
    return out + bytes([rest]) + octets


def header_block(fields):
    return b"".join(b"\0" + literal(name) + literal(value) for name, value in fields)


def status_of(block):
    """Of an answer to a client whose table is empty: the first field."""
    while block[0] & 0xE0 == 0x20:
        block = block[1:]
    if block[0] & 0x80:
        return STATUSES[block[0] & 0x7F]
    size, text = block[1] & 0x7F, block[2:2 + (block[1] & 0x7F)]
    assert len(text) == size, block
    if not block[1] & 0x80:
        return int(text)
    said, code = "", ""
    for bit in "".join(f"{octet:08b}" for octet in text):
        code += bit
        if code in DIGITS and len(said) < 3:
            said, code = said + DIGITS[code], ""
    return int(said)


class Sink(Server):
    """Refuses every hello, as a server of TLS does that has nothing in common with its client."""

    def serve(self, client):
        if client.recv(1 << 16):
            client.sendall(b"\x15\3\3\0\2\2\x28")


class Origin(Server):
    """Says 204 to everything, in the version that is chosen."""

    def __init__(self, certificate, key):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificate, key)
        self.context.set_alpn_protocols(["h2", "http/1.1"])
        super().__init__()

    def serve(self, client):
        with self.context.wrap_socket(client, server_side=True) as peer:
            if peer.selected_alpn_protocol() == "h2":
                return self.serve_http2(peer)
            while True:
                read_until(peer, b"\r\n\r\n")
                peer.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")

    @staticmethod
    def serve_http2(peer):
        peer.sendall(frame(4, 0, 0, b"\0\3\0\0\0\x80"))
        for kind, flags, stream, payload in Frames(peer, read_until(peer, PREFACE).partition(PREFACE)[2]):
            if kind in (1, 9) and flags & 4:
                peer.sendall(frame(1, 5, stream, b"\x89"))
            elif kind in (4, 6) and not flags & 1:
                peer.sendall(frame(kind, 1, 0, payload if kind == 6 else b""))


class TlsDoors:
    """Two daemons: one that looks at server names alone, and one that ends all TLS. Questions inside are (host, path), as they are spelt."""

    def __init__(self, folder, listed, allow, names):
        self.folder = folder / "tls"
        self.folder.mkdir()
        (self.folder / "list.bwf").symlink_to(listed)
        (self.folder / "allow.txt").symlink_to(allow)
        (self.folder / "never.txt").write_text("")
        run(BUILD / "bloomwall", "ca", "init", "--out", self.folder)
        self.sink = Sink()
        self.origin = Origin(*Authority(self.folder).issue("origin", sorted(names)))
        self.port = self.origin.port
        self.names = Proxy(self.folder, "off", [], name="names", names=[SINK])
        self.inside = Proxy(self.folder, "all", [], name="inside", names=names, more="limits: {leaves_per_client: 100000}\n")
        self.cut = 0  # tunnels that were cut for a blocked server name, as the metrics had it

    def close(self):
        ends = [proxy.end() for proxy in (self.names, self.inside)]
        self.sink.close()
        self.origin.close()
        assert ends == [0, 0], ends

    def tunnel(self, proxy, target):
        """The status of CONNECT, and the tunnel."""
        peer = socket.create_connection(("127.0.0.1", proxy.port), timeout=WAIT)
        peer.sendall(b"CONNECT %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: %s\r\n\r\n" % (target, target, AGENT))
        return int(read_until(peer, b"\r\n\r\n").split()[1]), peer

    def ask_sni(self, name):
        status, peer = self.tunnel(self.names, f"{SINK}:{self.sink.port}".encode())
        with peer:
            assert status == 200, status
            peer.sendall(client_hello(name))
            with contextlib.suppress(ConnectionResetError):
                if peer.recv(100):
                    return "allowed"
        before, self.cut = self.cut, self.names.metric("sni_blocked_total")
        return "blocked" if self.cut > before else "rejected"

    def session(self, host, version):
        """TLS with the proxy in a tunnel to a host; None: CONNECT was denied."""
        status, peer = self.tunnel(self.inside, b"%s:%d" % (host, self.port))
        if status != 200:
            assert status == 403, status
            peer.close()
            return None
        context = ssl.create_default_context(cafile=str(self.folder / "ca.crt"))
        context.set_alpn_protocols([version])
        try:
            return context.wrap_socket(peer, server_hostname=host.decode())
        except OSError as error:
            raise AssertionError(f"no TLS with the proxy for {host!r}: {error}; it has logged {self.inside.log()[-2:]}") from error

    def by_host(self, questions):
        """The places of the questions of each host."""
        places = {}
        for place, (host, _) in enumerate(questions):
            places.setdefault(host.lower().rstrip(b"."), []).append(place)
        return places.items()

    def ask_https(self, questions):
        """One connection for a host, and another one where an answer has ended it."""
        said = ["blocked"] * len(questions)
        for name, places in self.by_host(questions):
            peer = None
            for place in places:
                peer = peer or self.session(name, "http/1.1")
                if peer is None:
                    break
                host, path = questions[place]
                peer.sendall(b"GET %s HTTP/1.1\r\nHost: %s:%d\r\n\r\n" % (path, host, self.port))
                status, is_last = self.answer(peer)
                said[place] = VERDICTS[status]
                if is_last:
                    peer.close()
                    peer = None
            if peer:
                peer.close()
        return said

    @staticmethod
    def answer(peer):
        head, _, body = read_until(peer, b"\r\n\r\n").partition(b"\r\n\r\n")
        lines = head.lower().split(b"\r\n")
        size = sum(int(line.split(b":")[1]) for line in lines if line.startswith(b"content-length:"))
        while len(body) < size:
            piece = peer.recv(1 << 16)
            assert piece, "it ended"
            body += piece
        assert len(body) == size, "more than one answer"
        return int(lines[0].split()[1]), b"connection: close" in lines

    def ask_http2(self, questions):
        """One connection for a host, with a stream for each question."""
        said = ["blocked"] * len(questions)
        for name, places in self.by_host(questions):
            while places:
                peer = self.session(name, "h2")
                if peer is None:
                    break
                with peer:
                    answers = self.streams(peer, [questions[place] for place in places])
                for place, verdict in zip(places, answers):
                    said[place] = verdict
                assert answers, f"{name}: a connection without an answer"
                places = places[len(answers):]
        return said

    def streams(self, peer, questions):
        """The verdicts of the first questions: of all, or of those before the connection's end."""
        peer.sendall(PREFACE + frame(4, 0, 0, b"\0\1\0\0\0\0\0\4\x7f\xff\xff\xff") + frame(8, 0, 0, b"\x7f\xff\0\0"))
        frames, answers, asked = iter(Frames(peer)), {}, 0
        while len(answers) < len(questions):
            while asked < len(questions) and asked - len(answers) < AT_ONCE:
                host, path = questions[asked]
                fields = [(b":method", b"GET"), (b":scheme", b"https"), (b":authority", b"%s:%d" % (host, self.port)), (b":path", path)]
                peer.sendall(frame(1, 5, 2 * asked + 1, header_block(fields)))
                asked += 1
            kind, flags, stream, payload = next(frames)
            if kind == 1 and stream // 2 not in answers:
                answers[stream // 2] = VERDICTS[status_of(payload)]
            elif kind == 3 and stream // 2 not in answers:
                answers[stream // 2] = "rejected"
            elif kind == 4 and not flags & 1:
                peer.sendall(frame(4, 1, 0))
            assert kind != 7 or answers.keys() == set(range(len(answers))), f"GOAWAY {payload!r}"
            if kind == 7:
                break
        return [answers[place] for place in range(len(answers))]
