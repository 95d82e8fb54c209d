"""The checks that every option's text value must pass."""

import os
import re
import sys

from ops.errors import InputError

# Credentials before the host of an address, or in a query parameter with a suspicious name. A name alone before an @
# is an access key for S3 and Google; elsewhere it is the name of a container or user, which is not secret.
_USER = r"(?:(?<=s3)|(?<=gs)|(?<=gcs))://(?!anonymous@)[^/?#@\s]+@|://[^/?#@\s:]*:[^/?#@\s]+@"
_NAMES = "secret|token|password|passwd|credential|signature|key"
_SECRET = re.compile(rf"(?P<user>{_USER})|(?P<name>[?&][\w-]*(?:{_NAMES})[\w-]*=)[^&#\s]+", re.IGNORECASE)


def refuse_secrets(text: str, what: str) -> None:
    """Refuse an address that contains credentials, which would be stored in run.json, in messages and in logs."""
    shown = _SECRET.sub(lambda match: "://...@" if match["user"] else f"{match['name']}...", text)
    if shown != text:
        raise InputError(
            f"{what} {shown}: credentials in an address would be stored in run.json and in logs; give them through the "
            "environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, ...), a profile or a role"
        )


def check_text(text: str, what: str) -> None:
    """Refuse an option's value that is empty or blank, or that contains NUL, credentials or invalid UTF-8.

    An empty value often comes from an unset shell variable.

    Raises:
        InputError: the value is empty or blank, contains credentials or NUL, or is not valid UTF-8. It is also raised
            if the value needs UTF-8 but the locale has another encoding, because Python and Arrow would then write
            the name of a file differently.
    """
    if what and not text.strip():
        raise InputError(f"{what} {text!r}: is {'blank' if text else 'empty'}; leave it out or give a value")
    if "\0" in text:
        raise InputError(f"{what} {text!r}: holds a NUL character; no path or name has one; check it")
    refuse_secrets(text, what)
    try:
        # Bytes that the locale's encoding cannot decode become lone surrogates, which cannot be encoded as UTF-8.
        if text.encode("utf-8") == os.fsencode(text):
            return
    except UnicodeEncodeError:
        pass
    encoding = sys.getfilesystemencoding()
    why = "is not valid UTF-8; check its encoding"
    if encoding != "utf-8":
        why = f"needs UTF-8, and the encoding of this locale is {encoding}; set PYTHONUTF8=1, or LC_ALL=C.UTF-8"
    raise InputError(f"{what} {text}: {why}")
