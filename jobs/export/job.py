"""Make a dataset folder of a finished run, to open with `datasets`, or to upload to the Hugging Face hub.

    python -m jobs.export --out runs/small --to exports/small
    python -m jobs.export --out runs/mine --to exports/mine --license cc-by-4.0 --source-license reviews=CC-BY-4.0
    python -m jobs.export --out runs/mine --to exports/mine --push ORG/NAME --private

The folder holds every complete table as Parquet, with a config for each in the YAML of the card. The card says what was
run, whose the sentences are, and how to query each table. `export.json` lists the files with their hashes: export
replaces, removes and uploads no others. Paths of this machine are left out. A killed export is resumed. Starts no Ray.
"""

import sys
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import BeforeValidator, Field

from jobs.stage.command_line import Job
from jobs.stage.options import JobConfig, listed

if TYPE_CHECKING:
    from pathlib import Path

    from ops.export.folder import Contents
    from ops.storage.store import Store


class ExportConfig(JobConfig):
    """Options of `export`."""

    heading: ClassVar[tuple[int, str]] = (10, "What is made, and where it goes")
    required: ClassVar[tuple[str, ...]] = ("out", "to")

    to: str = Field("", description="folder to make, on this machine: new, empty, or an earlier export of the same run")
    license: str = Field("", description="licence of the whole, as the hub names it, such as cc-by-4.0")
    source_license: Annotated[tuple[str, ...], BeforeValidator(listed)] = Field(
        (), description="NAME=LICENCE of a data set's sentences; repeatable"
    )
    push: str = Field("", description="ORG/NAME: upload it to the hub under this name")
    private: bool = Field(False, description="make the dataset on the hub private")


def run(config: ExportConfig) -> None:
    """Make the folder, upload it where that was asked for, and say where it is."""
    from tqdm import tqdm

    from ops.errors import InputError, counted
    from ops.export.folder import Export, hold_folder
    from ops.export.licences import parse_terms
    from ops.export.push import check_access, check_name, push

    if config.private and not config.push:
        raise InputError("--private: is about --push; give that too, or leave it out")
    given = parse_terms(config.source_license)
    if config.push:
        check_name(config.push)
        check_access(config.push)
    folder, store, wanted = prepare(config, given)
    with hold_folder(folder, config.to) as target:
        export = Export(target, config.to, wanted, complete=bool(config.push))
        with tqdm(
            total=export.bytes, unit="B", unit_scale=True, desc="export", file=sys.stderr, disable=not export.bytes
        ) as bar:
            export.copy(store, bar.update)
        export.finish()
        if export.edited:
            print(
                f"note: {config.to}/README.md was edited, and stays as it is; remove it for a new one", file=sys.stderr
            )
        print(f"{config.to}: {counted(wanted.n_tables, 'table')}; its README.md has a query for each")
        if config.push:
            print(f"{push(target.root, f'--to {config.to}', config.push, config.private)}: uploaded")


def prepare(config: ExportConfig, given: dict[str, str]) -> "tuple[Path, Store, Contents]":
    """Return the folder to make, the run's folder, and what is to be in the one from the other; nothing is written.

    Args:
        config: the options.
        given: terms of sources, by the name of the data set.

    Raises:
        InputError: tables are missing, or the folder cannot be made there.
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
    done = [name for name in STAGES if record.complete(name) and name != "report"]
    record.check_files(*done)
    found = provenance(record.record, done, [table for name in done for table in STAGES[name].tables])
    card = write_card(found, terms, config.license)
    return folder, record.store, contents(found, record.record, card, versions()[TOOL])


JOB = Job("export", ExportConfig, run, __doc__)
