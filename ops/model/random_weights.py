"""Random weights instead of trained ones: a control that shows what follows from architecture and tokens alone."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from ops.model.locate import locate_model
from ops.model.names import SAMPLE
from ops.model.transformers_calls import quiet_transformers

if TYPE_CHECKING:
    from transformers import PretrainedConfig


def draw_model(config: Any, seed: int, dtype: torch.dtype, predicts: bool = False) -> tuple[Any, dict[str, Any]]:
    """Draw a model's weights as its class initialises them, on the CPU and in float32, and cast them to `dtype`.

    The weights depend on the configuration, the seed and the versions of torch and transformers. On a CPU without AVX2
    they differ by a rounding of float32. The model has the same weights with the head as without it. torch's global
    random state does not change.

    Args:
        config: the configuration, which this function may change.
        dtype: the type to which the weights are cast, as for trained weights. Buffers, and weights that an architecture
            keeps in float32, are not cast.
        predicts: whether the model has the head that predicts the next token.

    Returns:
        The model, and transformers' report on the loading: `missing_keys`, `mismatched_keys` and others.
    """
    from transformers import AutoModel, AutoModelForCausalLM

    if hasattr(config, "quantization_config"):
        del config.quantization_config  # describes how trained weights are stored
    with _seeded(seed):
        model: Any = AutoModel.from_config(config, dtype=torch.float32)
    if predicts:
        with _seeded(seed):
            whole: Any = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
        weights = model.state_dict()
        whole.base_model.load_state_dict({name: weights[name] for name in whole.base_model.state_dict()})
        whole.tie_weights()
        model = whole
    # Values that are not in the state, such as a drawn buffer, are created again here with the same seed.
    with _seeded(seed):
        return cast(model, dtype)


def cast(model: Any, dtype: torch.dtype) -> tuple[Any, dict[str, Any]]:
    """Return a model with its weights cast as transformers casts saved ones, and transformers' report on the loading.

    Weights that an architecture keeps in float32 are not cast.
    """
    return type(model).from_pretrained(  # type: ignore[no-any-return]
        None, config=model.config, state_dict=model.state_dict(), dtype=dtype, output_loading_info=True
    )


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Seed torch's random generator on the CPU inside the `with`, and restore its previous state on exit."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)  # `torch.manual_seed` would seed GPUs too
        yield


def save_random(folder: Path, config: "PretrainedConfig", seed: int = 0) -> Path:
    """Save a random model with the packaged model's tokenizer, for benchmarks, tests and a warm-up, in a folder."""
    from transformers import AutoModel

    torch.manual_seed(seed)
    model = AutoModel.from_config(config)
    with quiet_transformers():
        model.save_pretrained(folder)
    for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt"):
        shutil.copy(Path(locate_model(SAMPLE).path) / name, folder)
    return folder
