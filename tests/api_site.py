"""What the tests of the API have in common: the program with a filter, a group and the admin address.

The tests that import it are called with BUILD_DIR as their first argument.
SPDX-License-Identifier: Apache-2.0
"""
import http.client
import json
import re
import signal
import subprocess

from interception_site import BUILD, WAIT, until

ROLES = ["viewer", "reviewer", "operator", "admin"]
BASE = "/api/v1"


class Proxy:
    """The program with one filter and one group, in a folder. `admin`: keys of its section; `more`: lines of configuration, which
    give what `listeners` and `authentication` leave out."""

    def __init__(self, folder, admin='address: "127.0.0.1:0"', more="", groups="{name: pupils, clients: [127.0.0.2], safe_search: [bing]}",
                 listeners='listeners: [{address: "127.0.0.1:0"}]\n',
                 authentication="authentication: {basic_helper: {command: [/bin/false, -w, secret]}}\n"):
        self.folder = folder
        (folder / "list.txt").write_text("listed.example.test\n")
        subprocess.run([BUILD / "bloomwall-filter", "build", "-q", "-o", folder / "list.bwf", folder / "list.txt"], check=True)
        (folder / "bloomwall.yaml").write_text(
            f"{listeners}state_dir: state\n"
            "filters: [{name: list, file: list.bwf}]\n"
            f"groups: [{groups}]\n"
            f"{authentication}"
            f'admin: {{{admin}, control_socket: control.sock}}\nlog: {{file: daemon.log, access: {{file: off}}}}\n{more}')
        self.process = subprocess.Popen([BUILD / "bloomwall", "run", "--config", folder / "bloomwall.yaml"])
        log = folder / "daemon.log"
        until(lambda: log.exists() and "listening on" in log.read_text())
        self.own_port = int(re.search(r"listening on 127\.0\.0\.1:(\d+)", log.read_text())[1])
        self.port = int(re.search(r"admin on [\d.]+:(\d+)", log.read_text())[1])

    def command(self, *words):
        return subprocess.run([BUILD / "bloomwall", *words, "--config", self.folder / "bloomwall.yaml"], check=True,
                              capture_output=True, text=True).stdout

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(WAIT)

    def ask(self, method, path, body=None, token=None, fields=None):
        """The status, the media type and the text of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT)
        fields = dict(fields or {})
        if token:
            fields["Authorization"] = "Bearer " + token
        connection.request(method, BASE + path, body=json.dumps(body) if isinstance(body, dict) else body, headers=fields)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        assert answer.reason, f"{method} {path}: {answer.status} without a word"
        return answer.status, answer.getheader("Content-Type"), text

    def open(self, path, token=None, cookie=None, **how):
        """A connection and the answer that begins on it; of those that go on."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT, **how)
        fields = {"Authorization": "Bearer " + token} if token else {"Cookie": cookie} if cookie else {}
        connection.request("GET", BASE + path, headers=fields)
        return connection, connection.getresponse()

    def sign_in(self, proof):
        """The cookie of a session."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT)
        connection.request("POST", BASE + "/session", body=json.dumps(proof))
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        assert answer.status == 201, text
        return answer.getheader("Set-Cookie").split(";")[0]
