# SPDX-License-Identifier: Apache-2.0
"""bloomwall with more lines of configuration, and what the scripts that compare two of it have in common."""
from lib import *
from peers import *
from common import *

USERS = "alice:$2b$04$abcdefghijklmnopqrstuu/LVz6MZlItEy42I2juLihZ66HnQx/cy\n"  # open sesame


class Configured(Bloomwall):
    """`files`: of filters f0, f1, ...; `more`: lines of configuration, with DIR for its folder; `exceptions`: exceptions.json, read where there is
    no state.db; `hosts`: names of 127.0.0.1; `admin`: its address. State of an earlier run is removed. The API is on DIR/sock."""

    def __init__(self, name, port, files=(), more="", exceptions="", hosts=("localhost",), admin="null"):
        self.name, self.port, self.files, self.more, self.exceptions = name, BASE + port, files, more, exceptions
        self.hosts, self.admin = hosts, admin
        super().__init__()

    def command(self):
        command = super().command()
        d = self.dir
        names = ", ".join(f"{{name: f{i}, file: {f}}}" for i, f in enumerate(self.files))
        text = open(d + "/conf.yaml").read().replace("filters: []", f"filters: [{names}]")
        text = text.replace("localhost: 127.0.0.1", ", ".join(f"{host}: 127.0.0.1" for host in self.hosts))
        text = text.replace("address: null, control_socket: null", f"address: {self.admin}, control_socket: {d}/sock")
        shutil.rmtree(d + "/state", ignore_errors=True)
        os.makedirs(d + "/state")
        if self.exceptions:
            write(d + "/state/exceptions.json", self.exceptions)
        write(d + "/users", USERS, 0o600)
        write(d + "/conf.yaml", text + self.more.replace("DIR", d))
        return command

    def open_stream(self):
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(self.dir + "/sock")
        connection.sendall(b"GET /api/v1/stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
        return connection


class Watched(Configured):
    """With a live stream that is read from its start on."""

    def start(self, *args):
        took = super().start(*args)
        threading.Thread(target=self.read, args=(self.open_stream(),), daemon=True).start()
        return took

    @staticmethod
    def read(connection):
        while connection.recv(65536):
            pass


def started(*peers):
    """Of which each is stopped by stop_all()."""
    for p in peers:
        RUNNING.append(p)
        if p.start() is None:
            raise SystemExit("did not start, see %s/out" % p.dir)
    return peers


def stop_all():
    for p in RUNNING:
        if p.p:
            p.stop()
    RUNNING.clear()


def p99_ms(p, secs, rate=500):
    """At a fixed rate; latency counts from the moment when a request was due."""
    r = pxload("-m", "get", "-t", "localhost:%d" % (BASE + 80), "-P", p.addr, "-c", 32, "-d", secs, "-r", rate)
    if r["bad"] or r["err"]:
        raise SystemExit("bad answers: %s" % r)
    return r["p99_ms"]
