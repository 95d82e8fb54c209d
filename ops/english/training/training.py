"""Training passes over the sentences with AdamW, which also maintain an average of the weights, and their loss."""

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from random import Random
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import pad_sequence

from ops.english.labelling import COLUMNS, DEPTHS
from ops.english.training.batches import IGNORED, Batch
from ops.english.training.distillation import soft_loss
from ops.english.training.evaluation import compare
from ops.english.training.mixture import Mixture
from ops.english.training.model import JointNetwork
from ops.english.training.treebank import Sentence
from ops.errors import InputError

AVERAGED = 0.998
WARM_UP = 200
LARGEST_GRADIENT = 2.0
LARGEST_WEIGHT = 65_504.0  # the maximum of half precision, in which weights are saved


class Trainer:
    """Trains a network.

    Args:
        network: the network.
        counts: number of occurrences of each word in training.
        batch_words: approximate number of words of a batch.
        steps: maximum number of steps; the learning rate falls to 0 at the last one.
        rate: the highest learning rate.
        sequence_weight: weight of the sequence of depths in the loss.
        unknown: a word that occurs n times is replaced by the unknown word with probability `unknown / (unknown + n)`.
        teacher: a network whose scores are learnt with the same weight as the labels; `network` is made from this
            network. None trains without a teacher.

    Attributes:
        average: the network with its weights averaged over about the last 500 steps.
    """

    def __init__(
        self,
        network: JointNetwork,
        counts: Mapping[str, float],
        *,
        batch_words: int,
        steps: int,
        rate: float,
        sequence_weight: float,
        unknown: float,
        teacher: JointNetwork | None = None,
    ) -> None:
        self.network = network
        self._teacher = None if teacher is None else teacher.eval()
        self._batch_words = batch_words
        self._steps = steps
        self._done = 0
        self._rate = rate
        self._sequence_weight = sequence_weight
        if teacher is None:
            for table in network.modules():
                if isinstance(table, nn.Embedding):
                    nn.init.normal_(table.weight, std=0.3)
        self._unknown = torch.zeros(network.reader.inventory.sizes()["word"])
        rows = network.reader.inventory.rows(counts)[:, 0]
        self._unknown.index_add_(0, torch.from_numpy(rows).long(), torch.tensor(list(counts.values())).float())
        self._unknown = unknown / (unknown + self._unknown).clamp(min=1e-9)
        self._optimizer = torch.optim.AdamW(
            network.parameters(), lr=rate, betas=(0.9, 0.98), weight_decay=0.01, fused=True
        )
        self._weights: list[Tensor] = list(network.parameters())
        self.average = deepcopy(network).eval()
        self._average: list[Tensor] = list(self.average.parameters())

    def run(self, sentences: Sequence[Sentence], random: Random) -> float:
        """Do one pass over the sentences and return the mean loss per word.

        Raises:
            InputError: weights or losses are not finite, or weights are too large to be saved.
        """
        self.network.train()
        total, words = 0.0, 0
        for batch in self.network.batcher.batches(sentences, self._batch_words, random):
            with torch.no_grad():
                # With no word hidden.
                taught = None if self._teacher is None else self._teacher(batch)
            word = batch.rows[:, 0]
            word *= torch.rand(len(word)) >= self._unknown[word.long()]
            self._done += 1
            left = max(0.0, 1 - self._done / self._steps)
            for group in self._optimizer.param_groups:
                group["lr"] = self._rate * min(1.0, self._done / WARM_UP) * left + 1e-5
            scores = self.network(batch)
            soft = 0.0 if taught is None else soft_loss(scores, taught)
            value = soft + loss(scores, batch, self._sequence_weight)
            self._optimizer.zero_grad()
            value.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(self._weights, LARGEST_GRADIENT)
            self._optimizer.step()
            share = 1 - min(AVERAGED, self._done / (self._done + 9))
            with torch.no_grad():
                torch._foreach_lerp_(self._average, self._weights, share)
            total += value.item() * len(batch.kinds)
            words += len(batch.kinds)
        if not math.isfinite(total) or not all(
            bool((weight.detach().abs() <= LARGEST_WEIGHT).all()) for weight in self._weights
        ):
            raise InputError(f"--rate {self._rate:g}: the training diverges; give a lower one")
        return total / words


def run_passes(
    trainer: Trainer,
    mixture: Mixture,
    passes: int,
    own_trees: bool,
    dev: Mapping[str, Sequence[Sentence]],
    random: Random,
    progress: Callable[[str], None] = print,
) -> list[dict[str, Any]]:
    """Do all passes and return each pass's number, CPU seconds, loss, and scores on the development files.

    Args:
        trainer, mixture: the trainer of the network, and the source of the sentences.
        passes: number of passes.
        own_trees: whether the network parses the tagged sentences after half of the passes and every fourth pass later.
        dev: the development sentences of each file, by the file's name.
        random: the random generator for order, samples and variation.
        progress: is called with a line of text after each pass.
    """
    curve = []
    began = time.process_time()
    for number in range(1, passes + 1):
        after_half = number - passes // 2
        if own_trees and (after_half == 1 or (after_half > 1 and number % 4 == 0)):
            mixture.parse(trainer.average)
        mean_loss = trainer.run(mixture.draw(random), random)
        scores = {name: compare(gold, trainer.average.parse(gold)).row() for name, gold in dev.items()}
        seconds = round(time.process_time() - began)
        curve.append({"pass": number, "cpu_seconds": seconds, "loss": round(mean_loss, 3), **scores})
        progress(json.dumps(curve[-1]))
    return curve


def loss(scores: Sequence[Tensor], batch: Batch, sequence_weight: float) -> Tensor:
    """Return the loss per word.

    Args:
        scores: the scores of tags and of each of the parser's heads, `[words, outputs]` each.
        batch: the gold labels.
        sequence_weight: the weight of the joint sequence loss of the two depth heads; the weight of their separate
            losses is `1 - sequence_weight`.
    """
    weights = (1.0, 1 - sequence_weight, 1 - sequence_weight, 1.0, 1.0)
    total = scores[0].new_zeros(())
    for output, target, weight in zip(scores, batch.targets, weights, strict=True):
        if weight:
            total = total + weight * cross_entropy(output, target, ignore_index=IGNORED, reduction="sum")
    if sequence_weight:
        total = total + sequence_weight * depth_sequence_loss(scores[1], scores[2], batch)
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


def _parts(tensor: Tensor, sizes: list[int]) -> tuple[Tensor, ...]:
    parts: tuple[Tensor, ...] = tensor.split(sizes)  # type: ignore[no-untyped-call]
    return parts
