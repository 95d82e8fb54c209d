"""The README.md of an export for another program: its content, what it leaves out, and who owns the texts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ops.errors import counted
from ops.export.card import origin, owners, plain
from ops.export.winners import Side
from ops.model.names import model_title
from ops.topk.unit_names import unit_names

Row = dict[str, Any]

PROGRAMS = {"neuronpedia": "Neuronpedia", "delphi": "delphi"}
_OWN = {
    "neuronpedia": (
        "A bottom pole is a source of its own, whose name ends in `-bottom`. Its activations are times -1, so that its "
        "strongest tokens are its highest.",
        "Tokens that do not count for the pooled activation have the value 0.",
        "`frac_nonzero` is the share of tokens at which a sparse feature is active; for other units it was not "
        "measured and is 0. Histograms and vectors are empty.",
        "Logits, if `jobs.outputs` ran, are changes for one standard deviation of the activation, by the model's own "
        "head without the layers in between. Correlated units, if `jobs.compare` ran, are of the same layer; the "
        "correlation is over pooled sentences.",
        "Activations with the data source `hard negative`, below the others, are of sentences that look like a unit's "
        "strongest ones and do not activate it.",
        "Explanations were made by counting, not by a language model; `notes` has their scores. Units for which no "
        "rule was found have none.",
    ),
    "delphi": (
        "A bottom pole is a module of its own, whose name ends in `.bottom`. Its activations are times -1, so that its "
        "strongest tokens are its highest.",
        "Activations of at most 0.00001 are not stored, nor those at tokens that do not count for the pooled "
        "activation.",
        "A unit was read in its own winners alone. In the rows of other units' winners it may be active, too, and is "
        "not known there: examples that delphi draws as non-activating are not certain to be.",
        "The rows also hold sentences that look like a unit's strongest ones and do not activate it (hard negatives). "
        "They have no activations for that unit, so that delphi can draw them as non-activating.",
        "Frequencies that delphi computes are those within these rows, not those of the corpus.",
        "There are at most so many examples a unit, and delphi's default `min_examples` of 200 would skip all units: "
        "set it lower.",
    ),
}


@dataclass(frozen=True)
class Extent:
    """How much of a run an export contains.

    Attributes:
        units: number of exported units.
        of: number of units of the run.
        top: maximum number of winners of a unit and pole that were read token by token.
    """

    units: int
    of: int
    top: int

    def said(self, one: str, many: str) -> str:
        """Return a description of which units are exported.

        >>> Extent(12, 2304, 20).said("neuron", "neurons"), Extent(1, 1, 20).said("neuron", "neurons")
        ('12 of 2,304 neurons, those named by `--units`', 'all neurons: 1')
        """
        if self.units == self.of:
            return f"all {many}: {self.of:,}"
        return f"{self.units:,} of {self.of:,} {many if self.of != 1 else one}, those named by `--units`"


def title_of(found: Row, terms: list[dict[str, str]]) -> str:
    """Return the title of an export, in one line.

    Args:
        found: the run's `provenance`.
        terms: the terms of each source.
    """
    datasets = ", ".join(dict.fromkeys(t["dataset"] for t in terms))
    return f"{unit_names(found['stages']['topk']).many.capitalize()} of {_model(found)} over {datasets}"


def _model(found: Row) -> str:
    model = found["model"]
    return model_title(model["name"], model["fingerprint"], model.get("seed"))


def notes_of(found: Row, terms: list[dict[str, str]], licence: str, extent: Extent) -> str:
    """Return one line that says who owns the texts and which part of the run is exported.

    Args:
        found, terms: the arguments of `title_of`.
        licence: the licence of the complete export; empty for none.
        extent: how much of the run is exported.
    """
    topk, units = found["stages"]["topk"]["identity"], unit_names(found["stages"]["topk"])
    said = [
        f"{extent.said(units.one, units.many)}".replace("`", ""),
        f"the first {extent.top:,} of the {topk['k']:,} strongest sentences of each {units.one} and pole",
        f"pooled by {topk['pool']} over a sentence",
        *([f"licence of the whole: {licence}"] if licence else []),
        *(f"texts of {t['dataset']}: {t['terms']}" for t in terms),
    ]
    return "; ".join(said)


def write_readme(
    form: str, found: Row, terms: list[dict[str, str]], licence: str, extent: Extent, sides: Sequence[tuple[str, Side]]
) -> str:
    """Return the text of README.md.

    Args:
        form: the name of the format.
        found: the run's `provenance`.
        terms: the terms of each source (`ops.export.licences`).
        licence: the licence of the complete export; empty for none.
        extent: how much of the run is exported.
        sides: the folder of each layer and pole, with its units.
    """
    topk, units = found["stages"]["topk"]["identity"], unit_names(found["stages"]["topk"])
    lines = [
        f"# {plain(title_of(found, terms))}, for {PROGRAMS[form]}",
        "",
        f"What {units.many} of {plain(_model(found))} respond to, found by Neuron Atlas: the first "
        f"{counted(extent.top, 'sentence')} of the {topk['k']:,} that activate each most (top pole) and least (bottom "
        "pole), token by token.",
        *(["", f"Licence of the whole: {plain(licence)}."] if licence else []),
        "",
        "## What it holds",
        "",
        f"Units: {extent.said(units.one, units.many)}.",
        "",
        f"| folder | layer | pole | {units.many} | of | without winners | winners |",
        "|---|---|---|---|---|---|---|",
        *(
            f"| `{folder}` | {side.layer} | {side.pole} | {len(side.units):,} | {side.width:,} | "
            f"{int((side.n_winners == 0).sum()):,} | {int(side.n_winners.sum()):,} |"
            for folder, side in sides
        ),
        "",
        "Layers count from 1 and units from 0. The names of folders count blocks from 0, as the other program does.",
        "",
        "## Limits",
        "",
        f"- Sentences beyond the first {extent.top:,} of a unit and pole were not read token by token; they are not "
        "here.",
        f"- Winners were chosen by an activation that is pooled over the sentence ({topk['pool']}). A single token of "
        "another sentence may be higher.",
        *(f"- {limit}" for limit in _OWN[form]),
        "",
        *origin(found),
        "",
        *owners(terms),
        "",
        "The sentences are in every activation or row of tokens. Explanations and their words follow from them.",
    ]
    return "\n".join(lines) + "\n"
