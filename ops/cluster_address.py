"""Checks whether a Ray cluster listens at the given address."""

import socket
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from urllib.parse import urlsplit

from ops.errors import InputError, one_line

REACHED_S = 10.0
ALONE = "unset RAY_ADDRESS to work on this machine alone"


def check_address(address: str, seconds: float = REACHED_S) -> None:
    """Refuse an address at which no cluster listens, because Ray would try it for minutes without reacting to signals.

    Args:
        seconds: seconds after which the cluster's head counts as unreachable.
    """
    if address == "auto":
        return
    try:
        # A host and its port, or those of a Ray client's server; an http:// address is that of the dashboard, which
        # only accepts submitted jobs.
        parsed = urlsplit(address if "://" in address else f"//{address}")
        host, port = parsed.hostname, parsed.port
    except ValueError:
        host = port = None
    if not host or not port or parsed.scheme not in ("", "ray"):
        raise InputError(
            f"RAY_ADDRESS {address}: is not where a job joins a cluster; give its head as host:port, such as "
            f"10.0.0.1:6379, or auto; {ALONE}"
        )
    answers: SimpleQueue[str] = SimpleQueue()

    def knock() -> None:
        said = ""
        for name in (host, *_own_addresses(host)):
            try:
                socket.create_connection((name, port), seconds).close()
                answers.put("")
                return
            except (OSError, ValueError) as error:
                said = said or one_line(getattr(error, "strerror", None) or error)
        answers.put(said)

    # This runs in another thread, because no timeout can end the look-up of a host name.
    Thread(target=knock, daemon=True).start()
    try:
        refusal = answers.get(timeout=seconds)
    except Empty:
        refusal = f"no answer in {seconds:g} seconds"
    if refusal:
        raise InputError(f"RAY_ADDRESS {address}: no cluster can be reached there ({refusal}); start it, or {ALONE}")


def _own_addresses(host: str) -> list[str]:
    """Return the machine's own addresses, where Ray may listen although its head is named by a loopback address."""
    if host not in ("127.0.0.1", "localhost", "::1"):
        return []
    found = []
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))  # sends nothing, but makes the system choose its own address
        found.append(probe.getsockname()[0])
    with suppress(OSError):
        found.append(socket.gethostbyname(socket.gethostname()))
    return found
