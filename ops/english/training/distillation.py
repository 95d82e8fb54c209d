"""Distillation: a narrower network made from a trained network, and the loss for learning from its scores."""

from collections.abc import Sequence
from pathlib import Path

import spacy
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from ops.english.training.batches import Batch
from ops.english.training.model import Architecture, JointNetwork, disassemble
from ops.errors import InputError

RIDGE = 1e-4
WAYS = ("", "_reverse")
WEIGHTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


def load_teacher(folder: Path, sizes: Architecture) -> JointNetwork:
    """Return the network of the pipeline in a folder, from which a network of these sizes will be made.

    Raises:
        InputError: there is no pipeline, or a network of these sizes cannot be made from it.
    """
    if not (folder / "config.cfg").is_file():
        raise InputError(f"--teacher {folder}: holds no spaCy pipeline (no config.cfg); name another folder")
    network = disassemble(spacy.load(folder))
    reader = network.reader
    for name in ("width", "layers", "windows"):
        found, wanted = getattr(reader, name), getattr(sizes, name)
        if found != wanted:
            raise InputError(f"--teacher {folder}: its {name} is {found}, expected {wanted} as --{name} has it")
    if reader.hidden < sizes.hidden:
        raise InputError(
            f"--teacher {folder}: its hidden size is {reader.hidden}, expected {sizes.hidden} or more; lower --hidden"
        )
    return network


def soft_loss(scores: Sequence[Tensor], taught: Sequence[Tensor]) -> Tensor:
    """Return the cross-entropy per word with a teacher's predictions, summed over the heads.

    Args:
        scores, taught: the network's and the teacher's scores of tags and of each of the parser's heads.
    """
    parts = [cross_entropy(own, other.softmax(-1)) for own, other in zip(scores, taught, strict=True)]
    return torch.stack(parts).sum()


@torch.no_grad()
def narrowed(teacher: JointNetwork, sizes: Architecture, batches: Sequence[Batch]) -> JointNetwork:
    """Return a network with the teacher's words and CNN and the most important units of its BiLSTM.

    A unit's importance is the variance of its output times the sum of the squared weights on it, divided by the total
    over all units, and summed over all layers that read the unit. The weights on the remaining units are fitted by
    least squares, so that these layers get nearly the same input as from all units.

    Args:
        teacher: a network of the same width, windows and layers.
        sizes: the sizes of the new network; its `hidden` is at most the teacher's.
        batches: the sentences on which the outputs of units are measured.
    """
    old = teacher.reader
    student = JointNetwork(old.inventory, teacher.labels, sizes).eval()
    outputs = _outputs(teacher, batches)
    below = torch.stack(outputs).cumsum(0).unbind()  # the input of the layer above each layer
    readings = [(below[-1], torch.cat([teacher.tagger.weight, teacher.parser.weight]))]
    for layer, lstm in enumerate(old.lstms):
        readings.append((outputs[layer], torch.cat([lstm.get_parameter(f"weight_hh_l0{way}") for way in WAYS], 1)))
        if layer:
            inputs = torch.cat([lstm.get_parameter(f"weight_ih_l0{way}") for way in WAYS])
            readings.append((below[layer - 1], inputs))
    carried = torch.zeros(2 * old.hidden)
    for values, weights in readings:
        share = values.var(0) * weights.square().sum(0)
        carried += share / share.sum()
    ways = [half.topk(sizes.hidden).indices.sort().values for half in carried.split(old.hidden)]
    kept = torch.cat([ways[0], old.hidden + ways[1]])

    student.reader.words.load_state_dict(old.words.state_dict())
    student.reader.convolutions.load_state_dict(old.convolutions.state_dict())
    for layer, (lstm, narrow) in enumerate(zip(old.lstms, student.reader.lstms, strict=True)):
        halves = outputs[layer].split(old.hidden, 1)
        for way, units, values in zip(WAYS, ways, halves, strict=True):
            gates = torch.cat([units + gate * old.hidden for gate in range(4)])
            taken = {name: lstm.get_parameter(f"{name}_l0{way}")[gates] for name in WEIGHTS}
            taken["weight_hh"] = _fitted(taken["weight_hh"], values, units)
            if layer:
                taken["weight_ih"] = _fitted(taken["weight_ih"], below[layer - 1], kept)
            for name, weights in taken.items():
                narrow.get_parameter(f"{name}_l0{way}").copy_(weights)
    for mine, theirs in ((student.tagger, teacher.tagger), (student.parser, teacher.parser)):
        mine.weight.copy_(_fitted(theirs.weight, below[-1], kept))
        mine.bias.copy_(theirs.bias)
    return student


def _outputs(network: JointNetwork, batches: Sequence[Batch]) -> list[Tensor]:
    """Return the output of each layer of the BiLSTM for each word of the batches, `[words, 2 * hidden]` each."""
    outputs: list[list[Tensor]] = [[] for _ in network.reader.lstms]
    hooks = [
        lstm.register_forward_hook(lambda _, inputs, output, layer=layer: layer.append(output[0].data))
        for lstm, layer in zip(network.reader.lstms, outputs, strict=True)
    ]
    for batch in batches:
        network.eval()(batch)
    for hook in hooks:
        hook.remove()
    return [torch.cat(layer) for layer in outputs]


def _fitted(weights: Tensor, values: Tensor, kept: Tensor) -> Tensor:
    """Return weights on the kept columns whose product best approximates that of all columns, `[outputs, kept]`."""
    x = values[:, kept].double()
    gram = x.T @ x
    gram += RIDGE * gram.diagonal().mean() * torch.eye(len(kept))
    fitted: Tensor = torch.linalg.solve(gram, x.T @ (values.double() @ weights.double().T)).T.float()
    return fitted
