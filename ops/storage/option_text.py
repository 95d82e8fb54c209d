"""What no option's value may be."""

import os
import sys

from ops.errors import InputError
from ops.storage.secrets import refuse_secrets


def check_text(text: str, what: str) -> None:
    """Refuse a value of nothing or blanks, as of an unset shell variable, NUL, credentials, and what is not UTF-8.

    Raises:
        InputError: the value is empty or blank, holds credentials or NUL, is not valid UTF-8, or needs UTF-8 where the
            locale has another encoding, so that Python and Arrow would write the name of a file differently.
    """
    if what and not text.strip():
        raise InputError(f"{what} {text!r}: is {'blank' if text else 'empty'}; leave it out or give a value")
    if "\0" in text:
        raise InputError(f"{what} {text!r}: holds a NUL character; no path or name has one; check it")
    refuse_secrets(text, what)
    try:
        # What the locale's encoding cannot decode stands in a command line as lone surrogates, which UTF-8 refuses.
        if text.encode("utf-8") == os.fsencode(text):
            return
    except UnicodeEncodeError:
        pass
    encoding = sys.getfilesystemencoding()
    why = "is not valid UTF-8; check its encoding"
    if encoding != "utf-8":
        why = f"needs UTF-8, and the encoding of this locale is {encoding}; set PYTHONUTF8=1, or LC_ALL=C.UTF-8"
    raise InputError(f"{what} {text}: {why}")
