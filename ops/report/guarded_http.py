"""Protects a server of pages from requests for other host names and from idle connections."""

import asyncio
import re
from ipaddress import ip_address

from uvicorn.protocols.http.h11_impl import H11Protocol

_HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([^\[\]:]+))(?::[0-9]+)?")


def host_name(header: str) -> str:
    """Return the name in a Host header, without its port; an empty text if the header has another form.

    >>> host_name("Localhost:8000"), host_name("[::1]:8000"), host_name("[::1]")
    ('localhost', '::1', '::1')
    >>> host_name("localhost:evil.com"), host_name("[::1].evil.com")
    ('', '')
    """
    found = _HOST.fullmatch(header.lower())
    return (found[1] or found[2]) if found else ""


class PatientProtocol(H11Protocol):
    """An HTTP protocol that closes connections which send no complete request in time, or stop reading an answer.

    The time limit for a request starts with the connection and again after each answer. Otherwise such connections
    would stay open and use up the limit of simultaneous connections, so that nobody else would be served.

    Attributes:
        head_seconds: seconds in which a connection has to send the head of its first or next request.
        read_seconds: seconds in which a connection has to read some of an answer that waits to be sent.
    """

    head_seconds = 5.0
    read_seconds = 20.0

    _unsent = 0
    _closing: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the time limit for the first request."""
        super().connection_made(transport)
        self._watch(self.head_seconds)

    def on_response_complete(self) -> None:
        """Start the time limit for the next request."""
        super().on_response_complete()
        self._watch(self.head_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the time limit."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _watch(self, seconds: float) -> None:
        self._stop_waiting()
        self._closing = self.loop.call_later(seconds, self._look)

    def _stop_waiting(self) -> None:
        if self._closing is not None:
            self._closing.cancel()

    def _look(self) -> None:
        """Close the connection if it sends no request, abort it if it reads nothing, otherwise check again later."""
        unsent, before = self.transport.get_write_buffer_size(), self._unsent
        self._unsent = unsent
        if unsent and unsent == before:
            self.transport.abort()
        elif unsent:
            self._watch(self.read_seconds)
        elif self.cycle is None or self.cycle.response_complete:
            self.transport.close()
        else:
            self._watch(self.head_seconds)


def is_loopback(host: str) -> bool:
    """Return whether an address is a loopback address of this machine.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0"), is_loopback("::1")
    (True, True, False, True)
    """
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"
