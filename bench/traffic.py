"""Counts the bytes that torch's operators read and write while some work runs; views and indices do not count."""

from collections import Counter
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class Traffic(TorchDispatchMode):
    """Counts the bytes of each operator's tensors inside a `with`, by the operator's name.

    An operator reads each of its arguments once and writes its results; an in-place operator does both to the same
    tensor. An expanded tensor (`expand`) counts with its stored bytes. Operators that only return another view of a
    tensor move nothing. If values are scattered into a tensor, only the written places count, with the size of the
    values. A device moves more bytes than that if neighbouring values go to distant places.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.by_operator: Counter[str] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the operator and count what it moved."""
        result = func(*args, **(kwargs or {}))
        read = [t for t in tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)]
        written = [t for t in tree_leaves(result) if isinstance(t, torch.Tensor)]
        where = {t.untyped_storage().data_ptr() for t in read}
        name = func.overloadpacket.__name__
        looks = all(t.untyped_storage().data_ptr() in where for t in written) and not func._schema.is_mutable
        if name in ("scatter_", "scatter_add_"):
            target, _, index, source = args
            passes = 1 if name == "scatter_" else 2
            self.by_operator[name] += _stored(index) + _stored(source) + passes * index.numel() * target.element_size()
        elif not looks:
            different = {(t.data_ptr(), t.shape, t.stride()): t for t in read}.values()
            self.by_operator[name] += sum(_stored(t) for t in [*different, *written])
        return result

    @property
    def total(self) -> int:
        """The bytes of all operators."""
        return sum(self.by_operator.values())


def _stored(tensor: torch.Tensor) -> int:
    elements = 1
    for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
        elements *= size if stride else 1
    return elements * tensor.element_size()
