"""Models whose weights were saved quantised: the packages that read them, and whether activations are quantised."""

import importlib.util
from typing import Any

from ops.model.transformers_calls import ModelError

# The packages that transformers needs besides its own dependencies, by the method that config.json names.
_PACKAGES = {
    "gptq": ("optimum", "gptqmodel"),
    "awq": ("gptqmodel",),
    "compressed-tensors": ("compressed_tensors",),
    "bitsandbytes": ("bitsandbytes",),
    "torchao": ("torchao",),
    "quanto": ("optimum.quanto",),
    "hqq": ("hqq",),
}
# Methods whose weights transformers can expand while it loads them. Then no activation is quantised either.
_EXPANDED = ("compressed-tensors", "fp8", "mxfp8", "mxfp4")


def method_of(config: Any) -> str:
    """Return the name of the method that quantised a model's weights; empty if they are not quantised."""
    settings = getattr(config, "quantization_config", None)
    if settings is None:
        return ""
    method = settings.get("quant_method") if isinstance(settings, dict) else getattr(settings, "quant_method", None)
    return str(getattr(method, "value", method) or "bitsandbytes")  # old files of bitsandbytes name no method


def expand(config: Any) -> None:
    """Change a configuration so that quantised weights are expanded while loading, where transformers can do that."""
    if method_of(config) in _EXPANDED and isinstance(config.quantization_config, dict):
        config.quantization_config = config.quantization_config | {"dequantize": True}


def note_on_part(whole: Any, part: Any) -> None:
    """Make the configuration of a loaded part say whether its weights are quantised now.

    Args:
        whole: the configuration of the model that was loaded.
        part: the configuration of the part that is read, which may be the same.
    """
    if method_of(whole) and method_of(whole) not in _EXPANDED:
        part.quantization_config = whole.quantization_config
    elif hasattr(part, "quantization_config"):
        del part.quantization_config


def check_quantised(config: Any) -> None:
    """Refuse a quantised model that cannot be read with the packages at hand, or that computes over a batch.

    Raises:
        ModelError: a package is not installed, or large activations of a batch are computed apart.
    """
    method, settings = method_of(config), getattr(config, "quantization_config", None)
    if isinstance(settings, dict) and settings.get("load_in_8bit") and settings.get("llm_int8_threshold", 6.0) > 0:
        raise ModelError(
            f"its weights are quantised ({method}, 8 bits, llm_int8_threshold above 0), so that large activations of "
            "one sentence change how others are computed; give the model before quantisation"
        )
    missing = [package for package in _PACKAGES.get(method, ()) if not _installed(package)]
    if missing:
        own = " ".join(package.replace("_", "-").replace(".", "-") for package in missing)
        raise ModelError(f"its weights are quantised ({method}), and reading them requires {own}; pip install {own}")


def _installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:  # a package within a package that is not installed
        return False
