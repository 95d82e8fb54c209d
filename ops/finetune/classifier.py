"""A document classifier: dropout and one linear layer on a transformer's [CLS] state or mean state."""

import json
import shutil
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import nn

from ops.errors import InputError
from ops.model.direction import is_decoder
from ops.model.load import ModelFacts, load_model
from ops.model.locate import tokenizer_place
from ops.model.parts import ENCODER
from ops.model.pooling import Pooler
from ops.model.tokenizer import Tokenizer
from ops.model.transformers_calls import naming, quiet_transformers, refusing
from ops.model.weights import require_finite
from ops.storage.store import Store

WEIGHTS, NAMES = "classifier.safetensors", "classifier.json"


class Classifier(nn.Module):
    """Maps documents to a score for each label.

    Args:
        encoder: a transformer as `AutoModel` loads it.
        width: number of units of the transformer's last layer.
        labels: number of labels.
        dropout: the share of the vector's values that are dropped in training.
        uses_cls: whether to read the first token's last state; otherwise the mean over the tokens is used.
    """

    def __init__(self, encoder: nn.Module, width: int, labels: int, dropout: float, uses_cls: bool) -> None:
        super().__init__()
        self.encoder, self.uses_cls, self.pool = encoder, uses_cls, "cls" if uses_cls else "mean"
        self.dropout, self.linear = nn.Dropout(dropout), nn.Linear(width, labels)

    def forward(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor, labels: torch.Tensor | None = None
    ) -> dict[str, torch.Tensor]:
        """Return `logits`, `[documents, labels]`, and also the mean cross-entropy `loss` if labels are given.

        `labels` is `[documents]` int64.
        """
        states = self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        # `queued` makes torch compute the mean, so that gradients are computed.
        pooler = Pooler(self.pool, attention_mask.bool(), whole=False, queued=True)
        logits = self.linear(self.dropout(pooler(states)))
        if labels is None:
            return {"logits": logits}
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}


def new_classifier(facts: ModelFacts, tokenizer: Tokenizer, labels: int, dropout: float, seed: int) -> Classifier:
    """Return a model with a new classifier of seeded random weights, in float32 on the CPU."""
    if facts.part == ENCODER:
        raise InputError(
            f"--model {facts.name}: is an encoder-decoder ({facts.model_type}), whose encoder cannot be saved alone; "
            "fine-tune an encoder"
        )
    uses_cls = tokenizer.has_cls and not is_decoder(facts)
    torch.manual_seed(seed)  # what the checkpoint lacks, such as an unused pooler, is drawn too
    encoder = load_model(facts, "cpu", "float32")
    torch.manual_seed(seed)
    return Classifier(encoder, facts.width, labels, dropout, uses_cls)


def save_classifier(model: Classifier, facts: ModelFacts, names: list[str], folder: Path) -> None:
    """Save the encoder in a form that `AutoModel` can load, its tokenizer, the classifier and the labels."""
    from transformers import AutoTokenizer

    encoder: Any = model.encoder
    with quiet_transformers():
        encoder.save_pretrained(folder)
        place, options = tokenizer_place(facts.location)
        AutoTokenizer.from_pretrained(place, **options).save_pretrained(folder)
    save_file({"weight": model.linear.weight.data.cpu(), "bias": model.linear.bias.data.cpu()}, folder / WEIGHTS)
    text = json.dumps({"labels": names, "uses_cls": model.uses_cls}, ensure_ascii=False, indent=2)
    (folder / NAMES).write_text(text + "\n", encoding="utf-8")


def commit_classifier(store: Store, table: str, model: Classifier, facts: ModelFacts, labels: list[str]) -> None:
    """Commit a classifier's files, as `save_classifier` saves them, to a folder of a run."""
    with tempfile.TemporaryDirectory(prefix="atlas-") as scratch:
        save_classifier(model, facts, labels, Path(scratch))
        for path in sorted(Path(scratch).iterdir()):
            store.commit(f"{table}/{path.name}", partial(shutil.copyfile, path))


def load_head(facts: ModelFacts) -> tuple[nn.Linear, list[str], str] | None:
    """Return a saved classifier's linear layer, its labels and its pooling; None if a model has none.

    A model with random weights has no classifier: the classifier in its folder was trained with the trained weights.

    Raises:
        InputError: the classifier's files do not match each other or the model, or its weights are not all finite.
    """
    folder = Path(facts.location.path)
    is_saved = (folder / WEIGHTS).is_file() and (folder / NAMES).is_file()
    if facts.location.revision or facts.seed is not None or not is_saved:
        return None
    with naming(facts.name), refusing(f"its {WEIGHTS} cannot be read", "save the model again with atlas finetune"):
        settings = json.loads((folder / NAMES).read_text(encoding="utf-8"))
        linear = nn.Linear(facts.width, len(settings["labels"]))
        linear.load_state_dict(load_file(folder / WEIGHTS))
        require_finite(linear)
    return linear.eval().requires_grad_(False), list(settings["labels"]), "cls" if settings["uses_cls"] else "mean"
