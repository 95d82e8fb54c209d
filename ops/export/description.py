"""What an export says of the run from which it was made, and of whose sentences it holds."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast

from ops.errors import visible
from ops.model.names import model_title, without_place
from ops.schema import TABLES
from ops.topk.unit_names import UnitNames, unit_names

Row = dict[str, Any]
_MARKDOWN = str.maketrans({mark: f"\\{mark}" for mark in "\\|`*_[]"} | {"<": "&lt;", ">": "&gt;"})


def provenance_of(run: Row, stages: Iterable[str], tables: Iterable[str]) -> Row:
    """Return an export's description of its run: versions, model, stages and tables, without paths of the machine.

    Args:
        run: the content of run.json.
        stages: the stages to describe, all of them complete.
        tables: the tables of these stages; figures and tables that the run does not have are left out.
    """
    kept = ("started", "finished", "seconds", "fingerprint", "identity", "counts")
    files = {name: run["tables"].get(name) for name in tables if name in TABLES or name == "activations"}
    described: Row = {
        **{name: run[name] for name in ("tool", "schema_version", "versions", "model")},
        "stages": {name: {key: run["stages"][name][key] for key in kept} for name in stages},
        "tables": {
            name: {
                "rows": sum(file["rows"] for file in own),
                "bytes": sum(file["bytes"] for file in own),
                "fingerprint": own[0]["fingerprint"],
            }
            for name, own in files.items()
            if own
        },
    }
    return cast(Row, without_place(described))


@dataclass(frozen=True, kw_only=True)
class Description:
    """The description of a run in its exports.

    Attributes:
        provenance: the run's `provenance_of`.
        terms: the terms of each source (`ops.export.licences`).
        licence: the licence of the complete export, as the hub names it; empty for none.
    """

    provenance: Row
    terms: list[dict[str, str]]
    licence: str

    @property
    def topk(self) -> Row:
        """The entry of `topk` in run.json."""
        topk: Row = self.provenance["stages"]["topk"]
        return topk

    @property
    def units(self) -> UnitNames:
        """The names of the units."""
        return unit_names(self.topk)

    @property
    def model(self) -> str:
        """The model's title, without a path; for random weights this includes the seed."""
        model = self.provenance["model"]
        return model_title(model["name"], model["fingerprint"], model.get("seed"))

    @property
    def datasets(self) -> str:
        """The names of the data sets."""
        return ", ".join(dict.fromkeys(own["dataset"] for own in self.terms))

    @property
    def title(self) -> str:
        """The title, in one line."""
        return f"{self.units.many.capitalize()} of {self.model} over {self.datasets}"

    def origin(self) -> list[str]:
        """Return the lines that say from what the export was made, and whose its sentences are."""
        model, kept = self.provenance["model"], self.topk["identity"]
        random = "drawn at random with seed {}, never trained: a control for a trained model"
        rows = {
            "model": f"{plain(self.model)}, fingerprint `{model['fingerprint']}`",
            **({"weights": random.format(model["seed"])} if "seed" in model else {}),
            **{f"layer {layer}": plain(source) for layer, source in self.units.sources.items()},
            "activation": f"site {kept['site']}, pool {kept['pool']}, special tokens {kept['special_tokens']}, "
            f"{kept['dtype']}",
            "sentences kept": f"{kept['k']:,} of each {self.units.one}, poles: {kept['poles']}",
            **{
                f"stage {name}": f"{entry['finished']}, fingerprint `{entry['fingerprint']}`"
                for name, entry in self.provenance["stages"].items()
            },
        }
        return [
            "## Where it comes from",
            "",
            "| | |",
            "|---|---|",
            *(f"| {name} | {value} |" for name, value in rows.items()),
            "",
            "`provenance.json` has all options, counts and versions. The fingerprint of a stage is in the footer of "
            "each of its files (`atlas.fingerprint`).",
            "",
            "## Whose the sentences are",
            "",
            "| data set | source | terms |",
            "|---|---|---|",
            *(f"| {plain(t['dataset'])} | {plain(t['source'])} | {plain(t['terms'])} |" for t in self.terms),
            "",
        ]


def plain(text: str) -> str:
    """Return a text escaped so that a Markdown table shows it unchanged."""
    return visible(text).translate(_MARKDOWN)
