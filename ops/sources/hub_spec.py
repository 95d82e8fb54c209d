"""Datasets of the Hugging Face hub: the meaning of their `--corpus` values, their commits and their streams."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from ops.errors import InputError, one_line
from ops.sources.presets import PRESETS

if TYPE_CHECKING:
    from datasets import IterableDataset  # type: ignore[import-untyped]

FORM = "hf:ORG/NAME[:CONFIG][:SPLIT]"
_SPEC = re.compile(r"hf:([\w.-]+/[\w.-]+)(?:@([\w./-]+))?(?::([^:]*))?(?::([^:]*))?")
_SECONDS = 8  # maximum time for the hub to answer
# After a broken connection a request is repeated, with a pause in seconds, both to open a dataset and to read it.
TRIES, PAUSE_S = 10, 5
Answer = TypeVar("Answer")
_HELP = "check the name and the connection, or download its files and name them"


@dataclass(frozen=True)
class HubSpec:
    """A dataset on the hub as a source names it, with its revision, configuration and split if they are not empty."""

    hub: str
    revision: str = ""
    config: str = ""
    split: str = ""
    preset: str = ""

    @property
    def name(self) -> str:
        """The preset's name, or the dataset's name without its owner."""
        return self.preset or self.hub.rpartition("/")[2]

    @property
    def shown(self) -> str:
        """The spec as a user writes it."""
        return self.preset or ":".join(["hf", self.hub, self.config, self.split]).rstrip(":")


def parse_hub(spec: str, path: str) -> HubSpec | None:
    """Return the dataset that a value of `--corpus` names as a preset or with `hf:`; None for any other value.

    Args:
        spec: the complete value, for the error message.
        path: the value without `NAME=`; `@REVISION` may follow the dataset's id.

    Raises:
        InputError: the value begins with `hf:` but does not have the form `hf:ORG/NAME[:CONFIG][:SPLIT]`.
    """
    if path in PRESETS:
        return HubSpec(PRESETS[path].hub, PRESETS[path].revision, preset=path)
    if not path.startswith("hf:"):
        return None
    found = _SPEC.fullmatch(path)
    if found is None:
        raise InputError(f"--corpus {spec}: is not of the form {FORM}")
    return HubSpec(*(part or "" for part in found.groups()))


def _patiently(ask: Callable[[], Answer]) -> Answer:
    """Return the hub's answer to a request, which is repeated after a broken connection.

    A hub that cannot be reached at all, or does not answer in time, is not asked again.
    """
    for _ in range(TRIES - 1):
        try:
            return ask()
        except Exception as error:
            if not _is_broken_connection(error):
                raise
            why = one_line(error, 120)
            print(f"the connection to the Hugging Face hub broke ({why}); asks again in {PAUSE_S} s", file=sys.stderr)
            time.sleep(PAUSE_S)
    return ask()


def _is_broken_connection(error: BaseException) -> bool:
    from huggingface_hub.errors import LocalEntryNotFoundError, OfflineModeIsEnabled
    from huggingface_hub.utils import httpx  # type: ignore[attr-defined]  # the hub's own: httpx or, since 2.4, httpx2

    # `datasets` reports a connection that breaks while it opens a dataset as one of the last two.
    broken = (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError, LocalEntryNotFoundError, ConnectionError)
    return isinstance(error, broken) and not isinstance(error, OfflineModeIsEnabled)


@contextmanager
def _opened_by_patiently() -> Iterator[None]:
    """Keep `datasets` from retrying by itself inside the `with`, and let it retry as often as here afterwards."""
    from datasets import config

    for name in ("OPEN", "READ"):
        setattr(config, f"STREAMING_{name}_MAX_RETRIES", 1)
        setattr(config, f"STREAMING_{name}_RETRY_INTERVAL", 0)
    try:
        yield
    finally:
        for name in ("OPEN", "READ"):
            setattr(config, f"STREAMING_{name}_MAX_RETRIES", TRIES)
            setattr(config, f"STREAMING_{name}_RETRY_INTERVAL", PAUSE_S)


@lru_cache
def commit_of(spec: HubSpec) -> str:
    """Return the current commit of the spec's revision, waiting at most 8 seconds for each answer of the hub.

    Raises:
        InputError: the dataset or the revision does not exist, or the hub cannot be reached.
    """
    import huggingface_hub
    from huggingface_hub.errors import RepositoryNotFoundError, RevisionNotFoundError

    try:
        api, revision = huggingface_hub.HfApi(), spec.revision or None
        info = _patiently(lambda: api.dataset_info(spec.hub, revision=revision, timeout=_SECONDS))
    except RevisionNotFoundError as error:
        raise InputError(f"--corpus {spec.shown}: {spec.hub} has no revision {spec.revision!r}; {_HELP}") from error
    except RepositoryNotFoundError as error:
        raise InputError(f"--corpus {spec.shown}: the Hugging Face hub has no dataset {spec.hub}; {_HELP}") from error
    except Exception as error:
        found = one_line(error, 120)
        raise InputError(f"--corpus {spec.shown}: the Hugging Face hub cannot be reached ({found}); {_HELP}") from error
    return str(info.sha)


@lru_cache
def open_splits(spec: HubSpec, commit: str) -> dict[str, IterableDataset]:
    """Return the streams of a dataset's splits at a commit, in order; only one split if the spec names a split.

    Raises:
        InputError: `datasets` cannot load the dataset, or the configuration or split does not exist. The message lists
            the splits that exist.
    """
    import datasets

    datasets.disable_progress_bars()
    options: dict[str, Any] = {"name": spec.config or None}
    if spec.preset:
        preset = PRESETS[spec.preset]
        options = {"data_files": preset.files} | ({"batch_size": preset.batch_rows} if preset.batch_rows else {})
    try:
        with _opened_by_patiently():
            found = _patiently(lambda: datasets.load_dataset(spec.hub, revision=commit, streaming=True, **options))
    except Exception as error:
        raise InputError(f"--corpus {spec.shown}: cannot be loaded ({one_line(error)}); {_HELP}") from error
    if spec.split and spec.split not in found:
        names = ", ".join(map(str, found))
        raise InputError(f"--corpus {spec.shown}: has no split {spec.split!r}; it has {names}")
    return {str(split): stream for split, stream in found.items() if spec.split in ("", split)}
