"""The errors that name a user's mistake, and their form: one line."""

import errno
import os
import re


class InputError(ValueError):
    """The user's input is wrong: one line that names the thing, what was found and what to do (status 2)."""


class DiskFullError(OSError):
    """The storage has no room left: nothing is lost, and the same command continues once there is some (status 1)."""


STOPPED = "stopped; the same command goes on where it was"


class TerminatedError(KeyboardInterrupt):
    """The process was asked to end by SIGTERM: as by Ctrl-C, with that signal's exit status."""


# Escape sequences begin with a control; an override turns the order of what follows it around.
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028-\u202e\u2066-\u2069]")
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
_REFUSED = (errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY, errno.EIO, errno.ESTALE)


def disk_full(error: BaseException) -> DiskFullError | None:
    """Return the error to show where `error` says that there is no room left, else None."""
    if isinstance(error, DiskFullError):
        return error
    if not isinstance(error, OSError) or error.errno not in _NO_ROOM:
        return None
    where = f" at {error.filename}" if error.filename else ""
    return DiskFullError(
        f"no room left{where} ({os.strerror(error.errno)}); make room, and the same command goes on where it was"
    )


def refused(error: OSError) -> str:
    """Return what to say where storage refuses to read, write or remove a file, empty for any other error."""
    if error.errno not in _REFUSED:
        return ""
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{one_line(error.strerror or error)}; what was finished is kept, and the same command goes on then"


def one_line(error: BaseException | str, limit: int = 300) -> str:
    """Return an error's message as one line of at most `limit` characters, what is not printable as its escape."""
    text = visible(" ".join(str(error).split())) or type(error).__name__
    return text if len(text) <= limit else text[: limit - 3] + "..."


def with_article(noun: str) -> str:
    """Return a noun with its article, by its first letter: `a bert`, `an albert`; one of `x...` names is spelled out.

    >>> with_article("bert"), with_article("albert"), with_article("xlnet")
    ('a bert', 'an albert', 'an xlnet')
    """
    # Spelled letter by letter, x begins with a vowel; so the names of models are said.
    return f"{'an' if noun[:1].lower() in 'aeiox' else 'a'} {noun}"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "shard"), counted(2000, "sentence")
    ('1 shard', '2,000 sentences')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def visible(text: str) -> str:
    """Return a text with what no terminal is to get (controls, lone surrogates, bidi overrides) as Python writes it.

    >>> visible("a\\x1b[31mb")
    'a\\\\x1b[31mb'
    """
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)
