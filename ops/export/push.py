"""Uploads a dataset folder to the Hugging Face hub with the hub's own client."""

import glob
from collections.abc import Iterator
from contextlib import contextmanager

from ops.errors import InputError, one_line


def check_access(name: str) -> None:
    """Check that the hub accepts the user's token.

    Raises:
        InputError: there is no token, the hub does not accept it, or the hub cannot be reached.
    """
    from huggingface_hub import HfApi, get_token

    if not get_token():
        raise InputError(f"--push {name}: there is no token; log in with `hf auth login`, or set HF_TOKEN")
    with _answers(name, "give the same command again"):
        HfApi().whoami()


def push(folder: str, files: list[str], name: str, private: bool) -> str:
    """Upload files of an export as the dataset ORG/NAME, which is created if it does not exist; return its address.

    Files that the hub already has are not sent again. Parts of tables from an earlier upload are deleted unless this
    one has them too, because the queries of the card read all parts.

    Raises:
        InputError: the hub refuses the upload, or cannot be reached.
    """
    from huggingface_hub import HfApi

    with _answers(name, "the folder is complete: give the same command again to resume"):
        made = HfApi().create_repo(name, repo_type="dataset", private=private or None, exist_ok=True)
        HfApi().upload_folder(
            repo_id=name,
            folder_path=folder,
            repo_type="dataset",
            commit_message="Tables of a Neuron Atlas run",
            allow_patterns=[glob.escape(file) for file in files],
            delete_patterns="*/part-*.parquet",
        )
    return str(made)


@contextmanager
def _answers(name: str, advice: str) -> Iterator[None]:
    """Turn errors of the hub's client and of its HTTP library into one line."""
    from huggingface_hub.errors import HfHubHTTPError

    http = (base for base in HfHubHTTPError.__mro__ if base.__name__ in ("HTTPError", "OSError"))
    kinds: tuple[type[BaseException], ...] = (RuntimeError, ValueError, *http)
    try:
        yield
    except kinds as error:
        cause = f": {one_line(error.__cause__, 100)}" if error.__cause__ else ""
        raise InputError(
            f"--push {name}: the hub refuses, or is not reached ({one_line(error, 200)}{cause}); {advice}"
        ) from error
