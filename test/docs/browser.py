# Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
# SPDX-License-Identifier: BSL-1.0
"""A headless chromium that a test drives by the DevTools protocol, through a pipe: no other package, no port."""

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

keys = {
    "ArrowDown": ("ArrowDown", 40, ""), "ArrowUp": ("ArrowUp", 38, ""), "Enter": ("Enter", 13, "\r"),
    "Escape": ("Escape", 27, ""), "Tab": ("Tab", 9, ""), "/": ("Slash", 191, "/"),
}  # fmt: skip


class Browser:
    """One window. `errors` has what went wrong in pages so far, `requests` every address that was loaded."""

    def __init__(self, width=1400, height=1000):
        self.errors, self.requests = [], []
        self._next, self._unread = 1, b""
        self._profile = tempfile.mkdtemp()
        orders, self._to = os.pipe()
        self._from, answers = os.pipe()
        to_read, to_write = (fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (orders, answers))
        os.close(orders)
        os.close(answers)
        command = ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                   "--no-first-run", f"--user-data-dir={self._profile}", "--remote-debugging-pipe",
                   f"--window-size={width},{height}", "about:blank"]  # fmt: skip
        # chromium reads its orders from descriptor 3 and answers to 4.
        self._process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{to_read} 4>&{to_write} {to_read}<&- {to_write}>&-', "bash", *command],
            pass_fds=(to_read, to_write), start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
        os.close(to_read)
        os.close(to_write)
        self._session = None
        pages = [t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page"]
        self._session = self.call("Target.attachToTarget", targetId=pages[0]["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._process.wait()
        shutil.rmtree(self._profile, ignore_errors=True)

    def call(self, method, **parameters):
        number, self._next = self._next, self._next + 1
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read(60)
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def _read(self, seconds):
        end = time.monotonic() + seconds
        while b"\0" not in self._unread:
            ready, _, _ = select.select([self._from], [], [], max(0, end - time.monotonic()))
            more = os.read(self._from, 1 << 20) if ready else b""
            if not more:
                raise RuntimeError("chromium does not answer" if not ready else "chromium has ended")
            self._unread += more
        message, _, self._unread = self._unread.partition(b"\0")
        message = json.loads(message)
        method, about = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = about["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Log.entryAdded" and about["entry"]["level"] == "error":
            self.errors.append(f"{about['entry']['text']} {about['entry'].get('url', '')}")
        elif method == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"])
        return message

    def open(self, address):
        # (The event that a page was loaded does not say which one: it may be the page of before.)
        self.run("window.isOfBefore = true")
        self.call("Page.navigate", url=address)
        if not self.wait("!window.isOfBefore && document.readyState === 'complete'"):
            raise RuntimeError(f"{address} is not loaded")

    def run(self, script):
        """The value of an expression of JavaScript, or of its promise."""
        how = {"awaitPromise": True, "returnByValue": True, "userGesture": True}
        answer = self.call("Runtime.evaluate", expression=script, **how)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{script}: {answer['exceptionDetails'].get('exception', {}).get('description')}")
        return answer["result"].get("value")

    def wait(self, script, seconds=30):
        """Waits until an expression is true, also in a page that is loaded meanwhile. Its value; None after so long."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                if value := self.run(script):
                    return value
            except RuntimeError as e:
                if "ended" in str(e) or "answer" in str(e):
                    raise
            time.sleep(0.02)
        return None

    def press(self, key):
        code, number, text = keys[key]
        about = {"key": key, "code": code, "windowsVirtualKeyCode": number}
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **about)
        self.call("Input.dispatchKeyEvent", type="keyUp", **about)

    def write(self, text):
        self.call("Input.insertText", text=text)

    def click(self, selector):
        """Clicks with the mouse in the middle of an element."""
        x, y = self.run(
            f"(e => {{ e.scrollIntoView({{block: 'center', behavior: 'instant'}}); const b = e.getBoundingClientRect();"
            f" return [b.x + b.width / 2, b.y + b.height / 2]; }})(document.querySelector({json.dumps(selector)}))"
        )
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        for what in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=what, x=x, y=y, button="left", clickCount=1)

    def resize(self, width, height):
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.call("Emulation.setDeviceMetricsOverride", **size)

    def scheme(self, name):
        """`light` or `dark`."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def picture(self, file):
        with open(file, "wb") as f:
            f.write(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))
