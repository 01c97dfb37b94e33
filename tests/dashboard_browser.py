"""Chromium as the tests of the dashboard use it: with a mouse, a keyboard, and what the console and the network said.

SPDX-License-Identifier: Apache-2.0
"""
import base64
import json
import time
import urllib.parse

from browsers import WAIT, BrowserError, Chromium

KEYS = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "ArrowDown": 40}
# Puts into words what can be pressed: its accessible name, or its text.
FIND = """(name) => [...document.querySelectorAll("dialog[open] button, dialog[open] a, button, a, summary, input, select")]
  .filter((each) => (each.getAttribute("aria-label") || each.innerText || "").trim() === name && each.getClientRects().length > 0)
  .sort((a, b) => !!b.closest("dialog") - !!a.closest("dialog"))[0]"""


class Dashboard(Chromium):
    def __init__(self, folder, flags=()):
        self.events = []
        super().__init__(folder, 9, flags=flags)  # the proxy's port is nobody's: nothing but loopback is reached
        self.call("Runtime.enable")
        self.call("Log.enable")
        self.clicks = self.keys = 0

    def call(self, method, events=None, **params):
        return super().call(method, self.events if events is None else events, **params)

    def evaluate(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise BrowserError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def go(self, url):
        """To another place in the page that is shown, or to a page."""
        here = self.evaluate("location.href")
        if "#" in url and here != url and here.split("#")[0] == url.split("#")[0]:
            return self.evaluate(f"location.href = {json.dumps(url)}")
        events = []
        visit = super().go(url, events)
        self.events += events
        return visit

    def until(self, expression, wait=WAIT):
        """The value of an expression once that is not false, null or empty; true for a node."""
        end = time.monotonic() + wait
        while not (value := self.evaluate(f"((value) => value instanceof Node || value)({expression})")):
            if time.monotonic() > end:
                raise AssertionError(f"did not happen in time: {expression}\n{self.text()}\n{self.complaints()}")
            time.sleep(0.05)
        return value

    def fits(self, width):
        """Nothing scrolls sideways, once charts are drawn for the width that they have now."""
        self.until(f"document.documentElement.scrollWidth === {width}")

    def text(self):
        return self.evaluate("document.body ? document.body.innerText : ''") or ""

    def shows(self, text, wait=WAIT):
        self.until(f"document.body && document.body.innerText.includes({json.dumps(text)})", wait)

    def complaints(self):
        """Errors and warnings of the console: of scripts, of the policy, of requests that failed."""
        self.evaluate("1")  # what was said before has come
        said = []
        for event in self.events:
            params = event.get("params", {})
            if event.get("method") == "Runtime.exceptionThrown":
                said.append(params["exceptionDetails"].get("exception", {}).get("description", params["exceptionDetails"]["text"]))
            elif event.get("method") == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
                said.append(json.dumps([each.get("value", each.get("description")) for each in params["args"]]))
            elif event.get("method") == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
                said.append(f"{params['entry']['text']} {params['entry'].get('url', '')}")
        return said

    def asked(self):
        """The origins of all requests of this page, but not of the one before it, which may still ask as it goes; not data:, which is
        the browser's own pictures of controls."""
        sent = [event["params"] for event in self.events if event.get("method") == "Network.requestWillBeSent"]
        pages = [params["loaderId"] for params in sent if params.get("type") == "Document"]
        urls = [params["request"]["url"] for params in sent if not pages or params["loaderId"] == pages[-1]]
        return {f"{url.scheme}://{url.netloc}" for url in map(urllib.parse.urlsplit, urls) if url.scheme != "data"}

    def close(self):
        """Also a second time."""
        if not self.out.closed:
            super().close()

    def look(self, width, height=900, dark=False, calm=False):
        features = {"prefers-color-scheme": "dark" if dark else "light", "prefers-reduced-motion": "reduce" if calm else "no-preference"}
        self.call("Emulation.setEmulatedMedia", features=[{"name": name, "value": value} for name, value in features.items()])
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def picture(self, file, most=4000):
        """The page as a PNG, also what must be scrolled to; at most so many pixels of its height."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], most), "scale": 1}
        file.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)["data"]))

    def click(self, name):
        """One click of the mouse on what has that name."""
        at = self.until(f"""(() => {{ const it = ({FIND})({json.dumps(name)}); if (!it) return null; it.scrollIntoView({{ block: "center" }});
          const box = it.getBoundingClientRect(); return {{ x: box.x + box.width / 2, y: box.y + box.height / 2 }}; }})()""")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **at)
        self.clicks += 1

    def press(self, key, shift=False):
        text = {"text": "\r"} if key == "Enter" else {"text": " "} if key == " " else {}
        for kind in ("keyDown" if text else "rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key if key != " " else "Space", windowsVirtualKeyCode=KEYS[key],
                      modifiers=8 if shift else 0, **(text if kind == "keyDown" else {}))
        self.keys += 1

    def tab_to(self, name, most=200):
        """Presses Tab until what has that name has the focus."""
        for _ in range(most):
            if self.focused() == name:
                return
            self.press("Tab")
        raise AssertionError(f"{name!r} cannot be reached by {most} tabs; {self.focused()!r} has the focus")

    def focused(self):
        return self.evaluate("""(() => { const it = document.activeElement; if (!it) return "";
          const label = it.id && document.querySelector(`label[for="${CSS.escape(it.id)}"]`);
          return (it.getAttribute("aria-label") || (label ? label.innerText : it.innerText) || "").trim(); })()""")

    def type(self, text):
        self.call("Input.insertText", text=text)
