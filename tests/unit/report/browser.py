"""A real browser without a window: what a page shows there, says on the console, and asks for."""

import re
import shutil
import subprocess
from pathlib import Path
from urllib.parse import urlparse

import pytest

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run", "--disable-extensions", "--allow-file-access-from-files",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1", "--disable-features=NetworkTimeServiceQuerying",
]  # fmt: skip
PAGE = ["--enable-logging=stderr", "--virtual-time-budget=4000", "--window-size=1200,900", "--dump-dom"]
NEEDS = pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed (apt-get install chromium)")


def browse(page: str, folder: Path) -> tuple[str, list[str], list[str]]:
    """Return a page's content after its scripts have run, the console's messages, and the requests."""
    log = folder / "net.json"
    command = [str(BROWSER), *FLAGS, *PAGE, f"--user-data-dir={folder / 'profile'}", f"--log-net-log={log}"]
    done = subprocess.run([*command, page], capture_output=True, text=True, timeout=120, check=True)
    said = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    # One event a line; what the browser asks for itself (its time, its updates) has no page as its origin.
    events = [
        line for line in log.read_text(errors="replace").splitlines() if '"initiator":"not an origin"' not in line
    ]
    asked = {url for line in events for url in re.findall(r'"url":"([^"]+)"', line) if '"initiator"' in line}
    return done.stdout, said, sorted(url for url in asked if urlparse(url).scheme in ("http", "https", "ws", "wss"))
