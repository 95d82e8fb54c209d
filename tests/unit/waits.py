"""What makes the host wait for the device, counted: on a GPU each of these stops until all that is queued is done."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

# Operators whose result, or its size, the host must have. What is built of them is seen as these.
OPERATORS = (
    "_local_scalar_dense", "item", "is_nonzero", "equal", "nonzero", "argwhere", "masked_select", "bincount", "histc",
    "unique_dim", "_unique2", "unique_consecutive", "repeat_interleave",
)  # fmt: skip
METHODS = ("item", "tolist", "numpy", "cpu", "__bool__", "__int__", "__float__", "__index__", "__array__")


class _Operators(TorchDispatchMode):
    def __init__(self, found: Counter[str]) -> None:
        super().__init__()
        self.found = found

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        if name in OPERATORS or (name == "where" and len(args) == 1):
            self.found[name] += 1
        if name in ("index", "index_put", "index_put_", "_index_put_impl_"):
            places = [i for i in args[1] if i is not None]
            self.found["index by bool"] += sum(i.dtype in (torch.bool, torch.uint8) for i in places)
        return func(*args, **(kwargs or {}))


class _Methods(TorchFunctionMode):
    def __init__(self, found: Counter[str], masks: list[Any]) -> None:
        super().__init__()
        self.found, self.masks = found, masks

    def __torch_function__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if name in METHODS:
            self.found[name] += 1
        if name == "scaled_dot_product_attention":
            self.masks.append((kwargs or {}).get("attn_mask"))
        return func(*args, **(kwargs or {}))


@contextmanager
def counted_waits(masks: list[Any] | None = None) -> Iterator[Counter[str]]:
    """Count them inside the `with`; the masks that attention is given are put into `masks`."""
    found: Counter[str] = Counter()
    with _Methods(found, [] if masks is None else masks), _Operators(found):
        yield found
    for name in [name for name, count in found.items() if not count]:
        del found[name]
