"""Downloads a dictionary named ORG/NAME or ORG/NAME/FOLDER from the Hugging Face hub, without other files."""

import logging
import re
from pathlib import Path

from ops.dictionaries.conversion import PROGRAMS
from ops.dictionaries.description import Asked
from ops.dictionaries.own_readers import is_cross_layer
from ops.errors import one_line

_ID = re.compile(r"([\w-][\w.-]*/[\w-][\w.-]*)((?:/[\w-][\w.-]*)*)/?", re.ASCII)
_FILES = ("cfg.json", "sae_weights.safetensors", *(name for own in PROGRAMS for name in own.files))
_NOTHING = "there is no such file or folder"


def download(asked: Asked) -> Path:
    """Return the local copy, in the hub client's cache, of the file or folder on the hub that a path names.

    Raises:
        InputError: the path is not a name on the hub, the hub has no such dictionary, or the hub cannot be reached.
    """
    import huggingface_hub
    from huggingface_hub.errors import HFValidationError, RepositoryNotFoundError
    from huggingface_hub.utils import logging as hub_log

    found = _ID.fullmatch(asked.path)
    if found is None:
        raise asked.error(_NOTHING)
    name, within = found[1], found[2].strip("/")
    wanted = [f"{within}/{file}" if within else file for file in _FILES]
    if is_cross_layer(Path(within)):
        wanted.append(f"{within.rpartition('/')[0]}/config.yaml".lstrip("/"))
    level = hub_log.get_verbosity()
    hub_log.set_verbosity(logging.ERROR)  # the error below says that no file fits
    try:
        whole = Path(huggingface_hub.snapshot_download(name, allow_patterns=[*wanted, *([within] if within else [])]))
    except (HFValidationError, RepositoryNotFoundError) as error:
        raise asked.error(f"{_NOTHING}, and the Hugging Face hub has no {name}") from error
    except (OSError, RuntimeError) as error:
        raise asked.error(
            f"{_NOTHING}, and the Hugging Face hub cannot be reached ({one_line(error.__cause__ or error, 100)})"
        ) from error
    finally:
        hub_log.set_verbosity(level)
    if within and not (whole / within).exists():
        raise asked.error(f"the hub's {name} has no dictionary {within}")
    return whole / within if within else whole
