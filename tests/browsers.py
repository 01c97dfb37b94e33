"""Chromium and Firefox without a window, driven over their own protocols; standard library alone.

Each is started for one proxy, with a home folder of its own. go(URL) says what became of it: the status of the document, or the
browser's error where it shows a page of its own. Not thread-safe.
SPDX-License-Identifier: Apache-2.0
"""
import base64
import contextlib
import fcntl
import json
import os
import pathlib
import queue
import shutil
import socket
import subprocess
import threading
import time

WAIT = 60  # seconds, for anything: a browser starts slowly on a machine with much else to do


class BrowserError(Exception):
    pass


class Visit:
    """What a navigation came to: a status and the document, or an error."""

    def __init__(self, status, text, error=None):
        self.status, self.text, self.error = status, text, error

    def __repr__(self):
        return f"{self.status} {self.error or ''} {self.text[:200]!r}"


def trust_in_nss(database, certificate):
    """Makes an NSS database that trusts the authority for servers; None: one that trusts nobody more than usual."""
    database.mkdir(parents=True, exist_ok=True)
    for more in (["-N", "--empty-password"], *([["-A", "-t", "C,,", "-n", "bloomwall", "-i", str(certificate)]] if certificate else [])):
        subprocess.run(["certutil", "-d", f"sql:{database}", *more], check=True, capture_output=True)


def start(home, command, **more):
    with (home / "errors").open("w") as errors:
        return subprocess.Popen(command, env={**os.environ, "HOME": str(home), "MOZ_CRASHREPORTER_DISABLE": "1"},
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors, **more)


class Chromium:
    """Over the DevTools protocol on two pipes: JSON, each message ended by a zero octet."""

    def __init__(self, folder, proxy_port, authority=None, flags=(), login=None):
        """`login`: name and password for a proxy that asks."""
        folder.mkdir(parents=True)
        if shutil.which("certutil") or authority:
            trust_in_nss(folder / ".pki" / "nssdb", authority)
        # Descriptors 3 and 4 of the browser; ours are moved out of their way.
        theirs_in, ours_out = (fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in os.pipe())
        ours_in, theirs_out = (fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in os.pipe())
        command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
                   "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
                   "--hide-scrollbars", "--window-size=1000,760", "--remote-debugging-pipe", f"--user-data-dir={folder}/profile",
                   f"--proxy-server=127.0.0.1:{proxy_port}", *flags, "about:blank"]
        self.process = start(folder, ["bash", "-c", f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}', "chromium", *command],
                             pass_fds=(theirs_in, theirs_out))
        os.close(theirs_in)
        os.close(theirs_out)
        self.out, self.sent, self.session = os.fdopen(ours_out, "wb", 0), 0, None
        self.messages = queue.Queue()
        threading.Thread(target=self.read, args=(os.fdopen(ours_in, "rb", 0),), daemon=True).start()
        pages = [target for target in self.call("Target.getTargets")["targetInfos"] if target["type"] == "page"]
        target = pages[0]["targetId"] if pages else self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.login = login
        self.call("Network.enable")
        self.call("Page.enable")
        if login:
            self.call("Fetch.enable", handleAuthRequests=True)

    def read(self, stream):
        rest = b""
        with stream:
            while piece := stream.read(65536):
                *whole, rest = (rest + piece).split(b"\0")
                for message in whole:
                    self.messages.put(json.loads(message))
        self.messages.put(None)

    def next(self, end):
        try:
            message = self.messages.get(timeout=max(0.01, end - time.monotonic()))
        except queue.Empty:
            raise BrowserError("Chromium does not answer") from None
        if message is None:
            raise BrowserError("Chromium has ended")
        if message.get("method", "").startswith("Fetch."):
            self.let_go(message["method"], message["params"]["requestId"])
        return message

    def let_go(self, method, request):
        """A request that waits for us, or for the login."""
        if method == "Fetch.authRequired":
            answer = {"response": "ProvideCredentials", "username": self.login[0], "password": self.login[1]}
            self.send("Fetch.continueWithAuth", requestId=request, authChallengeResponse=answer)
        else:
            self.send("Fetch.continueRequest", requestId=request)

    def send(self, method, **params):
        self.sent += 1
        message = {"id": self.sent, "method": method, "params": params, **({"sessionId": self.session} if self.session else {})}
        self.out.write(json.dumps(message).encode() + b"\0")
        return self.sent

    def call(self, method, events=None, **params):
        """The result of a command; events that come meanwhile are given to `events`."""
        number = self.send(method, **params)
        end = time.monotonic() + WAIT
        while (answer := self.next(end)).get("id") != number:
            if events is not None:
                events.append(answer)
        if "error" in answer:
            raise BrowserError(f"{method}: {answer['error']}")
        return answer["result"]

    def evaluate(self, expression):
        try:
            return self.call("Runtime.evaluate", expression=expression)["result"].get("value")
        except BrowserError as error:  # the page went on to another, as a click in it may ask for
            if "Inspected target navigated" in str(error):
                return None
            raise

    def go(self, url, events=None):
        """`events`: what came meanwhile is added to it."""
        events = [] if events is None else events
        done = self.call("Page.navigate", events, url=url)
        end = time.monotonic() + WAIT
        while not any(event.get("method") == "Page.loadEventFired" for event in events):
            events.append(self.next(end))
        statuses = [event["params"]["response"]["status"] for event in events if event.get("method") == "Network.responseReceived"
                    and event["params"]["loaderId"] == done.get("loaderId") and event["params"]["type"] == "Document"]
        error = done.get("errorText")
        return Visit(None if error or not statuses else statuses[-1], self.evaluate("document.body.innerText") or "", error)

    def show(self, file, dark, width=1000, height=760):
        """Writes what is shown as a PNG."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        file.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def close(self):
        with contextlib.suppress(BrowserError, OSError):
            self.session = None
            self.call("Browser.close")
        end_process(self.process)
        self.out.close()


class Firefox:
    """Over Marionette: JSON behind its length. The authority comes from policies.json, as the proxy's /ca page says."""

    def __init__(self, folder, proxy_port, authority=None, login=None):
        """`login`: name and password for a proxy that asks, kept in the browser as its users do. What Firefox fetches for itself must not
        meet that proxy before: whoever comes later waits for the login that was asked for first."""
        folder.mkdir(parents=True)
        profile = folder / "profile"
        profile.mkdir()
        first_port = 1 if login else proxy_port  # nobody is there
        prefs = {"marionette.port": 0, "network.proxy.type": 1, "network.proxy.http": "127.0.0.1", "network.proxy.http_port": first_port,
                 "network.proxy.ssl": "127.0.0.1", "network.proxy.ssl_port": first_port, "browser.shell.checkDefaultBrowser": False,
                 "network.proxy.failover_direct": False,
                 "signon.autologin.proxy": True, "app.update.enabled": False, "datareporting.policy.dataSubmissionEnabled": False,
                 "network.captive-portal-service.enabled": False, "network.connectivity-service.enabled": False}
        (profile / "user.js").write_text("".join(f"user_pref({json.dumps(k)}, {json.dumps(v)});\n" for k, v in prefs.items()))
        program = self.with_policies(folder / "firefox", authority)
        self.process = start(folder, [program, "--headless", "--marionette", "--remote-allow-system-access", "--no-remote", "--profile", profile])
        self.socket, self.rest, self.sent = self.connect(profile / "MarionetteActivePort"), b"", 0
        self.receive()  # what it is
        self.call("WebDriver:NewSession", capabilities={"alwaysMatch": {"acceptInsecureCerts": False}})
        if login:
            self.keep_login(proxy_port, *login)

    def keep_login(self, port, name, password, realm="bloomwall"):
        self.call("Marionette:SetContext", value="chrome")
        script = """const [port, realm, name, password, done] = arguments;
            const made = Cc["@mozilla.org/login-manager/loginInfo;1"].createInstance(Ci.nsILoginInfo);
            made.init(`moz-proxy://127.0.0.1:${port}`, null, realm, name, password, "", "");
            Services.logins.addLoginAsync(made).then(() => {
              for (const kind of ["http", "ssl"]) Services.prefs.setIntPref(`network.proxy.${kind}_port`, port);
              done();
            });"""
        self.call("WebDriver:ExecuteAsyncScript", script=script, args=[port, realm, name, password])
        self.call("Marionette:SetContext", value="content")

    @staticmethod
    def with_policies(folder, authority):
        """Firefox reads policies.json beside its program: links to the real files, a copy of the program."""
        real = pathlib.Path(shutil.which("firefox-esr") or shutil.which("firefox")).resolve().parent
        (folder / "distribution").mkdir(parents=True)
        for entry in real.iterdir():
            if entry.name != "distribution":
                (folder / entry.name).symlink_to(entry)
        program = folder / ("firefox-esr" if (real / "firefox-esr").exists() else "firefox")
        program.unlink()
        shutil.copy(real / program.name, program)
        certificates = {"Certificates": {"ImportEnterpriseRoots": True, "Install": [str(authority)]}} if authority else {}
        (folder / "distribution/policies.json").write_text(json.dumps({"policies": {"DisableTelemetry": True, **certificates}}))
        return program

    def connect(self, port_file):
        end = time.monotonic() + WAIT
        while not port_file.exists() or not port_file.read_text().strip():
            if self.process.poll() is not None or time.monotonic() > end:
                raise BrowserError("Firefox did not start")
            time.sleep(0.05)  # it tells by this file alone
        return socket.create_connection(("127.0.0.1", int(port_file.read_text())), timeout=WAIT)

    def receive(self):
        while b":" not in self.rest:
            self.more()
        length, self.rest = self.rest.split(b":", 1)
        while len(self.rest) < int(length):
            self.more()
        message, self.rest = json.loads(self.rest[:int(length)]), self.rest[int(length):]
        return message

    def more(self):
        piece = self.socket.recv(65536)
        if not piece:
            raise BrowserError("Firefox has ended")
        self.rest += piece

    def call(self, command, **params):
        self.sent += 1
        message = json.dumps([0, self.sent, command, params]).encode()
        self.socket.sendall(b"%d:%s" % (len(message), message))
        _, number, error, result = self.receive()
        assert number == self.sent
        if error:
            raise BrowserError(f"{error['error']}: {error['message']}")
        return result

    def evaluate(self, expression):
        return self.call("WebDriver:ExecuteScript", script=f"return {expression}", args=[])["value"]

    def go(self, url):
        error = None
        try:
            self.call("WebDriver:Navigate", url=url)
        except BrowserError as failed:
            error = str(failed)
        status = None if error else self.evaluate("performance.getEntriesByType('navigation')[0].responseStatus")
        return Visit(status, self.evaluate("document.body.innerText") or "", error)

    def close(self):
        with contextlib.suppress(BrowserError, OSError):
            self.call("Marionette:Quit", flags=["eForceQuit"])
        self.socket.close()
        end_process(self.process)


def end_process(process):
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
