"""Ports for a Ray that a test starts while others run."""

import random
import socket
from contextlib import ExitStack

FIRST, LAST = 20_000, 32_000  # between those of Ray's workers and those that the system gives to whoever asks for any


def free_ports(count: int) -> list[int]:
    """Return so many different ports that nobody listens on."""
    found: list[int] = []
    with ExitStack() as held:
        for port in random.SystemRandom().sample(range(FIRST, LAST), LAST - FIRST):
            if len(found) == count:
                break
            own = held.enter_context(socket.socket())
            try:
                own.bind(("127.0.0.1", port))
            except OSError:
                continue
            found.append(port)
    return found
