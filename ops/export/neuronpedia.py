"""The folder that a self-hosted Neuronpedia imports: a release, a model, and a source for each layer and pole.

The files and their fields are those that Neuronpedia's `convert-saedashboard-to-neuronpedia-export.py` writes, and the
names and types those of its database (`apps/webapp/prisma/schema.prisma`, August 2026). What no table of ours has stays
empty, as the script leaves it. Identifiers follow from the run, so that a second import adds nothing twice.
"""

import gzip
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow.dataset as ds

from ops.arrays import Float32s, Int32s
from ops.errors import InputError
from ops.export.places import source_name
from ops.export.winners import NEGATIVES, TABLE, Side, WinnersReader
from ops.model.names import RANDOM, SAMPLE, SAMPLE_NAME, original_name

Row = dict[str, Any]

BATCH_UNITS = 256  # units of a batch file
CREATOR = "clkht01d40000jv08hvalcvly"  # the user that a new database of Neuronpedia begins with
OWNER = "Neuron Atlas"
NEGATIVE = "hard negative"  # what Neuronpedia shows as the source of such an activation
_NAME = re.compile(r"[A-Za-z0-9_-]{1,100}")
_EMPTY = (
    "vector",
    "topkCosSimIndices",
    "topkCosSimValues",
    "neuron_alignment_indices",
    "neuron_alignment_values",
    "neuron_alignment_l1",
    "correlated_neurons_indices",
    "correlated_neurons_pearson",
    "correlated_neurons_l1",
    "correlated_features_indices",
    "correlated_features_pearson",
    "correlated_features_l1",
    "neg_str",
    "neg_values",
    "pos_str",
    "pos_values",
    "freq_hist_data_bar_heights",
    "freq_hist_data_bar_values",
    "logits_hist_data_bar_heights",
    "logits_hist_data_bar_values",
    "decoder_weights_dist",
)


@dataclass(frozen=True)
class Labels:
    """What an export is called there.

    Attributes:
        model: the model's identifier.
        name: what the names of its release and of its sets begin with.
        creator: the identifier of a user that the database has.
        created: when the winners were read, as ISO 8601 with a zone.
    """

    model: str
    name: str
    creator: str
    created: str


def model_identifier(name: str) -> str:
    """Return how Neuronpedia would call a model: in lower case, of letters, digits, `-` and `_`.

    >>> model_identifier("Org/My.Model"), model_identifier("random:sample"), model_identifier("sample")
    ('my-model', 'all-minilm-l6-v2-random', 'all-minilm-l6-v2')
    """
    own = original_name(name)
    own = (SAMPLE_NAME if own == SAMPLE else own).rstrip("/").rpartition("/")[2].lower()
    return re.sub(r"[^a-z0-9_-]", "-", own) + ("-random" if name.startswith(RANDOM) else "")


def check_label(flag: str, given: str) -> None:
    """Refuse what can be no identifier in Neuronpedia.

    Raises:
        InputError: it is empty, too long, or has other characters than letters, digits, `-` and `_`.
    """
    if not _NAME.fullmatch(given):
        raise InputError(f"{flag} {given}: expected up to 100 letters, digits, - and _, such as gpt2-small")


@dataclass(frozen=True)
class About:
    """What the metadata files say of a run.

    Attributes:
        model: its `name`, `layers` and `width` as run.json has them.
        place: by layer the site, or the place that its dictionary reads.
        title: of the release, one line.
        what: by layer what the units are, one line.
        notes: whose the texts are, and what is left out; one line.
        datasets: the names of the data sets.
        sentences: scored.
        tokens: that count, in all sentences together; 0 where the units are no sparse features.
    """

    model: Row
    place: dict[int, str]
    title: str
    what: dict[int, str]
    notes: str
    datasets: tuple[str, ...]
    sentences: int
    tokens: int


class Neuronpedia:
    """The files of an export, and what writes each of them.

    Args:
        reader: the winners.
        labels: what the export is called.
        about: what the metadata says.
        explained: whether the run has explanations/.
        run: a text that differs between runs; identifiers are made of it.
    """

    def __init__(self, reader: WinnersReader, labels: Labels, about: About, explained: bool, run: str) -> None:
        self.reader, self.labels, self.about, self.run = reader, labels, about, run
        self._active = self._read_active()
        self._explained = explained

    def writers(self) -> dict[str, Callable[[str], None]]:
        """Return what writes each file at a local path, by the file's name below the export's folder."""
        found: dict[str, Callable[[str], None]] = {}
        for side in self.reader.sides:
            folder = self.folder(side)
            for name, row in self.metadata(side).items():
                found[f"{folder}/{name}.jsonl"] = partial(write_lines, [row])
            explained = self._explained_units(side)
            for batch, start in enumerate(range(0, len(side.units), BATCH_UNITS)):
                part = slice(start, start + BATCH_UNITS)
                units = side.units[part]
                file = f"batch-{batch}.jsonl.gz"
                found[f"{folder}/features/{file}"] = partial(self._write, self.features, side, units)
                # The import fails at a file without lines.
                if side.n_winners[part].any():
                    found[f"{folder}/activations/{file}"] = partial(self._write, self.activations, side, units)
                if np.isin(units, explained).any():
                    found[f"{folder}/explanations/{file}"] = partial(self._write, self.explanations, side, units)
        return found

    def folder(self, side: Side) -> str:
        """Return the folder of a layer and pole below the export's folder."""
        return f"{self.labels.model}/{self._names(side)[0]}"

    def metadata(self, side: Side) -> dict[str, Row]:
        """Return the one line of each of a source's four metadata files, by the file's name without `.jsonl`."""
        labels, about = self.labels, self.about
        source, group = self._names(side)
        made = {"creatorId": labels.creator, "createdAt": labels.created}
        release = f"{labels.name}-{labels.model}"
        bottom = "; bottom pole, activations times -1" if side.pole == "bottom" else ""
        return {
            "release": {
                "name": release, "description": about.title, "descriptionShort": about.title, "visibility": "PUBLIC",
                "isNewUi": False, "featured": False, "urls": [], "creatorName": OWNER, "creatorNameShort": OWNER,
                "defaultUmapSourceIds": [], **made,
            },
            "model": {
                "id": labels.model, "instruct": False, "displayName": labels.model, "displayNameShort": labels.model,
                "dimension": about.model["width"], "visibility": "PUBLIC", "inferenceEnabled": False,
                "layers": about.model["layers"], "neuronsPerLayer": side.width, "owner": "",
                "updatedAt": labels.created, **made,
            },
            "sourceset": {
                "modelId": labels.model, "name": group, "hasDashboards": True, "allowInferenceSearch": False,
                "visibility": "PUBLIC", "description": f"{about.what[side.layer]}{bottom}", "type": "",
                "creatorName": OWNER, "urls": [], "releaseName": release, "defaultRange": 1, "defaultShowBreaks": True,
                "showDfa": False, "showCorrelated": False, "showHeadAttribution": False, "showUmap": False, **made,
            },
            "source": {
                "id": source, "modelId": labels.model, "setName": group, "hasDashboards": True,
                "inferenceEnabled": False, "visibility": "PUBLIC", "hasUmap": False, "hasUmapLogSparsity": False,
                "hasUmapClusters": False, "num_prompts": about.sentences, "dataset": ", ".join(about.datasets),
                "notes": about.notes, **made,
            },
        }  # fmt: skip

    def features(self, side: Side, units: Int32s) -> list[Row]:
        """Return the lines of the units of one batch, rows of its table `Neuron`."""
        source, group = self._names(side)
        winners = self.reader.read(side, int(units[0]), int(units[-1]) + 1)
        at, heights, rows = winners.unit[winners.row][winners.counts], winners.heights[winners.counts], list[Row]()
        for unit in units.tolist():
            own = heights[at == unit]
            active = self._active.get((side.layer, unit), 0)
            rows.append(
                {
                    "modelId": self.labels.model,
                    "layer": source,
                    "index": str(unit),
                    "sourceSetName": group,
                    "creatorId": self.labels.creator,
                    "createdAt": self.labels.created,
                    "maxActApprox": _number(own.max()) if len(own) else 0.0,
                    "hasVector": False,
                    "vectorLabel": None,
                    "vectorDefaultSteerStrength": None,
                    "hookName": None,
                    "frac_nonzero": active / self.about.tokens if self.about.tokens else 0.0,
                    **{name: [] for name in _EMPTY},
                }
            )
        return rows

    def activations(self, side: Side, units: Int32s) -> list[Row]:
        """Return the lines of the winners of one batch, rows of its table `Activation`, then of the hard negatives."""
        winners = self._activations(side, units, TABLE)
        # As its converter marks the strongest activations: no interval of a quantile, but the unit's highest one.
        highest = _highest(winners)
        for row in winners:
            row |= {"binMin": -1, "binMax": highest[row["index"]], "binContains": -1}
        if not self.reader.has_negatives:
            return winners
        # An interval of their own lists them below the winners; which share of all activations it has is not known.
        negatives = self._activations(side, units, NEGATIVES)
        highest, lowest = _highest(negatives), _highest(negatives, -1)
        for row in negatives:
            row |= {"binMin": -lowest[row["index"]], "binMax": highest[row["index"]], "dataSource": NEGATIVE}
        return winners + negatives

    def _activations(self, side: Side, units: Int32s, table: str) -> list[Row]:
        """Return the lines of the winners, or of the hard negatives, of one batch, without their intervals."""
        source, _ = self._names(side)
        winners = self.reader.read(side, int(units[0]), int(units[-1]) + 1, table)
        texts = self.reader.texts(np.unique(winners.sent_id))
        heights = np.where(winners.counts, winners.heights, np.float32(0))
        strings, rows = winners.tokens.to_pylist(), list[Row]()
        for i, (unit, rank) in enumerate(zip(winners.unit.tolist(), winners.rank.tolist(), strict=True)):
            own = slice(winners.offsets[i], winners.offsets[i + 1])
            values = heights[own]
            # A token that does not count is shown, as 0, and is never the highest one.
            peak = int(np.where(winners.counts[own], values, -np.inf).argmax())
            spans = zip(winners.starts[own].tolist(), winners.ends[own].tolist(), strict=True)
            which = rank if table == TABLE else f"{NEGATIVES}/{rank}"
            rows.append(
                {
                    "id": _identifier(self.run, source, unit, which),
                    "tokens": token_texts(texts[int(winners.sent_id[i])], strings[own], spans),
                    "modelId": self.labels.model,
                    "layer": source,
                    "index": str(unit),
                    "maxValue": _number(values[peak]),
                    "maxValueTokenIndex": peak,
                    "minValue": _number(values.min()),
                    "values": _numbers(values),
                    "dfaValues": [],
                    "dfaTargetIndex": None,
                    "dfaMaxValue": None,
                    "creatorId": self.labels.creator,
                    "createdAt": self.labels.created,
                    "lossValues": [],
                    "logitContributions": None,
                    "binMin": None,
                    "binMax": None,
                    "binContains": None,
                    "qualifyingTokenIndex": peak,
                    "dataIndex": str(winners.sent_id[i]),
                    "dataSource": None,
                }
            )
        return rows

    def explanations(self, side: Side, units: Int32s) -> list[Row]:
        """Return the lines of the explanations of one batch's units, rows of its table `Explanation`."""
        source, _ = self._names(side)
        columns = ["unit", "text", "verdict", "f1", "f1_low", "f1_high", "n_test"]
        where = self._of_explanations(side) & ds.field("unit").isin(units.tolist())
        return [
            {
                "id": _identifier(self.run, source, row["unit"], "explanation"),
                "modelId": self.labels.model,
                "layer": source,
                "index": str(row["unit"]),
                "authorId": self.labels.creator,
                "description": row["text"],
                "notes": _notes(row),
                "typeName": None,
                "explanationModelName": None,
                "createdAt": self.labels.created,
            }
            for row in self.reader.tables.rows("explanations", where, columns)
        ]

    def _names(self, side: Side) -> tuple[str, str]:
        return source_name(self.labels.name, self.about.place[side.layer], side.layer, side.pole)

    def _write(self, lines: Callable[[Side, Int32s], list[Row]], side: Side, units: Int32s, path: str) -> None:
        write_lines(lines(side, units), path, packed=True)

    def _read_active(self) -> dict[tuple[int, int], int]:
        """Return at how many tokens each sparse feature is active, by layer and unit; none for other units."""
        if not self.about.tokens:
            return {}
        rows = self.reader.tables.read("neurons", None, ["layer", "unit", "tokens_active"])
        keys = zip(rows["layer"].to_pylist(), rows["unit"].to_pylist(), strict=True)
        return {key: active or 0 for key, active in zip(keys, rows["tokens_active"].to_pylist(), strict=True)}

    def _of_explanations(self, side: Side) -> ds.Expression:
        field = ds.field
        return (field("layer") == side.layer) & (field("pole") == side.pole) & (field("verdict") != "none")

    def _explained_units(self, side: Side) -> Int32s:
        if not self._explained:
            return np.empty(0, np.int32)
        found: Int32s = self.reader.tables.read("explanations", self._of_explanations(side), ["unit"])[
            "unit"
        ].to_numpy()
        return found


def _highest(rows: Sequence[Row], sign: int = 1) -> dict[str, float]:
    """Return by unit the highest of its lines' highest values times `sign`."""
    found = dict[str, float]()
    for row in rows:
        found[row["index"]] = max(sign * row["maxValue"], found.get(row["index"], -np.inf))
    return found


def token_texts(text: str, tokens: Sequence[str], spans: Iterable[tuple[int, int]]) -> list[str]:
    """Return tokens as readers see them: the text up to the end of each, with the space before it.

    One that stands nowhere, or that is a part of a character, is as the vocabulary writes it.

    Args:
        text: the sentence.
        tokens: as the vocabulary writes them.
        spans: where each stands, `(start, end)` in characters; -1 for one that the tokenizer added.

    >>> token_texts("An owl.", ["[CLS]", "an", "owl", "."], [(-1, -1), (0, 2), (3, 6), (6, 7)])
    ['[CLS]', 'An', ' owl', '.']
    """
    found, before = [], 0
    for token, (_, end) in zip(tokens, spans, strict=True):
        found.append(text[before:end] if end > before else token)
        before = max(before, end)
    return found


def write_lines(rows: Sequence[Row], path: str, packed: bool = False) -> None:
    """Write rows as lines of JSON, packed by gzip or not; the same rows give the same bytes."""
    data = "".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows).encode("utf-8")
    with open(path, "wb") as file:
        file.write(gzip.compress(data, 6, mtime=0) if packed else data)


def _notes(row: Row) -> str:
    said = f"Neuron Atlas; verdict: {row['verdict']}"
    if row["f1"] is None:
        return said
    between = f" ({row['f1_low']:.2f} to {row['f1_high']:.2f})" if row["f1_low"] is not None else ""
    return f"{said}; F1 {row['f1']:.2f}{between} on {row['n_test']} winners in held-out documents"


def _identifier(*parts: object) -> str:
    """Return 25 letters and digits that follow from these parts."""
    return "c" + hashlib.sha256("/".join(map(str, parts)).encode()).hexdigest()[:24]


def _numbers(values: Float32s) -> list[float]:
    """Return float32 numbers as the shortest decimals that are read as the same float32."""
    return [float(text) for text in values.astype(np.float32).astype(str)]


def _number(value: Any) -> float:
    return _numbers(np.array([value], np.float32))[0]
