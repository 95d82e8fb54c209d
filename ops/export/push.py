"""Uploading a dataset folder to the Hugging Face hub, by its own client."""

import re

from ops.errors import InputError, one_line

_NAME = re.compile(r"[\w.-]{1,96}/[\w.-]{1,96}", re.ASCII)


def check_name(name: str) -> None:
    """Refuse what is no name of a dataset.

    Raises:
        InputError: it is not ORG/NAME.
    """
    if not _NAME.fullmatch(name) or ".." in name or "--" in name:
        raise InputError(f"--push {one_line(name, 60)}: expected ORG/NAME, in letters, digits, -, _ and .")


def check_access(name: str) -> None:
    """Ask the hub who is calling.

    Raises:
        InputError: there is no token, the hub does not take it, or it is not reached.
    """
    from huggingface_hub import HfApi, get_token

    if not get_token():
        raise InputError(f"--push {name}: there is no token; log in with `hf auth login`, or set HF_TOKEN")
    try:
        HfApi().whoami()
    except _errors() as error:
        raise InputError(f"--push {name}: {_refused(error)}") from error


def push(folder: str, name: str, private: bool) -> str:
    """Upload a folder as the dataset ORG/NAME, which is made where it is not there, and return its address.

    What the hub has already is not sent again, so that the same command goes on after an upload that broke.

    Raises:
        InputError: the hub refuses, or is not reached.
    """
    from huggingface_hub import HfApi

    api = HfApi()
    try:
        made = api.create_repo(name, repo_type="dataset", private=private or None, exist_ok=True)
        api.upload_folder(
            repo_id=name, folder_path=folder, repo_type="dataset", commit_message="Tables of a Neuron Atlas run"
        )
    except _errors(RuntimeError, ValueError) as error:
        raise InputError(
            f"--push {name}: {_refused(error)}; the folder is whole, and the same command goes on"
        ) from error
    return str(made)


def _errors(*more: type[BaseException]) -> tuple[type[BaseException], ...]:
    """Return what the client raises: its own errors and those of the library by which it asks, and `more`."""
    from huggingface_hub.errors import HfHubHTTPError

    return (*more, *(base for base in HfHubHTTPError.__mro__ if base.__name__ in ("HTTPError", "OSError")))


def _refused(error: BaseException) -> str:
    cause = error.__cause__
    return f"the hub refuses, or is not reached ({one_line(error, 200)}{f': {one_line(cause, 100)}' if cause else ''})"
