"""Reads a dictionary given as `--dictionary LAYER=PATH`; the format is detected from the content, never the name."""

import importlib.util
import logging
import os
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import torch

from ops.dictionaries import directions, saelens
from ops.dictionaries.conversion import INSTALL, PROGRAMS, SAELENS, Program, find_listed, program_of, read_listed
from ops.dictionaries.description import FLAG, Asked, Description
from ops.dictionaries.directions import ROTATED
from ops.dictionaries.own_readers import CONFIG, WEIGHTS, is_cross_layer, is_qwen_scope
from ops.errors import InputError, counted, one_line
from ops.model.direction import is_decoder
from ops.model.load import ModelFacts, skeleton
from ops.model.names import RANDOM
from ops.model.sites import HookPoint, HookPointReader
from ops.model.transformers_calls import naming

NAMED = f"LAYER=PATH, such as 4=sae/blocks.3 or 4={ROTATED}0"
_ID = re.compile(r"([\w-][\w.-]*/[\w-][\w.-]*)((?:/[\w-][\w.-]*)*)/?", re.ASCII)
_FILES = tuple(name for own in PROGRAMS for name in own.files)
_NOTHING = "there is no such file or folder"
_PICKLED = (".pt", ".pth", ".pkl", ".bin", ".ckpt")


def parse(given: Sequence[str]) -> list[Asked]:
    """Return the parsed `--dictionary` options, sorted by layer.

    Raises:
        InputError: an option is not LAYER=PATH, or two options have the same layer.

    >>> parse(["4=sae/four", "2=rotated:7"])
    [Asked(layer=2, path='rotated:7'), Asked(layer=4, path='sae/four')]
    """
    by_layer: dict[int, Asked] = {}
    for text in given:
        layer, equals, path = text.partition("=")
        if not equals or not path or not layer.isdecimal() or len(layer) > 4:
            raise InputError(f"{FLAG} {one_line(text, 60)!r}: expected {NAMED}")
        if int(layer) in by_layer:
            raise InputError(f"{FLAG}: layer {int(layer)} has two dictionaries; give it one")
        by_layer[int(layer)] = Asked(int(layer), path)
    return [by_layer[layer] for layer in sorted(by_layer)]


def absolute(path: str) -> str:
    """Return the absolute path of a dictionary's file or folder; any other name as it is."""
    local = os.path.abspath(os.path.expanduser(path))
    return local if os.path.exists(local) else path


def describe_all(given: Sequence[str], facts: ModelFacts) -> tuple[Description, ...]:
    """Return the descriptions of all requested dictionaries, sorted by layer, after checking that they fit the model.

    Raises:
        InputError: a dictionary cannot be read or does not fit, or the dictionaries are neither all sparse nor all
            linear.
    """
    found = tuple(describe(asked, facts) for asked in parse(given))
    if len({own.sparse for own in found}) > 1:
        sparse, linear = (next(own for own in found if own.sparse == kind) for kind in (True, False))
        raise InputError(
            f"{FLAG}: {sparse.asked.path} has sparse features and {linear.asked.path} has directions; "
            "a run can have only one kind, so make two runs"
        )
    return found


def describe(asked: Asked, facts: ModelFacts) -> Description:
    """Return the description of one dictionary, after checking that it fits the model.

    Raises:
        InputError: the dictionary cannot be read or does not fit.
    """
    if asked.layer > facts.layers:
        raise asked.error(
            f"{facts.name} has no layer {asked.layer}; layers run from 0, the embeddings, to {facts.layers}"
        )
    if asked.path.startswith(ROTATED):
        return directions.describe_rotation(asked, facts.width)
    path, program = _locate(asked)
    if program is None:
        description = directions.describe_file(asked, path)
    else:
        description = saelens.describe(asked, path, program)
        _check_weights(description, facts)
    _check_fits(description, facts)
    return description


def load(description: Description) -> dict[str, torch.Tensor]:
    """Return a dictionary's weights as float32, under the names that `ops.dictionaries.encoder.Encoder` takes.

    Raises:
        InputError: the dictionary's files have changed.
    """
    asked = description.asked
    if description.format == "rotated":
        return directions.load_rotation(description)
    path, program = _locate(asked)
    if program is not None:
        return saelens.load(description, path, program)
    return directions.load_file(description, path)


def _locate(asked: Asked) -> tuple[Path, Program | None]:
    """Return the folder or file and the program that reads it, after checking that its format is supported.

    The program is None for directions.
    """
    path = Path(os.path.expanduser(asked.path))
    try:
        exists, is_folder = path.exists(), path.is_dir()
    except (OSError, ValueError) as error:
        raise asked.error(one_line(error, 100)) from error
    # The list of sae-lens corrects the configuration of some dictionaries in SAELens's own format.
    is_foreign = is_qwen_scope(path) or (exists and (program_of(path) not in (None, SAELENS) or path.suffix == ".npy"))
    if not is_foreign and (listed := find_listed(asked.path)) is not None:
        return path, Program("sae-lens", partial(read_listed, listed))
    if path.suffix.lower() in _PICKLED and not is_qwen_scope(path):
        how = "save its tensors with safetensors.torch.save_file in a program that you trust, and name that file"
        raise asked.error(f"{path.suffix} files are not read, because loading one can run code; {how}")
    if not exists:
        path = _download(asked)
        is_folder = path.is_dir()
    if not is_folder:
        if not os.access(path, os.R_OK) or not path.is_file():
            raise asked.error("cannot be read")
        return path, program_of(path)
    if program := program_of(path):
        return path, program
    pickled = [name for name in sorted(os.listdir(path)) if Path(name).suffix in _PICKLED]
    why = f"; {pickled[0]} is not read, because loading it can run code" if pickled else ""
    if importlib.util.find_spec("sae_lens") is None:
        why += f"; dictionaries that the package sae-lens lists require it ({INSTALL})"
    raise asked.error(f"the folder holds no {CONFIG} and {WEIGHTS}{why}")


def _download(asked: Asked) -> Path:
    """Return the local copy, in the hub client's cache, of ORG/NAME, or of a file or folder in it, without other files.

    Raises:
        InputError: the path is not a name on the hub, the hub has no such dictionary, or the hub cannot be reached.
    """
    import huggingface_hub
    from huggingface_hub.errors import HFValidationError, RepositoryNotFoundError
    from huggingface_hub.utils import logging as hub_log

    match = _ID.fullmatch(asked.path)
    if match is None:
        raise asked.error(_NOTHING)
    name, within = match[1], match[2].strip("/")
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


def _check_weights(found: Description, facts: ModelFacts) -> None:
    """Check that a trained dictionary and a model with random weights are used only with each other."""
    random = found.model.startswith(RANDOM)
    if not random and facts.seed is not None:
        raise found.asked.error(
            f"was trained on another model's states, and the weights of {facts.name} are random; "
            f"give {ROTATED}SEED, a file of directions, a dictionary trained on {facts.name}, or a trained model"
        )
    if random and (found.model, found.model_seed) != (facts.name, facts.seed):
        own = facts.name if facts.seed is None else f"{facts.name} --model-seed {facts.seed}"
        raise found.asked.error(
            f"was trained on the random weights of --model {one_line(found.model, 100)} "
            f"--model-seed {found.model_seed}, not on those of --model {own}"
        )


def _check_fits(found: Description, facts: ModelFacts) -> None:
    asked = found.asked
    points = [found.point, *([found.target] if found.target else [])]
    for point in points:
        if point.layer > facts.layers:
            raise asked.error(f"reads {point}, and {facts.name} has {counted(facts.layers, 'layer')}")
    for verb, point, own in zip(("takes", "writes"), points, (found.width, found.out), strict=False):
        if own != (width := _width_at(point, facts)):
            raise asked.error(f"{verb} states of {own:,} values, and those of {facts.name} have {width:,}")
    if found.centred and not is_decoder(facts):
        raise asked.error(
            f"was trained with center_writing_weights, which leaves the states of a decoder as they are; "
            f"{facts.name} is an encoder"
        )


def _width_at(point: HookPoint, facts: ModelFacts) -> int:
    """Return the size of a model's states at a hook point."""
    if point.place != "heads":
        return facts.width
    with naming(facts.name):
        reader = HookPointReader(skeleton(facts.location, facts.seed is None).model, facts.layers, [point])
    # The heads' outputs are what the attention's output matrix multiplies, whichever of its sides comes first.
    return reader.modules[0][0].weight.numel() // facts.width  # type: ignore[operator,union-attr]


def same_points(found: Sequence[Description]) -> tuple[HookPoint, ...]:
    """Return the hook points that the dictionaries read and reconstruct, each once."""
    points = [point for own in found for point in (own.point, own.target) if point is not None]
    return tuple(dict.fromkeys(points))
