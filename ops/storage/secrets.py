"""Refuses credentials that are written into an address."""

import re

from ops.errors import InputError

# Credentials before the host of an address, or in a query parameter with a suspicious name. A name alone before an @
# is an access key for S3 and Google; elsewhere it is the name of a container or user, which is not secret.
_USER = r"(?:(?<=s3)|(?<=gs)|(?<=gcs))://(?!anonymous@)[^/?#@\s]+@|://[^/?#@\s:]*:[^/?#@\s]+@"
_NAMES = "secret|token|password|passwd|credential|signature|key"
_SECRET = re.compile(rf"(?P<user>{_USER})|(?P<name>[?&][\w-]*(?:{_NAMES})[\w-]*=)[^&#\s]+", re.IGNORECASE)


def refuse_secrets(text: str, what: str) -> None:
    """Refuse an address that contains credentials, which would be stored in run.json, in messages and in logs.

    Raises:
        InputError: the address contains credentials; the message does not show them.
    """
    shown = _SECRET.sub(lambda found: "://...@" if found["user"] else f"{found['name']}...", text)
    if shown != text:
        raise InputError(
            f"{what} {shown}: credentials in an address would be stored in run.json and in logs; give them through the "
            "environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, ...), a profile or a role"
        )
