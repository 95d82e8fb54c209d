"""What an export says of the run from which it was made, and of whose sentences it holds."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ops.errors import counted, visible
from ops.export.winners import Side
from ops.facts.rows import Row
from ops.model.names import model_title, without_place
from ops.schema import TABLES
from ops.topk.unit_names import UnitNames, unit_names

_MARKDOWN = str.maketrans({mark: f"\\{mark}" for mark in "\\|`*_[]"} | {"<": "&lt;", ">": "&gt;"})


def provenance_of(run: Row, stages: Iterable[str], tables: Iterable[str]) -> Row:
    """Return an export's description of its run: versions, model, stages and tables, without paths of the machine.

    The stages are complete, and the tables theirs; figures and tables that the run does not have are left out.
    """
    kept = ("started", "finished", "seconds", "fingerprint", "identity", "counts")
    files = {name: run["tables"].get(name) for name in tables if name in TABLES or name == "activations"}
    described: Row = {
        **{name: run[name] for name in ("tool", "schema_version", "versions", "model")},
        "stages": {name: {key: run["stages"][name][key] for key in kept} for name in stages},
        "tables": {
            name: {
                "rows": sum(file["rows"] for file in table_files),
                "bytes": sum(file["bytes"] for file in table_files),
                "fingerprint": table_files[0]["fingerprint"],
            }
            for name, table_files in files.items()
            if table_files
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
        return ", ".join(dict.fromkeys(source["dataset"] for source in self.terms))

    @property
    def title(self) -> str:
        """The title, in one line."""
        return f"{self.units.many.capitalize()} of {self.model} over {self.datasets}"

    def render(self, template: str, **more: Any) -> str:
        """Return a card from its template, which has the description as `about`, and these variables."""
        own = {"about": self, "units": self.units, "model": self.provenance["model"], "kept": self.topk["identity"]}
        return _ENVIRONMENT.get_template(template).render(own | more)


@dataclass(frozen=True, kw_only=True)
class UnitsDescription(Description):
    """The description of a run in an export of units for another program.

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
        return f"{self.exported:,} of {self.units.counted(self.of)}, those named by --units"

    @property
    def notes(self) -> str:
        """Whose the texts are and which part of the run is exported, in one line."""
        kept = self.topk["identity"]
        notes = [
            self.extent,
            f"the first {self.top:,} of the {kept['k']:,} strongest sentences of each {self.units.one} and pole",
            f"pooled by {kept['pool']} over a sentence",
            *([f"licence of the whole: {self.licence}"] if self.licence else []),
            *(f"texts of {source['dataset']}: {source['terms']}" for source in self.terms),
        ]
        return "; ".join(notes)

    def card(self, sides: Sequence[tuple[str, Side]]) -> str:
        """Return the text of README.md; `sides` are the folder of each layer and pole, with its units."""
        return self.render("units.md", sides=sides, counted=counted)


def plain(text: str) -> str:
    """Return a text escaped so that a Markdown table shows it unchanged."""
    return visible(text).translate(_MARKDOWN)


_ENVIRONMENT = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)
_ENVIRONMENT.filters["plain"] = plain
