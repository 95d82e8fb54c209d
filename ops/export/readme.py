"""The README.md of an export for another program: its content, what it leaves out, and who owns the texts."""

from collections.abc import Sequence
from dataclasses import dataclass

from ops.errors import counted
from ops.export.description import Description, plain
from ops.export.winners import Side

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


@dataclass(frozen=True, kw_only=True)
class Readme(Description):
    """The description of an export of units.

    Attributes:
        form: the name of the format.
        exported: number of exported units.
        of: number of units of the run.
        top: maximum number of winners of a unit and pole that were read token by token.
    """

    form: str
    exported: int
    of: int
    top: int

    @property
    def extent(self) -> str:
        """Which units are exported."""
        if self.exported == self.of:
            return f"all {self.units.many}: {self.of:,}"
        return f"{self.exported:,} of {counted(self.of, self.units.one)}, those named by --units"

    @property
    def notes(self) -> str:
        """Whose the texts are and which part of the run is exported, in one line."""
        kept = self.topk["identity"]
        said = [
            self.extent,
            f"the first {self.top:,} of the {kept['k']:,} strongest sentences of each {self.units.one} and pole",
            f"pooled by {kept['pool']} over a sentence",
            *([f"licence of the whole: {self.licence}"] if self.licence else []),
            *(f"texts of {own['dataset']}: {own['terms']}" for own in self.terms),
        ]
        return "; ".join(said)

    def text(self, sides: Sequence[tuple[str, Side]]) -> str:
        """Return the text of README.md; `sides` are the folder of each layer and pole, with its units."""
        kept, many = self.topk["identity"], self.units.many
        lines = [
            f"# {plain(self.title)}, for {PROGRAMS[self.form]}",
            "",
            f"What {many} of {plain(self.model)} respond to, found by Neuron Atlas: the first "
            f"{counted(self.top, 'sentence')} of the {kept['k']:,} that activate each most (top pole) and least "
            "(bottom pole), token by token.",
            *(["", f"Licence of the whole: {plain(self.licence)}."] if self.licence else []),
            "",
            "## What it holds",
            "",
            f"Units: {self.extent}.",
            "",
            f"| folder | layer | pole | {many} | of | without winners | winners |",
            "|---|---|---|---|---|---|---|",
            *(
                f"| `{folder}` | {side.layer} | {side.pole} | {len(side.units):,} | {side.width:,} | "
                f"{int((side.n_winners == 0).sum()):,} | {int(side.n_winners.sum()):,} |"
                for folder, side in sides
            ),
            "",
            "Layers count from 1 and units from 0. The names of folders count blocks from 0, as the other program "
            "does.",
            "",
            "## Limits",
            "",
            f"- Sentences beyond the first {self.top:,} of a unit and pole were not read token by token; they are not "
            "here.",
            f"- Winners were chosen by an activation that is pooled over the sentence ({kept['pool']}). A single token "
            "of another sentence may be higher.",
            *(f"- {limit}" for limit in _OWN[self.form]),
            "",
            *self.origin(),
            "The sentences are in every activation or row of tokens. Explanations and their words follow from them.",
        ]
        return "\n".join(lines) + "\n"
