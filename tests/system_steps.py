"""What scripts of steps have in common that run inside a system of clean_system.py, as root, with nothing else there: @step names their
steps in order, run_steps() does them and writes one JSON object a step: {"step", "ok", "seconds", "detail"}; the last is "the end".
SPDX-License-Identifier: Apache-2.0
"""
import http.client
import http.server
import json
import pathlib
import socket
import subprocess
import sys
import threading
import time
import traceback

PROXY = ("127.0.0.1", 3128)
PACKAGES = pathlib.Path("/packages")  # old and new ones, where packages are tested
NAMES = sorted({file.name.split("_")[0] for file in PACKAGES.glob("old/*.deb")})
BOUND = 200  # seconds for anything to come true; a busy machine may need most of it
STEPS = []
more = threading.Event()


def step(function):
    STEPS.append(function)
    return function


def run(*command, umask=0o022):
    """Exit status and all that was printed. Nobody answers questions."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=150,
                          check=False, umask=umask)
    return done.returncode, done.stdout


def install(which):
    """All packages, the old or the new ones."""
    return must("dpkg", "-i", *(str(file) for file in sorted((PACKAGES / which).glob("*.deb"))))


def journal(since=None):
    return run("journalctl", "--no-pager", "-o", "cat", "-u", "bloomwall.service", *([f"--since=@{since}"] if since else []))[1][-6000:]


def state():
    names = "ActiveState,SubState,Result,NRestarts,MainPID,ExecMainStatus,StatusText"
    return dict(line.split("=", 1) for line in run("systemctl", "show", "bloomwall", "-p", names)[1].splitlines())


def must(*command, **more):
    status, output = run(*command, **more)
    assert status == 0, f"{' '.join(command)}: status {status}\n{output}\n{journal()}"
    return output


def wait_for(what, condition):
    end = time.monotonic() + BOUND
    while time.monotonic() < end:
        if got := condition():
            return got
        time.sleep(0.02)
    raise AssertionError(f"not within {BOUND} s: {what}\n{state()}\n{journal()}")


def get(host):
    """Status line of http://host/ through the proxy; empty where nobody answers."""
    try:
        with socket.create_connection(PROXY, timeout=BOUND) as client:
            client.sendall(f"GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
            answer = b""
            while b"\r\n" not in answer and (more := client.recv(4096)):
                answer += more
            return answer.split(b"\r\n")[0].decode()
    except OSError:
        return ""


def tell(results, name, began, detail):
    with results.open("a") as file:
        file.write(json.dumps({"step": name, "ok": detail is None, "seconds": time.monotonic() - began, "detail": detail or ""}) + "\n")


class Origin(http.server.BaseHTTPRequestHandler):
    """Empty answers; that of /gated has two halves, of which the second comes when `more` is set."""

    def do_GET(self):
        is_gated = self.path == "/gated"
        self.send_response(200)
        self.send_header("Content-Length", "9" if is_gated else "0")
        self.end_headers()
        if is_gated:
            self.wfile.write(b"half")
            self.wfile.flush()
            more.wait(BOUND)
            self.wfile.write(b"whole")

    def log_message(self, format, *args):
        pass


def serve_origin():
    """On port 8080, until this process ends."""
    threading.Thread(target=http.server.ThreadingHTTPServer(("127.0.0.1", 8080), Origin).serve_forever, daemon=True).start()


def slow_download(host):
    """One that has come half, through the proxy; its rest comes when `more` is set."""
    client = http.client.HTTPConnection(*PROXY, timeout=BOUND)
    client.request("GET", f"http://{host}:8080/gated")
    answer = client.getresponse()
    assert answer.status == 200 and answer.read(4) == b"half", answer.status
    return answer


def run_steps():
    """To the file that the command line names."""
    results = pathlib.Path(sys.argv[1])
    for function in STEPS:
        began = time.monotonic()
        try:
            function()
            detail = None
        except Exception:  # the other steps can still be judged
            detail = traceback.format_exc()
        tell(results, function.__name__.replace("_", " "), began, detail)
    tell(results, "the end", time.monotonic(), None)
