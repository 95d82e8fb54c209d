"""The errors for a user's mistakes, and the formatting of any error as one line."""

import errno
import os
import re
import shlex
import sys
from collections.abc import Sequence
from typing import TextIO


class InputError(ValueError):
    """Raised if the user's input is wrong; the job ends with status 2.

    The message is one line that names the input, what was found and what to do. A second argument is a command to copy,
    which is placed at the end of the line and is never cut.
    """

    def __str__(self) -> str:
        return " ".join(map(str, self.args))


class StorageError(InputError):
    """Raised if a storage or hub cannot be read, perhaps only for now; a job keeps the work that it has begun."""


def close_for_good(stream: TextIO) -> None:
    """Let all that is still written to a stream vanish, even at exit, because its reader has closed it (`| head`)."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def some_of(names: Sequence[str], most: int) -> str:
    """Return the first names for a message, at most `most`, and how many more there are; "none" if there are none.

    >>> some_of(["news", "books", "tweets", "web"], 3), some_of([], 3)
    ('news, books, tweets and 1 more', 'none')
    """
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return (", ".join(names[:most]) or "none") + more


class DiskFullError(OSError):
    """Raised if the storage is full; nothing is lost, and the same command resumes once there is space (status 1)."""


class LostRunError(RuntimeError):
    """Raised if the job that this process works for no longer holds the run (status 1)."""


STOPPED = "stopped; give the same command again to resume"


class TerminatedError(KeyboardInterrupt):
    """Raised if the process receives SIGTERM, which is handled like Ctrl-C but has its own exit status."""


# Characters that are unsafe to print: controls, which begin escape sequences, and overrides of the text direction.
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028-\u202e\u2066-\u2069]")
LINE_LENGTH = 1_000
_LONG_WORD = re.compile(r"\S{241,}")
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
_REFUSED = (errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY, errno.EIO, errno.ESTALE)


def disk_full(error: BaseException) -> DiskFullError | None:
    """Return the error to show if `error` means that the storage is full, otherwise None."""
    if isinstance(error, DiskFullError):
        return error
    if not isinstance(error, OSError) or error.errno not in _NO_ROOM:
        return None
    where = f" at {error.filename}" if error.filename else ""
    return DiskFullError(
        f"no space left{where} ({os.strerror(error.errno)}); free some space, then give the "
        "same command again to resume"
    )


def refused(error: OSError) -> str:
    """Return the message if storage refused to read, write or remove a file; an empty text for any other error."""
    if error.errno not in _REFUSED:
        return ""
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{one_line(error.strerror or error)}; finished work is kept: give the same command again to resume"


def one_line(error: BaseException | str, limit: int = 300) -> str:
    """Return an error's message as one line of at most `limit` characters, with unsafe characters escaped."""
    text = visible(" ".join(str(error).split())) or type(error).__name__
    return text if len(text) <= limit else text[: limit - 3] + "..."


def error_line(error: BaseException | str) -> str:
    """Return the line that a job prints for an error; long words and long lines are cut, so that its advice is kept."""
    text, *command = (
        [error] if isinstance(error, str) else error.args if isinstance(error, InputError) else [str(error)]
    )
    line = one_line(str(text) or type(error).__name__, sys.maxsize)
    line = _LONG_WORD.sub(lambda found: f"{found[0][:150]}...{found[0][-20:]}", line)
    if len(line) > LINE_LENGTH:
        line = f"{line[: LINE_LENGTH // 2]} ... {line[-LINE_LENGTH // 2 :]}"
    return " ".join([line, *command])


def shell_word(text: str) -> str:
    """Return a text quoted for a shell; unsafe characters are escaped in the syntax of bash and zsh.

    >>> print(shell_word("a b's"), shell_word("a\\nb"))
    'a b'"'"'s' $'a\\U0000000ab'
    """
    if visible(text) == text:
        return shlex.quote(text)
    plain = text.replace("\\", r"\\").replace("'", r"\'")
    return "$'" + _UNSEEN.sub(lambda found: f"\\U{ord(found[0]):08x}", plain) + "'"


def with_article(noun: str) -> str:
    """Return a noun with its indefinite article, chosen by the first letter: `a bert`, `an albert`, `an xlnet`.

    >>> with_article("bert"), with_article("albert"), with_article("xlnet")
    ('a bert', 'an albert', 'an xlnet')
    """
    # The names of models that begin with x are pronounced letter by letter, and the letter x begins with a vowel sound.
    return f"{'an' if noun[:1].lower() in 'aeiox' else 'a'} {noun}"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun in the singular or plural.

    >>> counted(1, "shard"), counted(2000, "sentence")
    ('1 shard', '2,000 sentences')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def visible(text: str) -> str:
    """Return a text with unsafe characters (controls, lone surrogates, bidi overrides) as Python's escapes.

    >>> visible("a\\x1b[31mb")
    'a\\\\x1b[31mb'
    """
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)
