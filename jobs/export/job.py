"""Make a dataset folder of a finished run, to open with `datasets`, or to upload to the Hugging Face hub.

    python -m jobs.export --out runs/small --to exports/small
    python -m jobs.export --out runs/mine --to exports/mine --license cc-by-4.0 --source-license reviews=CC-BY-4.0
    python -m jobs.export --out runs/mine --to exports/mine --push ORG/NAME --private

Every complete table as Parquet, a config each in the card's YAML; the card says what was run, whose the sentences are,
and how to query each table. Paths of this machine are left out. A killed export goes on where it was. Starts no Ray.
"""

import sys
from typing import Annotated, ClassVar

from pydantic import BeforeValidator, Field

from jobs.stage.command_line import Job
from jobs.stage.options import JobConfig, listed


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
    from ops.errors import InputError, counted
    from ops.export.licences import parse_terms
    from ops.export.push import check_access, check_name, push

    if config.private and not config.push:
        raise InputError("--private: is about --push; give that too, or leave it out")
    given = parse_terms(config.source_license)
    if config.push:
        check_name(config.push)
        check_access(config.push)
    tables = make(config, given)
    print(f"{config.to}: {counted(tables, 'table')}; its README.md has a query for each")
    if config.push:
        print(f"{push(config.to, config.push, config.private)}: uploaded")


def make(config: ExportConfig, given: dict[str, str]) -> int:
    """Make the folder and return how many tables it has; of one that is there already only the card is written again.

    Args:
        config: the options.
        given: terms of sources, by the name of the data set.

    Raises:
        InputError: tables are missing, the folder holds something else, or there is no room for it.
    """
    from tqdm import tqdm

    from jobs.stage.run import Run
    from jobs.stage.stages import STAGES
    from ops.export.card import write_card
    from ops.export.folder import begin_folder, check_folder, copy_file, finish_folder, provenance
    from ops.export.licences import check_licence, source_terms

    record = Run(config.out, create=False)
    record.require("topk")
    if config.license:
        check_licence(config.license)
    done = [name for name in STAGES if record.complete(name) and name != "report"]
    record.check_files(*done)
    found = provenance(record.record, done, [table for name in done for table in STAGES[name].tables])
    card = write_card(found, source_terms(record.require("ingest")["counts"]["sources"], given), config.license)
    folder = check_folder(config.to, record.store, found)
    if folder.exists():
        (folder / "README.md").write_text(card, encoding="utf-8")
        return len(found["tables"])
    files = {f["name"]: f["bytes"] for table in found["tables"] for f in record.record["tables"][table]}
    total = sum(files.values())
    under_way = begin_folder(folder, found, total)
    with tqdm(total=total, unit="B", unit_scale=True, desc="export", file=sys.stderr) as bar:
        for name, size in files.items():
            copy_file(record.store, name, under_way / name, size)
            bar.update(size)
    finish_folder(under_way, folder, found, card)
    return len(found["tables"])


JOB = Job("export", ExportConfig, run, __doc__)
