"""A tab of a real browser that is driven by its own protocol: a size, a medium, keys, and no scripts if so wished."""

import base64
import json
import os
import subprocess
from pathlib import Path
from typing import Any, Self

from tests.unit.report.browser import BROWSER, FLAGS

KEYS = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32}


class Tab:
    """A tab; `with Tab(folder) as tab`, with its profile in a subfolder of the folder.

    The browser reads commands from its file 3 and writes answers and events to its file 4, each ended by a zero byte.
    """

    def __init__(self, folder: Path) -> None:
        theirs_in, self._to = os.pipe()
        self._from, theirs_out = os.pipe()

        command = [
            "bash", "-c", f'exec "$0" "$@" 3<&{theirs_in} 4>&{theirs_out}', str(BROWSER), *FLAGS,
            "--hide-scrollbars", "--remote-debugging-pipe", f"--user-data-dir={folder / 'tab'}", "about:blank",
        ]  # fmt: skip
        self._browser = subprocess.Popen(command, pass_fds=(theirs_in, theirs_out), stderr=subprocess.DEVNULL)
        os.close(theirs_in)
        os.close(theirs_out)
        self._read, self._last, self._session = b"", 0, ""
        self.said: list[str] = []
        (target,) = [t for t in self.send("Target.getTargets")["targetInfos"] if t["type"] == "page"]
        attached = self.send("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.send(f"{domain}.enable")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._browser.kill()
        self._browser.wait()
        os.close(self._to)
        os.close(self._from)

    def send(self, method: str, **given: Any) -> dict[str, Any]:
        """Return the browser's answer to a command."""
        self._last += 1
        message = {"id": self._last, "method": method, "params": given}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._last:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                found: dict[str, Any] = answer["result"]
                return found

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._read:
            self._read += os.read(self._from, 1 << 16)
        message, _, self._read = self._read.partition(b"\0")
        found: dict[str, Any] = json.loads(message)
        if found.get("method") in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"):
            self.said.append(json.dumps(found["params"])[:300])
        return found

    def show(self, width: int, height: int, *, dark: bool = False, medium: str = "", scripts: bool = True) -> None:
        """Set the size, in pixels, and the rest for the pages that are opened next."""
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", media=medium, features=[scheme])
        self.send("Emulation.setScriptExecutionDisabled", value=not scripts)

    def open(self, address: str) -> None:
        """Open a page and wait until it is there."""
        self.send("Page.navigate", url="about:blank")
        self.wait("location.href === 'about:blank'")
        self.send("Page.navigate", url=address)
        self.wait(
            f"location.href.startsWith({json.dumps(address.partition('#')[0])}) && document.readyState === 'complete'"
        )

    def tell(self, expression: str) -> Any:
        """Return the value of an expression on the page."""
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def wait(self, expression: str) -> Any:
        """Return the value of an expression as soon as it holds."""
        for _ in range(2_000):
            try:
                found = self.tell(expression)
            except RuntimeError as error:
                if "navigated" not in str(error):  # the page gave way to the next one while it was asked
                    raise
                continue
            if found:
                return found
        raise TimeoutError(expression)

    def press(self, key: str) -> None:
        """Press and release a key."""
        known = {"key": key, "code": key, "windowsVirtualKeyCode": KEYS[key]}
        text = {"text": "\r"} if key == "Enter" else {"text": " "} if key == " " else {}
        self.send("Input.dispatchKeyEvent", type="keyDown", **known, **text)
        self.send("Input.dispatchKeyEvent", type="keyUp", **known)

    def type(self, text: str) -> None:
        """Type into what has the focus."""
        self.send("Input.insertText", text=text)

    def picture(self, path: Path) -> None:
        """Write what is seen as a PNG."""
        path.write_bytes(base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"]))
