"""Load a transformer, and read from its configuration the facts that are needed before a forward pass."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from ops.errors import InputError, one_line
from ops.model.adapters import (
    build_for,
    check_adapter,
    loader_of,
    merge,
    read_adapter,
    refuse_beside,
    require_peft,
)
from ops.model.facts import ModelFacts as ModelFacts
from ops.model.loaded_weights import check_report, require_filled, require_finite
from ops.model.locate import (
    HELP,
    base_of,
    fingerprint,
    locate_model,
    place_of,
    random_fingerprint,
    read_config,
    weights_folder,
)
from ops.model.names import seed_of
from ops.model.numerics import torch_dtype
from ops.model.parts import Part, check_part, config_of_part, find_part
from ops.model.quantised import check_quantised, method_of, note_on_part
from ops.model.random_weights import cast, draw_model
from ops.model.saved_tensors import check_layer_count, check_saved, saved_shapes

_DEFAULT_LIMIT = 4096


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Keep transformers from printing progress bars and reports inside the `with`."""
    import transformers

    level = transformers.logging.get_verbosity()
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    try:
        yield
    finally:
        transformers.logging.set_verbosity(level)


def read_facts(name: str, seed: int | None = None) -> ModelFacts:
    """Find a model and read its facts from its configuration, without loading its weights.

    Args:
        name: `sample`, a directory or a hub id. With the prefix `random:` it stands for the same architecture with
            random weights.
        seed: the seed of the random weights, as given with `--model-seed`; None means 0.

    Raises:
        InputError: the model cannot be found or read, its weights do not fit its configuration, this tool does not
            support its kind, or a seed is given for trained weights.
    """
    seed = seed_of(name, seed)
    path, revision = locate_model(name)
    part = _skeleton(name, path, revision, trained=seed is None)
    skeleton = part.model
    config: Any = skeleton.config
    layers, width = config.num_hidden_layers, config.hidden_size
    vocabulary = _token_rows(skeleton)
    kind = config.model_type
    limit = position_limit(config, skeleton)
    weights = fingerprint(name, path, revision) if seed is None else random_fingerprint(path, revision, seed)
    return ModelFacts(name, path, revision, kind, layers, width, limit, vocabulary, weights, seed, part.kind)


def _token_rows(model: torch.nn.Module) -> int:
    """Return the number of rows of a model's table of token embeddings; 0 if it has no such table."""
    try:
        table = getattr(model.get_input_embeddings(), "weight", None)  # type: ignore[operator]
    except (AttributeError, NotImplementedError):
        return 0
    return len(table) if table is not None else 0


def position_limit(config: Any, model: torch.nn.Module) -> int:
    """Return the maximum number of tokens that the model accepts, including special tokens.

    The result is 4,096 for a model that has no limit of its own. A learned table of positions with a `padding_idx`
    (RoBERTa and similar models) assigns the first position to the row after `padding_idx`, so the rows up to it are not
    available.
    """
    limit = getattr(config, "max_position_embeddings", None)
    if not isinstance(limit, int) or limit <= 0:
        return _DEFAULT_LIMIT
    for module_name, module in model.named_modules():
        table = module_name.rpartition(".")[2] in ("position_embeddings", "embed_positions", "wpe")
        if table and isinstance(module, torch.nn.Embedding) and module.padding_idx is not None:
            return min(limit, module.num_embeddings - module.padding_idx - 1)
    return limit


def load_without_weights(name: str, path: str, revision: str, trained: bool = True) -> torch.nn.Module:
    """Build a model on torch's meta device, where tensors have shapes but no values, without reading its weights.

    Only the headers of safetensors files are read, to check that the weights fit the configuration.

    Args:
        name: the name that the user gave, for the error message.
        path, revision: as `locate_model` returns them.
        trained: whether trained weights will be loaded; random weights always fit.

    Raises:
        InputError: the model cannot be built, its kind is not supported, or its weights do not fit its configuration.
    """
    return _skeleton(name, path, revision, trained).model  # type: ignore[no-any-return]


def _skeleton(name: str, path: str, revision: str, trained: bool) -> Part:
    """Return the part that is read of a model on the meta device; the other arguments as in `load_without_weights`."""
    from transformers import AutoModel

    with quiet_transformers():
        try:
            base = base_of(name, path, revision) or (path, revision)
            if trained:
                refuse_beside(name, *base)
            adapter = read_adapter(name, path, revision)
            if adapter is not None and trained:
                require_peft(name)
            config = read_config(path, revision)
            if adapter is not None and trained and method_of(config):
                raise InputError(
                    f"--model {name}: is an adapter of a quantised model ({method_of(config)}), and merging would "
                    "round it; name the model before quantisation as base_model_name_or_path in adapter_config.json"
                )
            own = _check_kind(name, config)
            saved = None
            if trained:
                check_quantised(name, config)
                saved = saved_shapes(weights_folder(*base))
            check_layer_count(name, own, saved)
            # Some architectures draw random numbers on the CPU even when they are built on the meta device.
            with torch.device("meta"), torch.random.fork_rng(devices=[]):
                whole: Any = AutoModel.from_config(config)
                if adapter is not None and trained:
                    check_adapter(name, path, revision, build_for(name, adapter, config))
            check_saved(name, whole, saved or {})
            return find_part(name, whole)
        except InputError:
            raise
        except Exception as error:
            raise InputError(f"--model {name}: cannot be loaded ({why_not(error)}); {HELP}") from error


def _check_kind(name: str, config: Any) -> Any:
    """Return the configuration of the part that reads text, and refuse one that does not describe a stack of layers."""
    try:
        own = config_of_part(config)
    except ValueError as error:
        raise InputError(f"--model {name}: {one_line(error, 160)}; give a language model") from error
    layers, width = getattr(own, "num_hidden_layers", None), getattr(own, "hidden_size", None)
    if not isinstance(layers, int) or not isinstance(width, int):
        raise InputError(f"--model {name}: its configuration has no num_hidden_layers and hidden_size; {HELP}")
    if layers < 1:
        raise InputError(f"--model {name}: has no layers; give another model")
    return own


def load_model(facts: ModelFacts, device: str, dtype: str, predicts: bool = False) -> torch.nn.Module:
    """Load a model for inference, or draw its random weights.

    Args:
        facts: the model.
        device: the device on which the model runs: `cpu`, `cuda`, ...
        dtype: the name of the arithmetic, as given with `--dtype`.
        predicts: whether to load the head that predicts the next token too; the model without the head is then the
            result's `base_model`. Not for a part of a model.

    Raises:
        InputError: the weights cannot be read, or they are not what the model would compute with (`check_report`,
            `require_finite`, `require_filled`).
    """
    from transformers import AutoModel, AutoModelForCausalLM

    if predicts and facts.part:
        raise InputError(
            f"--model {facts.name}: is the {facts.part} of a larger model, whose head is not read; save the language "
            "model alone, with the tokenizer, and give that directory"
        )
    with quiet_transformers():
        try:
            if facts.seed is not None:
                config = read_config(facts.path, facts.revision)
                whole, report = draw_model(config, facts.seed, torch_dtype(dtype), predicts)
            else:
                whole, report = read_weights(facts, AutoModelForCausalLM if predicts else AutoModel, dtype)
        except InputError:
            raise
        except Exception as error:
            raise InputError(f"--model {facts.name}: cannot be loaded ({why_not(error)}); {HELP}") from error
    part = Part("", "", whole) if predicts else find_part(facts.name, whole)
    check_report(facts.name, whole, report, part)
    whole.config.use_cache = part.model.config.use_cache = False
    note_on_part(whole.config, part.model.config)
    whole = whole.eval().to(device)
    require_finite(facts.name, part.model)
    if facts.seed is None:
        require_filled(facts.name, part.model)
    if part.kind:
        check_part(facts.name, whole, part)
    return part.model  # type: ignore[no-any-return]


def read_weights(facts: ModelFacts, loader: Any, dtype: str) -> tuple[Any, dict[str, Any]]:
    """Return a model with its trained weights, on the CPU and unchecked, and transformers' report on the loading.

    Args:
        facts: the model.
        loader: the class of transformers that decides on the head, such as `AutoModel`.
        dtype: the name of the arithmetic, as given with `--dtype`.
    """
    from transformers import AutoModel, GgufConfig

    adapter = read_adapter(facts.name, facts.path, facts.revision)
    config, base = read_config(facts.path, facts.revision), base_of(facts.name, facts.path, facts.revision)
    place, options = place_of(*(base or (facts.path, facts.revision)))
    if "gguf_file" in options:
        options["quantization_config"] = GgufConfig(dequantize=True)
    plain = loader is AutoModel
    model, report = (loader_of(facts.name, adapter) if adapter and plain else loader).from_pretrained(
        place,
        config=config,
        dtype=torch_dtype("float32" if adapter else dtype),
        output_loading_info=True,
        ignore_mismatched_sizes=True,  # `check_report` refuses them, with the tensor's name
        **options,
    )
    if adapter is not None:
        model = merge(facts.name, facts.path, facts.revision, model)
        if plain and model.base_model is not model:
            prefix, model = f"{model.base_model_prefix}.", model.base_model
            own = [key for key in report["missing_keys"] if key.startswith(prefix)]  # heads have other names
            report["missing_keys"] = {key.removeprefix(prefix) for key in own}
        if dtype != "float32":
            model = cast(model, torch_dtype(dtype))[0]
    return model, report


def why_not(error: Exception) -> str:
    """Return the reason why transformers could not load a model or tokenizer."""
    if "trust_remote_code" in str(error):
        return "it needs code of its own, which is never run (trust_remote_code is off)"
    return one_line(error)
