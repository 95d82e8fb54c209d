"""The host names of requests, by which a server of pages refuses requests for other names."""

import re

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
