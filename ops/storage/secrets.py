"""Credentials that are written into an address."""

import re

from ops.errors import InputError

# What stands before the place of a storage, or in a query by a telling name. A name alone before an @ is that of a
# key for S3 and Google; elsewhere it is a container's or a user's, and no secret.
_USER = r"(?:(?<=s3)|(?<=gs)|(?<=gcs))://(?!anonymous@)[^/?#@\s]+@|://[^/?#@\s:]*:[^/?#@\s]+@"
_NAMES = "secret|token|password|passwd|credential|signature|key"
_SECRET = re.compile(rf"(?P<user>{_USER})|(?P<name>[?&][\w-]*(?:{_NAMES})[\w-]*=)[^&#\s]+", re.IGNORECASE)


def refuse_secrets(text: str, what: str) -> None:
    """Refuse an address with credentials in it: they would be kept in run.json, in messages and in logs.

    Raises:
        InputError: there are some; the message leaves them out.
    """
    shown = _SECRET.sub(lambda found: "://...@" if found["user"] else f"{found['name']}...", text)
    if shown != text:
        raise InputError(
            f"{what} {shown}: credentials in an address would be stored in run.json and in logs; give them through the "
            "environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, ...), a profile or a role"
        )
