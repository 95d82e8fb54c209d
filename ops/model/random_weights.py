"""Random weights in the place of trained ones: a control for what follows from architecture and tokens alone."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch


def draw_model(config: Any, seed: int, dtype: torch.dtype, predicts: bool = False) -> tuple[Any, dict[str, Any]]:
    """Draw a model's weights as its class initialises them, on the CPU in float32 whatever they are cast to then.

    The weights follow from the configuration, the seed and the versions of torch and transformers; on a CPU without
    AVX2 they differ by a rounding of float32. With the head the model has the same weights as without it. torch's
    global random state stays as it was.

    Args:
        config: the configuration, which may be changed.
        seed: of the draw.
        dtype: what the weights are cast to, as trained ones are: buffers, and what an architecture keeps in float32,
            are not.
        predicts: with the head that predicts the next token.

    Returns:
        the model, and what transformers says of the loading: `missing_keys`, `mismatched_keys` and others.
    """
    from transformers import AutoModel, AutoModelForCausalLM

    if hasattr(config, "quantization_config"):
        del config.quantization_config  # of how trained weights are stored
    with _seeded(seed):
        model: Any = AutoModel.from_config(config, dtype=torch.float32)
    if predicts:
        with _seeded(seed):
            whole: Any = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
        weights = model.state_dict()
        whole.base_model.load_state_dict({name: weights[name] for name in whole.base_model.state_dict()})
        whole.tie_weights()
        model = whole
    # What no state holds, such as a drawn buffer, is made here once more.
    with _seeded(seed):
        loaded, info = type(model).from_pretrained(
            None, config=model.config, state_dict=model.state_dict(), dtype=dtype, output_loading_info=True
        )
    return loaded, info


def drawn_by(seed: int) -> str:
    """Return what random weights follow from besides a configuration: the seed, and what draws them."""
    import transformers

    # The build for a CPU and that for a GPU draw the same on the CPU.
    torch_version = torch.__version__.partition("+")[0]
    return f"random weights, seed {seed}, torch {torch_version}, transformers {transformers.__version__}"


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Seed torch's random generator on the CPU inside the `with`, and restore its previous state on exit."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)  # `torch.manual_seed` would seed GPUs too
        yield
