"""A real Chromium without a window, driven through its debugging pipe: what a page drew, said and asked for."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--disable-extensions", "--disable-dev-shm-usage"),
    # No name leads anywhere, whatever a page asks for.
    *("--host-resolver-rules=MAP * ~NOTFOUND", "--proxy-server=127.0.0.1:9", "--remote-debugging-pipe"),
)
_SECONDS = 60
# It reads commands from 3 and writes answers to 4, which may be taken.
_START = """
import fcntl, os, sys
for wanted, given in zip((3, 4), [fcntl.fcntl(int(text), fcntl.F_DUPFD, 10) for text in sys.argv[1:3]]):
    os.dup2(given, wanted)
os.execv(sys.argv[3], sys.argv[3:])
"""


def program() -> str | None:
    """The browser of this machine."""
    return shutil.which("chromium")


class Browser:
    """One page of it."""

    def __init__(self, commands: int, answers: int) -> None:
        self._commands, self._answers = commands, answers
        self._number, self._session, self._left = 0, "", b""
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._left:
            ready, _, _ = select.select([self._answers], [], [], _SECONDS)
            assert ready, "the browser does not answer"
            data = os.read(self._answers, 1 << 20)
            assert data, "the browser has ended"
            self._left += data
        text, _, self._left = self._left.partition(b"\0")
        return dict(json.loads(text))

    def call(self, method: str, **params: Any) -> Any:
        self._number += 1
        said = {"id": self._number, "method": method, "params": params}
        said |= {"sessionId": self._session} if self._session else {}
        os.write(self._commands, json.dumps(said).encode() + b"\0")
        while True:
            message = self._message()
            if message.get("id") == self._number:
                assert "error" not in message, message
                return message["result"]
            self.events.append(message)

    def evaluate(self, expression: str) -> Any:
        """The value of an expression of JavaScript; a promise is awaited. The page's policy does not hold for it."""
        done = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in done, done
        return done["result"].get("value")

    def open(
        self,
        path: Path,
        scheme: str = "light",
        width: int = 1280,
        ready: str = "document.documentElement?.dataset.ready",
    ) -> None:
        """Show a file, and wait until it says that it is ready: until an expression is something."""
        self.events.clear()
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.call("Page.navigate", url=path.resolve().as_uri())
        assert self.wait(ready) in ("yes", True)

    def wait(self, expression: str) -> Any:
        """Its value, as soon as that is something."""
        return self.evaluate(f"""new Promise((done) => {{
            const look = () => ({expression}) ? done({expression}) : setTimeout(look, 20);
            look();
        }})""")

    def problems(self) -> list[str]:
        """Errors and warnings of its console, exceptions, and what its policy has forbidden."""
        found = []
        for event in self.events:
            params = event.get("params", {})
            if event["method"] == "Runtime.exceptionThrown":
                found.append(str(params["exceptionDetails"]))
            elif event["method"] == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
                found.append(str([each.get("value") for each in params["args"]]))
            elif event["method"] == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
                found.append(params["entry"]["text"])
        return found

    def requests(self) -> list[str]:
        """What the page has asked for."""
        sent = (event["params"] for event in self.events if event["method"] == "Network.requestWillBeSent")
        return [each["request"]["url"] for each in sent]

    def picture(self, path: Path) -> None:
        """All of the page as a PNG."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        data = self.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)["data"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(data))

    def point_at(self, x: float, y: float) -> None:
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)


@contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """A browser with a new profile in a folder; it ends with the block."""
    (command_end, commands), (answers, answer_end) = os.pipe(), os.pipe()
    words = [sys.executable, "-I", "-S", "-c", _START, str(command_end), str(answer_end)]
    words += [str(program()), *_FLAGS, f"--user-data-dir={folder / 'profile'}"]
    with (folder / "browser.log").open("wb") as log:
        process = subprocess.Popen(words, pass_fds=(command_end, answer_end), stdout=log, stderr=log)
    os.close(command_end)
    os.close(answer_end)
    try:
        yield Browser(commands, answers)
    finally:
        # It ends when nobody can give it commands any more.
        os.close(commands)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        os.close(answers)
