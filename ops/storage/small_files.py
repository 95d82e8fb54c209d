"""Small text files that an option names: options in YAML, lists of words, questions."""

import os
import stat

from ops.errors import InputError, one_line

MOST_MB = 16


def read_small_file(option: str, path: str, wrong: str = "cannot be read") -> str:
    """Return the text of a file that an option names; a pipe is not opened, and the size is limited.

    Args:
        wrong: the message's words for a file that cannot be used; the reason follows.

    Raises:
        InputError: the file cannot be read.
    """
    try:
        return _read(path)
    except (OSError, ValueError) as error:
        raise InputError(f"{option} {path}: {wrong} ({one_line(error)})") from error


def _read(path: str) -> str:
    # Opening a pipe would wait for its writer, so the file's type is checked first.
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise OSError("a pipe or a device; write it to a file first")
    with open(path, "rb") as file:
        # The limit applies to the bytes read, because the reported size of virtual files, as in /proc, is 0.
        data = file.read(MOST_MB * 1_000_000 + 1)
    if len(data) > MOST_MB * 1_000_000:
        raise OSError(f"larger than {MOST_MB} MB; check that it is the right file")
    return data.decode("utf-8")
