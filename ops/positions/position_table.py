"""The modules of a model that contain its learned position embeddings and that receive the sum of all embeddings."""

from dataclasses import dataclass

import torch
from torch import nn

from ops.errors import InputError, with_article
from ops.model.attention_modules import position_embeddings
from ops.model.direction import is_decoder
from ops.model.load import ModelFacts

_ENCODERS = ("bert", "roberta", "xlm-roberta", "camembert", "electra", "albert", "distilbert")
# For each architecture, the name of the module of the model without a head that receives the sum of all embeddings.
TABLES = {**dict.fromkeys(_ENCODERS, "embeddings.LayerNorm"), "gpt2": "drop"}
DECODERS = ("gpt2",)


@dataclass(frozen=True)
class PositionTable:
    """The position embeddings of a model.

    Attributes:
        table: the table of position embeddings; a row is a position number.
        joined: the module whose first argument is the sum of word, position and segment embeddings.
        first: the position number of the first token (RoBERTa and similar models count from 2).
    """

    table: nn.Embedding
    joined: nn.Module
    first: int

    def norms(self) -> torch.Tensor:
        """Return the Euclidean norms of the position embeddings, from the first token's on, `[positions]` float32."""
        norms: torch.Tensor = torch.linalg.vector_norm(self.table.weight[self.first :].detach().float(), dim=1)
        return norms.cpu()


def check_positions(facts: ModelFacts) -> None:
    """Refuse a model without a table of learned, absolute position embeddings.

    Raises:
        InputError: the model's positions are of another kind, or the place of its position embeddings is not known.
    """
    if facts.model_type not in TABLES:
        raise InputError(
            f"--model {facts.name}: is {with_article(facts.model_type)}, which is not known to add learned position "
            f"embeddings (rotary and relative positions cannot be set to zero); give one of {', '.join(TABLES)}"
        )
    if is_decoder(facts) != (facts.model_type in DECODERS):
        kind = "a decoder" if is_decoder(facts) else "an encoder"
        raise InputError(
            f"--model {facts.name}: is {with_article(facts.model_type)} set up as {kind}, which is not measured; "
            "give an encoder of the BERT family, or a gpt2"
        )


def find_table(model: nn.Module, facts: ModelFacts) -> PositionTable:
    """Return the position embeddings of a model without a head, as `AutoModel` loads it.

    Raises:
        InputError: the architecture is not known, or the model has no such table.
    """
    check_positions(facts)
    kind, embeddings = getattr(model.config, "position_embedding_type", None) or "absolute", position_embeddings(model)
    if kind != "absolute" or embeddings is None:
        raise InputError(
            f"--model {facts.name}: its positions are {kind if kind != 'absolute' else 'no table of embeddings'}; "
            "give a model with learned, absolute position embeddings"
        )
    table, first = embeddings
    return PositionTable(table, model.get_submodule(TABLES[facts.model_type]), first)
