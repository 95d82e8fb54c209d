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

from jobs.stage.command_line import main
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
    from jobs.steps.export import export
    from ops.errors import InputError, counted
    from ops.export.licences import parse_terms
    from ops.export.push import check_access, check_name, push

    if config.private and not config.push:
        raise InputError("--private: is about --push; give that too, or leave it out")
    given = parse_terms(config.source_license)
    if config.push:
        check_name(config.push)
        check_access(config.push)
    tables = export(config.out, config.to, config.license, given)
    print(f"{config.to}: {counted(tables, 'table')}; its README.md has a query for each")
    if config.push:
        print(f"{push(config.to, config.push, config.private)}: uploaded")


if __name__ == "__main__":
    sys.exit(main(ExportConfig, "export", str(__doc__).splitlines()[0], run))
