"""The finished tables of a small made-up run, as exports in other formats read them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ops.export.description import UnitsDescription
from ops.export.neuronpedia import Neuronpedia
from ops.export.winners import WinnersReader
from ops.model.load import read_facts
from ops.model.tokenizer import Tokenizer
from ops.schema import schema
from ops.storage.open_tables import OpenTables
from ops.storage.store import Store
from ops.storage.tables import write_part
from ops.topk.neurons import Neurons
from tests.unit.export.test_card import provenance

TEXTS = (
    "The old cat sat.",
    "A  man!",
    "It rained and rained, and the old man sat in the house by the sea for a long, long time.",
    "Nobody wins with this one.",
    "Über-rain: the naïve cat “rained”.",
    "Is it so?",
    "A house stands by the sea, and nobody is in it.",
)
WIDTHS = {1: 5, 3: 300}  # a layer with a single batch of units, and one with two
WINS = {1: (0, 3, 4), 3: (0, 7, 255, 256, 299)}  # units with winners, by layer
LOSER = 3  # the sentence that wins nowhere
PER_SET = 3  # winners of a unit and pole
NEGATIVE_UNITS = {1: (3,), 3: (7, 256)}  # units with hard negatives, by layer
NEGATIVES = (LOSER, 0)  # these, by rank; some of the units' winners too are 0, as no reader asks
PROVENANCE = provenance(["neurons", "explanations", "outputs/tokens", "compare/neighbours"])
PROVENANCE["stages"] |= {"tokens": PROVENANCE["stages"]["topk"], "compare/neighbours": {"identity": {"nearest": 2}}}
README = UnitsDescription(form="neuronpedia", provenance=PROVENANCE, terms=[], licence="", exported=305, of=305, top=20)
LOGITS = [  # of layer 3, unit 7
    {"side": "promoted", "rank": 1, "token": "Ġrain", "logit": 2.0},
    {"side": "promoted", "rank": 2, "token": "##ing", "logit": 0.5},
    {"side": "suppressed", "rank": 1, "token": "▁sea", "logit": -1.25},
]
NEIGHBOURS = [(1, 0, 0.9), (3, 5, 0.75), (1, 1, 0.7), (3, 8, None), (3, 6, 0.5), (3, 9, 0.25)]  # of the same unit
Row = dict[str, Any]


@dataclass(frozen=True)
class SmallTables:
    """A run's folder, the contents of its tables, and its tokenizer."""

    store: Store
    rows: list[Row]  # of token_activations/
    negatives: list[Row]  # of negative_tokens/
    explanations: list[Row]
    tokenizer: Tokenizer
    model: Path

    def reader(
        self, added: bool = True, first: bool = True, units: Sequence[str] = (), negatives: bool = False
    ) -> WinnersReader:
        neurons = Neurons.of_layers(WIDTHS)
        return WinnersReader(OpenTables(self.store), neurons, neurons.named(units), added, first, negatives)

    def neuronpedia(self, without: str = "", tokens: int = 0, **reader: Any) -> Neuronpedia:
        tables = PROVENANCE["tables"].keys() - {without}
        about = replace(README, provenance=PROVENANCE | {"tables": dict.fromkeys(tables)})
        made = Neuronpedia(self.reader(**reader), about, identifier="my-model", name="atlas", creator="c0")
        made.tokens = tokens
        return made


def make_tables(folder: Path, make_model: Callable[..., Path], small_bert: Any) -> SmallTables:
    """Write the tables: each unit of `WINS` has winners at both poles, their activations drawn at random."""
    store, model = Store(str(folder)), make_model(small_bert)
    tokenizer, rng = Tokenizer(read_facts(str(model))), np.random.default_rng(3)
    placed = tokenizer.encode_with_spans(list(TEXTS))
    rows, explanations, neurons = list[Row](), list[Row](), list[Row]()

    def read(sentence: int) -> Row:
        own = placed[sentence]
        starts, ends = ([span[side] if span else None for span in own.spans] for side in (0, 1))
        activations = rng.normal(size=len(own.spans)).astype(np.float32).tolist()
        tokens = {"tokens": own.strings, "starts": starts, "ends": ends, "activations": activations}
        return {"sent_id": sentence, **tokens}

    for layer, width in WIDTHS.items():
        neurons += [{"layer": layer, "unit": unit, "tokens_active": 7 * unit} for unit in range(width)]
        for unit in WINS[layer]:
            for pole in ("bottom", "top"):
                named = {"layer": layer, "unit": unit, "pole": pole}
                winning = rng.permutation([i for i in range(len(TEXTS)) if i != LOSER])[:PER_SET]
                for rank, sentence in enumerate(winning.tolist(), 1):
                    rows.append({**named, "rank": rank, **read(sentence)})
                verdict = ("rule", "none", "source")[unit % 3]
                measured = {"f1": 0.5, "f1_low": 0.25, "f1_high": 0.75} if unit % 2 else {}
                said = f"Sentences that {layer}:{unit} {pole} likes."
                own = {"text": said, "verdict": verdict, "n": 18, "chance_f1": 0.01, "folds": 5, "literals": 1}
                explanations.append({**named, **own, **measured})
    corpus = [{"sent_id": i, "text": text, "n_tokens": len(placed[i].strings)} for i, text in enumerate(TEXTS)]
    sentences = [{"sent_id": i, "text": text} for i, text in enumerate(TEXTS)]
    negatives = [
        {"layer": layer, "unit": unit, "pole": pole, "rank": rank, **read(sentence)}
        for layer, units in NEGATIVE_UNITS.items()
        for unit in units
        for pole in ("bottom", "top")
        for rank, sentence in enumerate(NEGATIVES, 1)
    ]
    _write(store, "negative_tokens", negatives)
    # The rows of a table are spread over several files, as in a large run.
    _write(store, "token_activations", rows[:20], rows[20:])
    _write(store, "explanations", explanations)
    _write(store, "neurons", neurons)
    seven = {"layer": 3, "unit": 7}
    _write(store, "outputs/tokens", [{**seven, "token_id": 0, **row} for row in LOGITS])
    near = [{"layer_b": layer, "unit_b": unit, "correlation": r} for layer, unit, r in NEIGHBOURS]
    _write(store, "compare/neighbours", [{**seven, "rank": rank, **row} for rank, row in enumerate(near, 1)])
    _write(store, "corpus", corpus)
    _write(store, "sentences", sentences[:2], sentences[2:])
    return SmallTables(store, rows, negatives, explanations, tokenizer, model)


def _write(store: Store, table: str, *parts: list[Row]) -> None:
    kept = set().union(*(row for part in parts for row in part))
    columns = pa.schema([field for field in schema(table) if field.name in kept])
    for part, rows in enumerate(parts):
        write_part(store, table, part, columns, [pa.Table.from_pylist(rows, columns)], "f")
