"""The training loss: the cross-entropy of each head and of the complete sequence of depths."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import pad_sequence

from ops.english.labelling import COLUMNS, DEPTHS
from ops.english.training.batches import IGNORED, Batch


def loss(tags: Tensor, scores: Tensor, heads: Sequence[int], batch: Batch, sequence_weight: float) -> Tensor:
    """Return the loss per word.

    Args:
        tags: the scores of tags, `[words, tags]`.
        scores: the concatenated scores of the parser's heads, `[words, sum of heads]`.
        heads: number of outputs of each head.
        batch: the gold labels.
        sequence_weight: the weight of the joint sequence loss of the two depth heads; the weight of their separate
            losses is `1 - sequence_weight`.
    """
    outputs = [tags, *_parts(scores, heads, -1)]
    weights = (1.0, 1 - sequence_weight, 1 - sequence_weight, 1.0, 1.0)
    total = tags.new_zeros(())
    for output, target, weight in zip(outputs, batch.targets, weights, strict=True):
        if weight:
            total = total + weight * cross_entropy(output, target, ignore_index=IGNORED, reduction="sum")
    if sequence_weight:
        total = total + sequence_weight * depth_sequence_loss(outputs[1], outputs[2], batch)
    return total / len(batch.kinds)


def depth_sequence_loss(change: Tensor, absolute: Tensor, batch: Batch) -> Tensor:
    """Return the negative log-probability of the gold depths among all sequences (a linear-chain CRF), summed.

    Args:
        change: scores of the change of depth, `[words, CHANGES]`.
        absolute: scores of the depth, `[words, DEPTHS]`.
        batch: the gold labels; sentences without a tree are ignored.
    """
    parts = list(zip(batch.lengths, batch.parsed, strict=True))
    chosen = [i for i, (n, parsed) in enumerate(parts) if parsed and n > 1]
    if not chosen:
        return change.new_zeros(())
    changes, absolutes = _parts(change, batch.lengths), _parts(absolute, batch.lengths)
    gold_change, gold_depth = (_parts(batch.targets[row], batch.lengths) for row in (1, 2))
    counts = torch.tensor([batch.lengths[i] - 1 for i in chosen])
    c = pad_sequence([changes[i][:-1] for i in chosen])
    a = pad_sequence([absolutes[i][:-1] for i in chosen])
    gold_c = pad_sequence([gold_change[i][:-1] for i in chosen])
    gold_a = pad_sequence([gold_depth[i][:-1] for i in chosen])
    inside = torch.arange(len(c))[:, None] < counts
    gold = ((c.gather(2, gold_c[..., None]) + a.gather(2, gold_a[..., None]))[..., 0] * inside).sum()
    # The column of the change that leads from depth i + 1 to depth j + 1.
    depth = torch.arange(DEPTHS)
    columns = torch.from_numpy(COLUMNS)[depth - depth[:, None] + DEPTHS - 1]
    forward = c[0][:, columns[0]] + a[0]
    for step in range(1, len(c)):
        onward = (forward[:, :, None] + c[step][:, columns]).logsumexp(1) + a[step]
        forward = torch.where(inside[step, :, None], onward, forward)
    return forward.logsumexp(1).sum() - gold


def _parts(tensor: Tensor, sizes: Sequence[int], axis: int = 0) -> tuple[Tensor, ...]:
    parts: tuple[Tensor, ...] = tensor.split(list(sizes), axis)  # type: ignore[no-untyped-call]
    return parts
