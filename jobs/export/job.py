"""Export a finished run as a Hugging Face dataset, or for Neuronpedia or delphi.

    atlas export --out runs/small --to exports/small
    atlas export --out runs/mine --to exports/mine --license cc-by-4.0 --source-license reviews=CC-BY-4.0
    atlas export --out runs/mine --to exports/mine --push ORG/NAME --private
    atlas export --out runs/small --to exports/neuronpedia --format neuronpedia
    atlas export --out runs/small --to exports/delphi --format delphi --units 3:17 --units 3:18

A dataset folder holds every complete table as Parquet, with a config for each table in the YAML of the card. The card
says what was run, who owns the sentences, and how to query each table. The other formats hold the winners that
jobs.tokens read token by token (docs/interop.md). `export.json` lists the files with their sizes. An export is written
to a temporary folder next to --to, whose place it takes when it is complete. Paths of this machine are not exported.
Does not start Ray.
"""

from typing import Literal

from jobs.options.configs import MOST_UNITS, JobConfig, Texts, option
from jobs.stage.main import Job


class ExportConfig(JobConfig):
    """Options of `export`."""

    heading = (10, "Export")
    required = ("out", "to")

    to: str = option("", "Folder to write, on this machine: new, empty, or an earlier export of the same run")
    format: Literal["hub", "neuronpedia", "delphi"] = option(
        "hub", "Write a dataset folder for the hub, files for a Neuronpedia import, or a delphi cache"
    )
    license: str = option("", "Licence of the whole export, as the hub names it, such as cc-by-4.0")
    source_license: Texts = option((), "Licence of a data set's sentences, NAME=LICENCE; repeatable")
    push: str = option("", "Upload the folder to the hub under this name, ORG/NAME")
    private: bool = option(False, "Make the dataset on the hub private")
    units: Texts = option(
        (), f"Export only this neuron, LAYER:UNIT; repeatable; required beyond {MOST_UNITS:,} (not for hub)"
    )
    name: str = option("atlas", "Prefix of the release's and sources' names (neuronpedia)")
    model_id: str = option("", "Id of the model in Neuronpedia, such as gpt2-small (default: the model's name)")
    creator_id: str = option(
        "clkht01d40000jv08hvalcvly",
        "Id of the user who owns the rows in Neuronpedia (default: the user it is set up with)",
    )
    context: int = option(32, "Tokens per row; a longer sentence continues in the next row (delphi)", ge=1, le=65_536)


JOB = Job("export", ExportConfig, "jobs.export.write:export", __doc__)
