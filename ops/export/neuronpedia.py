"""Writes the folder that a self-hosted Neuronpedia imports: a release, a model, and a source for each layer and pole.

The files and their fields are the same as those of Neuronpedia's `convert-saedashboard-to-neuronpedia-export.py`. Names
and types are those of its database (`apps/webapp/prisma/schema.prisma`, August 2026). Fields for which we have no table
stay empty, as in that script: a histogram of the logits needs those of all tokens, of which outputs/ keeps the ends and
the moments. Identifiers are derived from the run, so that a second import adds nothing twice.
"""

import gzip
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow.dataset as ds

from ops.arrays import Float32s, Int32s
from ops.export.description import UnitsDescription
from ops.export.places import places_of, source_name
from ops.export.winners import NEGATIVES, SIGN, TABLE, Side, WinnersReader
from ops.facts.rows import Row
from ops.facts.text import interval
from ops.model.names import RANDOM, SAMPLE, SAMPLE_NAME, original_name
from ops.outputs.names import PROMOTED, with_spaces

BATCH_UNITS = 256  # number of units in a batch file
OWNER = "Neuron Atlas"
NEGATIVE = "hard negative"  # what Neuronpedia shows as the source of such an activation
_EMPTY = (
    "vector", "topkCosSimIndices", "topkCosSimValues",
    "neuron_alignment_indices", "neuron_alignment_values", "neuron_alignment_l1",
    "correlated_neurons_indices", "correlated_neurons_pearson", "correlated_neurons_l1",
    "correlated_features_indices", "correlated_features_pearson", "correlated_features_l1",
    "neg_str", "neg_values", "pos_str", "pos_values", "freq_hist_data_bar_heights", "freq_hist_data_bar_values",
    "logits_hist_data_bar_heights", "logits_hist_data_bar_values", "decoder_weights_dist",
)  # fmt: skip
_NO_VECTOR = {"hasVector": False, "vectorLabel": None, "vectorDefaultSteerStrength": None, "hookName": None}
_NO_DETAILS: Row = {
    "dfaValues": [], "dfaTargetIndex": None, "dfaMaxValue": None, "lossValues": [], "logitContributions": None,
    "binMin": None, "binMax": None, "binContains": None,
}  # fmt: skip


def model_identifier(name: str) -> str:
    """Return a model's identifier in Neuronpedia: lower-case letters, digits, `-` and `_`.

    >>> model_identifier("Org/My.Model"), model_identifier("random:sample"), model_identifier("sample")
    ('my-model', 'all-minilm-l6-v2-random', 'all-minilm-l6-v2')
    """
    own = original_name(name)
    own = (SAMPLE_NAME if own == SAMPLE else own).rstrip("/").rpartition("/")[2].lower()
    return re.sub(r"[^a-z0-9_-]", "-", own) + ("-random" if name.startswith(RANDOM) else "")


class Neuronpedia:
    """The files of an export, and the functions that write them.

    Args:
        identifier: the model's identifier in Neuronpedia.
        name: the beginning of the names of the release and of the sets of sources.
        creator: the identifier of a user in Neuronpedia's database.
    """

    def __init__(
        self, reader: WinnersReader, about: UnitsDescription, *, identifier: str, name: str, creator: str
    ) -> None:
        self.reader, self.about, self.identifier, self.name, self.creator = reader, about, identifier, name, creator
        tokens, near = (about.provenance["stages"].get(stage) for stage in ("tokens", "compare/neighbours"))
        self._created: str = tokens["finished"]
        self._run = f"{about.topk['fingerprint']}/{tokens['fingerprint']}"
        self._places = places_of(about.topk, reader.neurons.layers)
        # Number of tokens that count in all sentences together; 0 if the units are not sparse features.
        self.tokens = reader.tokens_that_count() if about.units.one == "feature" else 0
        # Number of correlated units of a layer that compare/neighbours/ lists.
        self._nearest: int = near["identity"]["nearest"] if near else 0

    def writers(self) -> dict[str, Callable[[str], None]]:
        """Return the function that writes each file to a local path, by the file's name below the export's folder."""
        found: dict[str, Callable[[str], None]] = {}
        for side in self.reader.sides:
            folder = self.folder(side)
            for name, row in self.metadata(side).items():
                found[f"{folder}/{name}.jsonl"] = partial(write_lines, [row])
            explained = [row["unit"] for row in self._explained(side, side.units)]
            for batch, start in enumerate(range(0, len(side.units), BATCH_UNITS)):
                part = slice(start, start + BATCH_UNITS)
                units = side.units[part]
                file = f"batch-{batch}.jsonl.gz"
                found[f"{folder}/features/{file}"] = partial(self._write, self.features, side, units)
                # The import fails for a file without lines.
                if side.n_winners[part].any():
                    found[f"{folder}/activations/{file}"] = partial(self._write, self.activations, side, units)
                if np.isin(units, explained).any():
                    found[f"{folder}/explanations/{file}"] = partial(self._write, self.explanations, side, units)
        return found

    def folder(self, side: Side) -> str:
        """Return the path, below the export's folder, of the folder for a layer and pole."""
        return f"{self.identifier}/{self._names(side)[0]}"

    def metadata(self, side: Side) -> dict[str, Row]:
        """Return the single line of each of a source's four metadata files, by the file's name without `.jsonl`."""
        about, identifier, model = self.about, self.identifier, self.about.provenance["model"]
        kept = about.topk["identity"]
        of_neurons = f"{about.units.many.capitalize()}, site {kept['site']}, pool {kept['pool']}"
        source, group = self._names(side)
        made = {"creatorId": self.creator, "createdAt": self._created}
        release = f"{self.name}-{identifier}"
        bottom = "; bottom pole, activations times -1" if side.pole == "bottom" else ""
        described = about.units.sources.get(side.layer, of_neurons) + bottom
        return {
            "release": {
                "name": release, "description": about.title, "descriptionShort": about.title, "visibility": "PUBLIC",
                "isNewUi": False, "featured": False, "urls": [], "creatorName": OWNER, "creatorNameShort": OWNER,
                "defaultUmapSourceIds": [], **made,
            },
            "model": {
                "id": identifier, "instruct": False, "displayName": identifier,
                "displayNameShort": identifier,
                "dimension": model["width"], "visibility": "PUBLIC", "inferenceEnabled": False,
                "layers": model["layers"], "neuronsPerLayer": side.width, "owner": "",
                "updatedAt": self._created, **made,
            },
            "sourceset": {
                "modelId": identifier, "name": group, "hasDashboards": True, "allowInferenceSearch": False,
                "visibility": "PUBLIC", "description": described, "type": "",
                "creatorName": OWNER, "urls": [], "releaseName": release, "defaultRange": 1, "defaultShowBreaks": True,
                "showDfa": False, "showCorrelated": False, "showHeadAttribution": False, "showUmap": False, **made,
            },
            "source": {
                "id": source, "modelId": identifier, "setName": group, "hasDashboards": True,
                "inferenceEnabled": False, "visibility": "PUBLIC", "hasUmap": False, "hasUmapLogSparsity": False,
                "hasUmapClusters": False, "num_prompts": about.topk["counts"]["scored"], "dataset": about.datasets,
                "notes": about.notes, **made,
            },
        }  # fmt: skip

    def features(self, side: Side, units: Int32s) -> list[Row]:
        """Return the lines of one batch's units, which are rows of Neuronpedia's table `Neuron`."""
        winners = self.reader.read(side, int(units[0]), int(units[-1]) + 1)
        at, heights, rows = winners.unit[winners.row][winners.counts], winners.heights[winners.counts], list[Row]()
        logits, correlated = self._logits(side, units), self._correlated(side, units)
        known = self._rows("neurons", side, units) if self.tokens else []
        active = {row["unit"]: row["tokens_active"] or 0 for row in known}
        for unit in units.tolist():
            unit_heights = heights[at == unit]
            rows.append(
                {
                    **self._key(side, unit),
                    "sourceSetName": self._names(side)[1],
                    "creatorId": self.creator,
                    "maxActApprox": _number(unit_heights.max()) if len(unit_heights) else 0.0,
                    **_NO_VECTOR,
                    "frac_nonzero": active[unit] / self.tokens if self.tokens else 0.0,
                    **{name: [] for name in _EMPTY},
                    **logits.get(unit, {}),
                    **correlated.get(unit, {}),
                }
            )
        return rows

    def _logits(self, side: Side, units: Int32s) -> dict[int, Row]:
        """Return the fields of each unit's tokens whose logits change most, with the change for one standard deviation.

        The units of a bottom pole are times -1, so what they promote is what the activation suppresses.
        """
        by_unit: dict[int, Row] = {}
        for row in self._rows("outputs/tokens", side, units):
            end = "pos" if (row["side"] == PROMOTED) == (side.pole == "top") else "neg"
            fields = by_unit.setdefault(row["unit"], {"pos_str": [], "pos_values": [], "neg_str": [], "neg_values": []})
            fields[f"{end}_str"].append(with_spaces(row["token"]))
            fields[f"{end}_values"].append(_number(SIGN[side.pole] * row["logit"]))
        return by_unit

    def _correlated(self, side: Side, units: Int32s) -> dict[int, Row]:
        """Return the fields of the units of the same source that correlate most with each unit.

        The table also lists units that share winners. Beyond the `nearest` first ones, it lacks units that correlate
        more than those that it has.
        """
        by_unit: dict[int, Row] = {}
        name = "correlated_features" if self.tokens else "correlated_neurons"
        near = (ds.field("layer_b") == side.layer) & ds.field("correlation").is_valid()
        for row in self._rows("compare/neighbours", side, units, near):
            fields = by_unit.setdefault(row["unit"], {f"{name}_indices": [], f"{name}_pearson": []})
            if len(fields[f"{name}_indices"]) < self._nearest:
                fields[f"{name}_indices"].append(row["unit_b"])
                fields[f"{name}_pearson"].append(_number(row["correlation"]))
        return by_unit

    def activations(self, side: Side, units: Int32s) -> list[Row]:
        """Return the lines of one batch's winners, rows of the table `Activation`, then those of its hard negatives."""
        lines = list[Row]()
        for table in (TABLE, NEGATIVES) if self.reader.has_negatives else (TABLE,):
            for _, rows in groupby(self._activations(side, units, table), itemgetter("index")):
                unit_lines = list(rows)
                heights = [row["maxValue"] for row in unit_lines]
                # As in Neuronpedia's converter, the strongest activations belong to no interval of a quantile. A
                # separate interval lists the hard negatives; its share of all activations is not known.
                ends: Row = {"binMin": -1, "binMax": max(heights), "binContains": -1}
                if table == NEGATIVES:
                    ends = {"binMin": min(heights), "binMax": max(heights), "dataSource": NEGATIVE}
                lines += [row | ends for row in unit_lines]
        return lines

    def _activations(self, side: Side, units: Int32s, table: str) -> list[Row]:
        """Return the lines of one batch's winners or hard negatives, without their intervals."""
        winners = self.reader.read(side, int(units[0]), int(units[-1]) + 1, table)
        texts = self.reader.texts(np.unique(winners.sent_id))
        heights = np.where(winners.counts, winners.heights, np.float32(0))
        strings, rows = winners.tokens.to_pylist(), list[Row]()
        for i, (unit, rank) in enumerate(zip(winners.unit.tolist(), winners.rank.tolist(), strict=True)):
            tokens = slice(winners.offsets[i], winners.offsets[i + 1])
            values = heights[tokens]
            # A token that does not count is shown with the value 0 and is never the highest token.
            peak = int(np.where(winners.counts[tokens], values, -np.inf).argmax())
            spans = zip(winners.starts[tokens].tolist(), winners.ends[tokens].tolist(), strict=True)
            which = rank if table == TABLE else f"{NEGATIVES}/{rank}"
            rows.append(
                {
                    "id": self._identifier(side, unit, which),
                    **self._key(side, unit),
                    "creatorId": self.creator,
                    "tokens": token_texts(texts[int(winners.sent_id[i])], strings[tokens], spans),
                    "maxValue": _number(values[peak]),
                    "maxValueTokenIndex": peak,
                    "minValue": _number(values.min()),
                    "values": _numbers(values),
                    **_NO_DETAILS,
                    "qualifyingTokenIndex": peak,
                    "dataIndex": str(winners.sent_id[i]),
                    "dataSource": None,
                }
            )
        return rows

    def explanations(self, side: Side, units: Int32s) -> list[Row]:
        """Return the lines of one batch's explanations, which are rows of Neuronpedia's table `Explanation`."""
        return [
            {
                "id": self._identifier(side, row["unit"], "explanation"),
                **self._key(side, row["unit"]),
                "authorId": self.creator,
                "description": row["text"],
                "notes": _notes(row),
                "typeName": None,
                "explanationModelName": None,
            }
            for row in self._explained(side, units)
        ]

    def _names(self, side: Side) -> tuple[str, str]:
        return source_name(self.name, self._places[side.layer], side.layer, side.pole)

    def _key(self, side: Side, unit: int) -> Row:
        """Return what the lines of a unit have in common."""
        source, _ = self._names(side)
        return {"modelId": self.identifier, "layer": source, "index": str(unit), "createdAt": self._created}

    def _identifier(self, side: Side, unit: int, which: object) -> str:
        """Return an identifier of 25 letters and digits for a unit's winner or explanation in this run."""
        source, _ = self._names(side)
        return "c" + hashlib.sha256(f"{self._run}/{source}/{unit}/{which}".encode()).hexdigest()[:24]

    def _write(self, lines: Callable[[Side, Int32s], list[Row]], side: Side, units: Int32s, path: str) -> None:
        write_lines(lines(side, units), path, packed=True)

    def _rows(self, table: str, side: Side, units: Int32s, more: ds.Expression | None = None) -> list[Row]:
        """Return the rows of a table for some units of a side's layer that satisfy `more`; none without the table."""
        if table not in self.about.provenance["tables"]:
            return []
        where = (ds.field("layer") == side.layer) & ds.field("unit").isin(units.tolist())
        return self.reader.tables.rows(table, where if more is None else where & more)

    def _explained(self, side: Side, units: Int32s) -> list[Row]:
        """Return the rows of explanations/ for some units of a side for which a rule was found."""
        return self._rows(
            "explanations", side, units, (ds.field("pole") == side.pole) & (ds.field("verdict") != "none")
        )


def token_texts(text: str, tokens: Sequence[str], spans: Iterable[tuple[int, int]]) -> list[str]:
    """Return tokens as readers see them: each with the characters since the previous token, such as a space.

    A token without a position, or for a part of a character, is returned as the vocabulary writes it. `spans` are
    `(start, end)` in characters, -1 for a token that the tokenizer added.

    >>> token_texts("An owl.", ["[CLS]", "an", "owl", "."], [(-1, -1), (0, 2), (3, 6), (6, 7)])
    ['[CLS]', 'An', ' owl', '.']
    """
    texts, before = [], 0
    for token, (_, end) in zip(tokens, spans, strict=True):
        texts.append(text[before:end] if end > before else token)
        before = max(before, end)
    return texts


def write_lines(rows: Sequence[Row], path: str, packed: bool = False) -> None:
    """Write rows as lines of JSON, compressed with gzip if `packed`; the same rows always give the same bytes."""
    data = "".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows).encode("utf-8")
    with open(path, "wb") as file:
        file.write(gzip.compress(data, 6, mtime=0) if packed else data)


def _notes(row: Row) -> str:
    note = f"Neuron Atlas; verdict: {row['verdict']}"
    if row["f1"] is None:
        return note
    between = interval(row["f1_low"], row["f1_high"], ".2f")
    return f"{note}; F1 {row['f1']:.2f}{between} on {row['n']} winners in held-out documents"


def _numbers(values: Float32s) -> list[float]:
    """Return float32 numbers as the shortest decimal numbers that convert back to the same float32."""
    return [float(text) for text in values.astype(np.float32).astype(str)]


def _number(value: Any) -> float:
    return _numbers(np.array([value], np.float32))[0]
