"""The protocols of `answers:` as answer_storm_test.py speaks them: questions to octets, octets to answers, and what is none.
SPDX-License-Identifier: Apache-2.0
"""
import collections
import dataclasses
import json
import re

CLIENTS = 8  # with groups of their own; own.test is blocked for every second of them


class Question:
    """`kind`: ok, listed, or own, which is blocked for clients with odd numbers alone."""

    def __init__(self, random, asker, text):
        self.asker, self.text = asker, text
        self.client = random.randrange(CLIENTS)  # where a protocol names one, else it is the asker
        self.kind = random.choice(["ok", "listed", "own"])
        self.host = f"{random.choice(['', 'www.'])}{self.kind}.test"

    def verdict(self, client):
        return "block" if self.kind == "listed" or (self.kind == "own" and client % 2) else "pass"

    def __repr__(self):
        return f"{self.text} ({self.kind}, client {self.client}, asker {self.asker})"


@dataclasses.dataclass
class Answer:
    verdict: str  # pass, block, or what else it says
    id: str = ""
    tag: str = None
    body: bytes = None  # that came back
    is_last: bool = False  # it says that the connection ends
    # What the log must say of it; by fault().
    url: str = None
    client: str = None
    times: int = 1


class Dialect:
    """Of one connection."""

    survives_upgrades = False  # its connection does not end by one

    def __init__(self, random):
        self.random, self.buffer = random, b""
        self.forms = collections.deque()  # of questions that were written, in their order

    def rest(self):
        return self.buffer

    def feed(self, octets):
        self.buffer += octets
        while self.buffer and (found := self.parse()) is not None:
            yield found

    def parse(self):
        """Takes a whole answer out of the buffer."""
        raise NotImplementedError

    def asked(self, waiting, _):
        return waiting[0]

    def fault(self, question, answer):
        answer.url, answer.client = f"http://{question.host}/{question.text}", f"192.0.2.{question.client}"
        wanted = question.verdict(question.client)
        return None if answer.verdict == wanted else f"not {wanted}"


def id_in(body):
    return json.loads(body)["decision_id"] if body else ""


class Http(Dialect):
    BROKEN = [b"GET\r\n\r\n", b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", b"\x16\x03\x01\x00\xff\x01",
              b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
              b"GET / HTTP/1.1\r\nHost: x\r\nX-Original-URL: http://ok.test/\r\nX-Original-URL: http://ok.test/\r\n\r\n",
              b"POST / HTTP/1.1\r\nHost: x\r\nX-Original-URL: http://ok.test/\r\nContent-Length: 99999\r\n\r\n"]

    def write(self, question):
        form = self.random.choice(["url", "uri", "envoy", "head", "length", "chunked"])
        self.forms.append(form)
        target, method, more, body = "/", "GET", "", b""
        if form == "uri":
            more = f"X-Forwarded-Uri: /{question.text}\r\nX-Forwarded-Host: {question.host}\r\nX-Forwarded-Proto: http\r\nX-Forwarded-Method: PUT\r\n"
        elif form == "envoy":
            target = f"/ask/{question.text}"
        else:
            more = f"X-Original-URL: http://{question.host}/{question.text}\r\n"
        if form == "head":
            method = "HEAD"
        elif form == "length":
            method, body = "POST", question.text.encode()
            more += f"Content-Length: {len(body)}\r\n"
        elif form == "chunked":
            method, body = "POST", b"%x\r\n%s\r\n0\r\n\r\n" % (len(question.text), question.text.encode())
            more += "Transfer-Encoding: chunked\r\n"
        host = question.host if form == "envoy" else "asks.test"
        return (f"{method} {target} HTTP/1.1\r\nHost: {host}\r\nAccept: application/json\r\nX-Forwarded-For: 192.0.2.{question.client}\r\n"
                f"{more}\r\n").encode() + body

    def parse(self):
        head, end, rest = self.buffer.partition(b"\r\n\r\n")
        if not end:
            return None
        form = self.forms[0] if self.forms else ""
        status = int(head.split()[1])
        found = re.search(rb"\r\ncontent-length: *(\d+)", head, re.I)
        length = 0 if form == "head" or status == 204 or not found else int(found[1])
        if len(rest) < length:
            return None
        body, self.buffer = rest[:length], rest[length:]
        if self.forms:
            self.forms.popleft()
        verdict = {200 if form == "envoy" else 204: "pass", 403: "block"}.get(status, f"{status}")
        return Answer(verdict, id_in(body) if verdict == "block" else "", is_last=re.search(rb"\r\nconnection: *close", head, re.I) is not None)


class Squid(Dialect):
    BROKEN = [b"\n", b"1 -\n", b"1 gopher://ok.test/ GET\n", b"\0\xff\xfe\n", b"1 http://ok.test/ GET nobody\n", b"123456789012345678901 http://ok.test/ GET\n",
              b"1 " + b"x" * 70_000, b"1 http://ok.test/" + b"%23" * 20 + b" GET\n"]

    def __init__(self, random):
        super().__init__(random)
        self.has_channels = random.random() < 0.7
        self.channels = {}

    def write(self, question):
        channel = ""
        if self.has_channels:
            channel = str(len(self.channels) + 1000)
            self.channels[channel] = question.text
            channel += " "
        method = self.random.choice(["GET", "POST", "HEAD"])
        return f"{channel}http://{question.host}/{question.text} {method} 192.0.2.{question.client} -\n".encode()

    def parse(self):
        line, end, rest = self.buffer.partition(b"\n")
        if not end:
            return None
        self.buffer = rest
        found = re.fullmatch(r"(?:(\d+) )?(?:(OK)|ERR message=\"Blocked[^\"]*\" log=(\w{16}))", line.decode())
        if not found:
            return Answer(line.decode(), tag=line.decode().split(" ")[0])
        return Answer("pass" if found[2] else "block", found[3] or "", tag=found[1])

    def asked(self, waiting, answer):
        if not self.has_channels:
            return waiting[0]
        text = self.channels.pop(answer.tag, None)  # each once
        return next((question for question in waiting if question.text == text), None)


class Helper(Squid):
    survives_upgrades = True
    BROKEN = [line for line in Squid.BROKEN if len(line) < 1 << 16]  # a longer one ends it, and what is open then has no verdict


class Icap(Dialect):
    BROKEN = [b"GET / HTTP/1.1\r\n\r\n", b"REQMOD icap://p/reqmod ICAP/1.0\r\nHost: p\r\nEncapsulated: req-hdr=0, null-body=5\r\n\r\nGET http://ok.test/ HTTP/1.1\r\n\r\n",
              b"REQMOD icap://p/reqmod ICAP/1.0\r\nHost: p\r\nEncapsulated: req-hdr=0, null-body=900\r\n\r\nGET http://ok.test/ HTTP/1.1\r\n\r\n",
              b"REQMOD icap://p/reqmod ICAP/1.0\r\nHost: p\r\nEncapsulated: req-hdr=0, req-body=30\r\n\r\nGET http://ok.test/ HTTP/1.1\r\n\r\nffffffffffffffffff\r\n",
              b"REQMOD icap://p/reqmod ICAP/1.0\r\nHost: p\r\nPreview: 4\r\nEncapsulated: req-hdr=0, req-body=30\r\n\r\nGET http://ok.test/ HTTP/1.1\r\n\r\n8\r\n12345678\r\n0\r\n\r\n",
              b"REQMOD icap://p/none ICAP/1.0\r\nHost: p\r\nEncapsulated: req-hdr=0, null-body=30\r\n\r\nGET http://ok.test/ HTTP/1.1\r\n\r\n"]

    def write(self, question):
        form = self.random.choice(["plain", "whole", "preview", "short", "returned"] if question.kind == "ok" else ["plain", "preview", "short"])
        body = (question.text.encode() + b" ") * self.random.choice([1, 30, 3000])
        self.forms.append((form, body))
        head = (f"{'GET' if form == 'plain' else 'POST'} http://{question.host}/{question.text} HTTP/1.1\r\nHost: {question.host}\r\n"
                f"Accept: application/json\r\n\r\n").encode()
        fields = f"X-Client-IP: 192.0.2.{question.client}\r\n"
        fields += "Allow: 204\r\n" if form in ("plain", "whole") else ""
        fields += {"preview": "Preview: 0\r\n", "short": f"Preview: {len(body)}\r\n"}.get(form, "")
        kind = "null-body" if form == "plain" else "req-body"
        chunk = b"%x\r\n%s\r\n" % (len(body), body)
        tail = {"plain": b"", "preview": b"0\r\n\r\n", "short": chunk + b"0; ieof\r\n\r\n"}.get(form, chunk + b"0\r\n\r\n")
        return (f"REQMOD icap://p/reqmod ICAP/1.0\r\nHost: p\r\n{fields}Encapsulated: req-hdr=0, {kind}={len(head)}\r\n\r\n").encode() + head + tail

    def parse(self):
        head, end, rest = self.buffer.partition(b"\r\n\r\n")
        if not end:
            return None
        status = head.split()[1].decode()
        kind, length = re.search(rb"Encapsulated: .*?([a-z]+-body)=(\d+)", head).groups()
        http, rest, body = rest[:int(length)], rest[int(length):], b""
        if kind != b"null-body":
            size = None
            while size != 0:
                line, end, rest = rest.partition(b"\r\n")
                if not end or len(rest) < int(line, 16) + 2:
                    return None
                size = int(line, 16)
                body, rest = body + rest[:size], rest[size + 2:]
        elif len(http) < int(length):
            return None
        self.buffer = rest
        if status == "204" or http.startswith((b"GET ", b"POST ")):
            return Answer("pass", body=body if http else None, is_last=b"\r\nConnection: close" in head)
        is_block = http.startswith(b"HTTP/1.1 403 ")
        return Answer("block" if is_block else status, id_in(body) if is_block else "", is_last=b"\r\nConnection: close" in head)

    def asked(self, waiting, answer):
        form, body = self.forms.popleft()
        if form == "returned" and answer.verdict == "pass" and answer.body != body:
            answer.verdict = "another body came back"
        return waiting[0]


class Keys(Dialect):
    """Those that name no client: it is the asker."""

    def key(self, question):
        return f"{question.text}@{question.host}"

    def fault(self, question, answer):
        answer.url, answer.client = self.key(question), f"127.0.0.{10 + question.asker}"
        wanted = question.verdict(question.asker)
        return None if answer.verdict == wanted else f"not {wanted}"


class Socketmap(Keys):
    BROKEN = [b"30:mail x@ok.test,", b"4:mail x@ok.test,", b"99999999:x", b"015:mail x@ok.test,", b"x", b"0:,", b"4:mail,", b"-1:,", b"3:\0\0\0,"]

    def write(self, question):
        text = f"mail {self.key(question)}".encode()
        return b"%d:%s," % (len(text), text)

    def parse(self):
        size, end, rest = self.buffer.partition(b":")
        if not end or len(rest) <= int(size):
            return None
        text, self.buffer = rest[:int(size)].decode(), rest[int(size) + 1:]
        if rest[int(size):int(size) + 1] != b",":
            raise AssertionError(f"no netstring: {size}:{rest[:200]}")
        found = re.fullmatch(r"OK REJECT listed in \w+, decision (\w{16})", text)
        return Answer("block", found[1]) if found else Answer("pass" if text == "NOTFOUND " else text)


class TcpTable(Keys):
    BROKEN = [b"put a b\n", b"get\n", b"get a%2\n", b"\n", b"get " + b"x" * 9000, b"\0\xff\n", b"get a b\n"]

    def write(self, question):
        return f"get {self.key(question)}\n".encode()

    def parse(self):
        line, end, rest = self.buffer.partition(b"\n")
        if not end:
            return None
        self.buffer = rest
        found = re.fullmatch(r"200 REJECT%20listed%20in%20\w+,%20decision%20(\w{16})", line.decode())
        return Answer("block", found[1]) if found else Answer("pass" if line == b"500 not%20listed" else line.decode())


class Resp(Dialect):
    """Some keys, one of them the question's own; or an echo of it."""

    BROKEN = [b"PING\r\n", b"*3\r\n$9\r\nBF.EXISTS\r\n$4\r\nkeys\r\n$30\r\nx\r\n", b"*3\r\n$9\r\nBF.EXISTS\r\n$4\r\nkeys\r\n$1\r\nlonger\r\n",
              b"*-1\r\n", b"*99999999\r\n", b"*1\r\n$99999999\r\n", b"*1\r\n:1\r\n", b"*1\r\n$4\r\nNOPE\r\n", b"\0\xff"]

    def write(self, question):
        if self.random.random() < 0.3:
            self.forms.append(None)
            return self.command("ECHO", question.text)
        keys = [f"listed key {self.random.randrange(1000)}" for _ in range(self.random.randrange(6))]
        keys.insert(self.random.randrange(len(keys) + 1), question.text)
        self.forms.append([key != question.text for key in keys])
        return self.command("BF.MEXISTS", "keys", *keys)

    @staticmethod
    def command(*words):
        return f"*{len(words)}\r\n".encode() + b"".join(b"$%d\r\n%s\r\n" % (len(word), word.encode()) for word in words)

    def parse(self):
        head, end, rest = self.buffer.partition(b"\r\n")
        if not end:
            return None
        if head.startswith(b"$"):
            if len(rest) < int(head[1:]) + 2:
                return None
            self.buffer = rest[int(head[1:]) + 2:]
            return Answer("echo", body=rest[:int(head[1:])])
        if not head.startswith(b"*"):
            self.buffer = rest
            return Answer(head.decode())
        members = rest.split(b"\r\n", int(head[1:]))
        if len(members) <= int(head[1:]):
            return None
        self.buffer = members.pop()
        return Answer("members", body=members)

    def asked(self, waiting, answer):
        answer.tag = self.forms.popleft()
        return waiting[0]

    def fault(self, question, answer):
        answer.url, answer.times = question.text, 0 if answer.tag is None else 1
        if answer.tag is None:
            return None if answer.body == question.text.encode() else "not its echo"
        return None if answer.body == [b":1" if is_listed else b":0" for is_listed in answer.tag] else f"not {answer.tag}"


DIALECTS = {"http": Http, "squid": Squid, "unix": Squid, "helper": Helper, "icap": Icap, "socketmap": Socketmap, "tcp_table": TcpTable, "resp": Resp}
