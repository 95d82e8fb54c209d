"""Export a finished run as a Hugging Face dataset, or for Neuronpedia or delphi.

    python -m jobs.export --out runs/small --to exports/small
    python -m jobs.export --out runs/mine --to exports/mine --license cc-by-4.0 --source-license reviews=CC-BY-4.0
    python -m jobs.export --out runs/mine --to exports/mine --push ORG/NAME --private
    python -m jobs.export --out runs/small --to exports/neuronpedia --format neuronpedia
    python -m jobs.export --out runs/small --to exports/delphi --format delphi --units 3:17 --units 3:18

A dataset folder holds every complete table as Parquet, with a config for each table in the YAML of the card. The card
says what was run, who owns the sentences, and how to query each table. The other formats hold the winners that
jobs.tokens read token by token (docs/interop.md). `export.json` lists the files with their hashes; the export replaces,
removes and uploads only these files. Paths of this machine are not exported. A killed export can be resumed. Does not
start Ray.
"""

import sys
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field

from jobs.stage.command_line import Job
from jobs.stage.options import MOST_UNITS, JobConfig, listed

if TYPE_CHECKING:
    from pathlib import Path

    from ops.export.folder import Contents
    from ops.storage.store import Store

# Options that apply only to some formats.
_OPTIONS_OF = {
    "push": ("hub",),
    "private": ("hub",),
    "units": ("neuronpedia", "delphi"),
    "name": ("neuronpedia",),
    "model_id": ("neuronpedia",),
    "creator_id": ("neuronpedia",),
    "context": ("delphi",),
}


class ExportConfig(JobConfig):
    """Options of `export`."""

    heading: ClassVar[tuple[int, str]] = (10, "Export")
    required: ClassVar[tuple[str, ...]] = ("out", "to")

    to: str = Field(
        "", description="Folder to write, on this machine: new, empty, or an earlier export of the same run"
    )
    format: Literal["hub", "neuronpedia", "delphi"] = Field(
        "hub",
        description="Write a dataset folder for the hub, files for a Neuronpedia import, or a delphi cache",
    )
    license: str = Field("", description="Licence of the whole export, as the hub names it, such as cc-by-4.0")
    source_license: Annotated[tuple[str, ...], BeforeValidator(listed)] = Field(
        (), description="Licence of a data set's sentences, NAME=LICENCE; repeatable"
    )
    push: str = Field("", description="Upload the folder to the hub under this name, ORG/NAME")
    private: bool = Field(False, description="Make the dataset on the hub private")
    units: Annotated[tuple[str, ...], BeforeValidator(listed)] = Field(
        (),
        description=f"Export only this neuron, LAYER:UNIT; repeatable; required beyond {MOST_UNITS:,} (not for hub)",
    )
    name: str = Field("atlas", description="Prefix of the release's and sources' names (neuronpedia)")
    model_id: str = Field(
        "", description="Id of the model in Neuronpedia, such as gpt2-small (default: the model's name)"
    )
    creator_id: str = Field(
        "clkht01d40000jv08hvalcvly",
        description="Id of the user who owns the rows in Neuronpedia (default: the user it is set up with)",
    )
    context: int = Field(
        32, ge=1, le=65_536, description="Tokens per row; a longer sentence continues in the next row (delphi)"
    )


def run(config: ExportConfig) -> None:
    """Make the folder, upload it if requested, and print where it is."""
    from tqdm import tqdm

    from ops.errors import counted
    from ops.export.folder import Export, hold_folder
    from ops.export.licences import parse_terms
    from ops.export.push import check_access, check_name, push

    check_options(config)
    given = parse_terms(config.source_license)
    if config.push:
        check_name(config.push)
        check_access(config.push)
    folder, store, wanted = prepare(config, given)
    with hold_folder(folder, config.to) as target:
        export = Export(target, config.to, wanted, complete=bool(config.push))
        # The size of a file is not known before it is written.
        total, unit = (export.files, "file") if wanted.writers else (export.bytes, "B")
        with tqdm(
            total=total, unit=unit, unit_scale=unit == "B", desc="export", file=sys.stderr, disable=not total
        ) as bar:
            export.copy(store, lambda size: bar.update(1 if wanted.writers else size))
        export.finish()
        if export.edited:
            print(f"note: {config.to}/README.md was edited and is kept; remove it to get a new one", file=sys.stderr)
        if wanted.writers:
            print(f"{config.to}: {counted(len(wanted.tables), 'file')}; its README.md says what they hold")
        else:
            print(f"{config.to}: {counted(wanted.n_tables, 'table')}; its README.md has a query for each")
        if config.push:
            print(f"{push(target.root, f'--to {config.to}', config.push, config.private)}: uploaded")


def check_options(config: ExportConfig) -> None:
    """Refuse options that cannot be combined.

    Raises:
        InputError: an option belongs to another format, or --private is given without --push.
    """
    from ops.errors import InputError

    for name, formats in _OPTIONS_OF.items():
        if config.format not in formats and getattr(config, name) != ExportConfig.model_fields[name].default:
            flag = name.replace("_", "-")
            raise InputError(f"--{flag}: is an option of --format {' and '.join(formats)}; leave it out")
    if config.private and not config.push:
        raise InputError("--private: requires --push; give that too, or leave it out")


def prepare(config: ExportConfig, given: dict[str, str]) -> "tuple[Path, Store, Contents]":
    """Return the folder to make, the run's folder, and the contents of the export; nothing is written.

    Args:
        config: the options.
        given: the terms of use of sources, by the name of the data set.

    Raises:
        InputError: tables are missing, or the folder cannot be made.
    """
    from jobs.stage.record import versions
    from jobs.stage.run import Run
    from jobs.stage.stages import STAGES
    from ops.export.card import write_card
    from ops.export.folder import check_folder, contents, provenance
    from ops.export.licences import check_licence, source_terms
    from ops.schema import TOOL

    record = Run(config.out, create=False)
    record.require("topk")
    if config.license:
        check_licence(config.license)
    terms = source_terms(record.require("ingest")["counts"]["sources"], given)
    folder = check_folder(config.to, record.store)
    if config.format != "hub":
        from jobs.export.written import written

        return folder, record.store, written(config, record, terms)
    done = [name for name in STAGES if record.complete(name) and name != "report"]
    record.check_files(*done)
    found = provenance(record.record, done, [table for name in done for table in STAGES[name].tables])
    card = write_card(found, terms, config.license)
    return folder, record.store, contents(found, record.record, card, versions()[TOOL])


JOB = Job("export", ExportConfig, run, __doc__)
