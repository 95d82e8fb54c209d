"""Load a transformer, and read from its configuration the facts that are needed before a forward pass."""

from typing import Any

import torch

from ops.errors import counted, one_line
from ops.model.adapters import check_adapter, loader_of, merge, read_adapter, refuse_beside, require_mergeable
from ops.model.locate import (
    base_of,
    fingerprint,
    loading_options,
    locate_model,
    random_fingerprint,
    read_config,
    weights_folder,
)
from ops.model.names import Location, seed_of
from ops.model.names import ModelFacts as ModelFacts
from ops.model.numerics import torch_dtype
from ops.model.parts import Part, check_part, config_of_part, find_part
from ops.model.quantised import check_quantised, note_on_part
from ops.model.random_weights import cast, draw_model
from ops.model.transformers_calls import HELP, ModelError, naming, quiet_transformers, refusing
from ops.model.weights import check_loaded, check_saved, require_filled, require_finite

MOST_LAYERS = 1_000
_DEFAULT_LIMIT = 4096


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
    with naming(name):
        location = locate_model(name)
        part = skeleton(location, trained=seed is None)
        config = part.model.config
        layers, width, limit = config.num_hidden_layers, config.hidden_size, position_limit(config, part.model)
        made = fingerprint(location) if seed is None else random_fingerprint(location, seed)
        rows = _token_rows(part.model)
    return ModelFacts(name, location, config.model_type, layers, width, limit, rows, made, seed, part.kind)


def _token_rows(model: Any) -> int:
    """Return the number of rows of a model's table of token embeddings; 0 if it has no such table."""
    try:
        table = getattr(model.get_input_embeddings(), "weight", None)
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


def skeleton(location: Location, trained: bool) -> Part:
    """Return the part that is read of a model on torch's meta device, where tensors have shapes but no values.

    Of trained weights, only the headers of safetensors files are read, to check that they fit the configuration.

    Raises:
        ModelError: the model cannot be built, its kind is not supported, or its weights do not fit its configuration.
    """
    from transformers import AutoModel

    with quiet_transformers(), refusing("cannot be loaded", HELP):
        base, config = base_of(location), read_config(location)
        _check_layer_count(config)
        adapter = read_adapter(location) if trained else None
        if adapter is not None:
            require_mergeable(config)
        if trained:
            refuse_beside(base)
            check_quantised(config)
        # Some architectures draw random numbers on the CPU even when they are built on the meta device.
        with torch.device("meta"), torch.random.fork_rng(devices=[]):
            whole: Any = AutoModel.from_config(config)
            if adapter is not None:
                check_adapter(location, adapter, config)
        if trained:
            check_saved(whole, weights_folder(base))
        return find_part(whole)


def _check_layer_count(config: Any) -> None:
    """Refuse a model whose part that reads text is not a stack of layers, before so many layers are built."""
    try:
        part = config_of_part(config)
    except ValueError as error:
        raise ModelError(f"{one_line(error, 160)}; give a language model") from error
    layers, width = getattr(part, "num_hidden_layers", None), getattr(part, "hidden_size", None)
    if not isinstance(layers, int) or not isinstance(width, int):
        raise ModelError(f"its configuration has no num_hidden_layers and hidden_size; {HELP}")
    if not 1 <= layers <= MOST_LAYERS:
        raise ModelError(f"its configuration says {counted(layers, 'layer')}; give a model of 1 to {MOST_LAYERS:,}")


def load_model(facts: ModelFacts, device: str, dtype: str, predicts: bool = False) -> torch.nn.Module:
    """Load a model for inference, or draw its random weights.

    Args:
        device: the device on which the model runs: `cpu`, `cuda`, ...
        dtype: the name of the arithmetic, as given with `--dtype`.
        predicts: whether to load the head that predicts the next token too; the model without the head is then the
            result's `base_model`. Not for a part of a model.

    Raises:
        InputError: the weights cannot be read, or they are not what the model would compute with (`ops.model.weights`).
    """
    from transformers import AutoModel, AutoModelForCausalLM

    with naming(facts.name), quiet_transformers():
        if predicts and facts.part:
            raise ModelError(
                f"is the {facts.part} of a larger model, whose head is not read; save the language model alone, with "
                "the tokenizer, and give that directory"
            )
        with refusing("cannot be loaded", HELP):
            if facts.seed is not None:
                whole, report = draw_model(read_config(facts.location), facts.seed, torch_dtype(dtype), predicts)
            else:
                whole, report = read_weights(facts.location, AutoModelForCausalLM if predicts else AutoModel, dtype)
        part = Part(whole) if predicts else find_part(whole)
        check_loaded(whole, report, part)
        whole.config.use_cache = part.model.config.use_cache = False
        note_on_part(whole.config, part.model.config)
        whole = whole.eval().to(device)
        require_finite(part.model)
        if facts.seed is None:
            require_filled(part.model)
        if part.kind:
            check_part(whole, part)
    return part.model  # type: ignore[no-any-return]


def read_weights(location: Location, loader: Any, dtype: str) -> tuple[Any, dict[str, Any]]:
    """Return a model with its trained weights, on the CPU and unchecked, and transformers' report on the loading.

    Args:
        loader: the class of transformers that decides on the head, such as `AutoModel`.
    """
    from transformers import AutoModel, GgufConfig

    path, options = loading_options(base_of(location))
    if "gguf_file" in options:
        options["quantization_config"] = GgufConfig(dequantize=True)
    adapter, plain = read_adapter(location), loader is AutoModel
    model, report = (loader_of(adapter) if adapter and plain else loader).from_pretrained(
        path,
        config=read_config(location),
        dtype=torch_dtype("float32" if adapter else dtype),
        output_loading_info=True,
        ignore_mismatched_sizes=True,  # `check_loaded` refuses them, with the tensor's name
        **options,
    )
    if adapter is not None:
        model = merge(location, model)
        if plain and model.base_model is not model:
            prefix, model = f"{model.base_model_prefix}.", model.base_model
            missing = [key for key in report["missing_keys"] if key.startswith(prefix)]  # heads have other names
            report["missing_keys"] = {key.removeprefix(prefix) for key in missing}
        if dtype != "float32":
            model = cast(model, torch_dtype(dtype))[0]
    return model, report
