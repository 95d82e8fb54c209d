"""Writes an export's folder, uploads it if requested, and prints where it is."""

import sys

from tqdm import tqdm

from jobs.export.formats import checked_provenance, written
from jobs.export.job import ExportConfig
from jobs.run_folder.run import Run
from jobs.run_folder.stages import STAGES
from ops.errors import InputError, counted
from ops.export.card import write_card
from ops.export.description import Description
from ops.export.folder import Export, check_earlier, check_folder, copies, write_export
from ops.export.licences import check_licence, parse_terms, source_terms
from ops.export.push import check_access, check_name, push

HUB = "hub"
# Options that apply only to some formats.
_OPTIONS_OF = {
    "push": (HUB,),
    "private": (HUB,),
    "units": ("neuronpedia", "delphi"),
    "name": ("neuronpedia",),
    "model_id": ("neuronpedia",),
    "creator_id": ("neuronpedia",),
    "context": ("delphi",),
}


def export(config: ExportConfig) -> None:
    """Write the folder, upload it if requested, and print where it is.

    Raises:
        InputError: options cannot be combined, tables are missing, or the folder cannot be written or uploaded.
    """
    check_options(config)
    given = parse_terms(config.source_license)
    if config.push:
        check_name(config.push)
        check_access(config.push)
    run = Run(config.out, create=False)
    run.require("topk")
    if config.license:
        check_licence(config.license)
    terms = source_terms(run.require("ingest")["counts"]["sources"], given)
    folder, place = check_folder(config.to, run.store), f"--to {config.to}"
    wanted = (dataset_folder if config.format == HUB else written)(config, run, terms)
    check_earlier(folder, place, wanted)
    with tqdm(total=len(wanted.files), unit="file", desc="export", file=sys.stderr) as bar:
        edited = write_export(folder, place, wanted, bar.update)
    if edited:
        print(f"note: {config.to}/README.md was edited and is kept; remove it to get a new one", file=sys.stderr)
    if config.format == HUB:
        tables = counted(len(wanted.provenance["tables"]), "table")
        print(f"{config.to}: {tables}; its README.md has a query for each")
    else:
        print(f"{config.to}: {counted(len(wanted.files), 'file')}; its README.md says what they hold")
    if config.push:
        print(f"{push(str(folder), wanted.names, config.push, config.private)}: uploaded")


def check_options(config: ExportConfig) -> None:
    """Refuse options that cannot be combined.

    Raises:
        InputError: an option belongs to another format, or --private is given without --push.
    """
    for name, formats in _OPTIONS_OF.items():
        if config.format not in formats and getattr(config, name) != ExportConfig.model_fields[name].default:
            flag = name.replace("_", "-")
            raise InputError(f"--{flag}: is an option of --format {' and '.join(formats)}; leave it out")
    if config.private and not config.push:
        raise InputError("--private: requires --push; give that too, or leave it out")


def dataset_folder(config: ExportConfig, run: Run, terms: list[dict[str, str]]) -> Export:
    """Return what a dataset folder holds; nothing is written yet.

    Args:
        config: the options.
        run: the run.
        terms: the owner and terms of use of each source of its corpus.

    Raises:
        InputError: tables are not as they were written.
    """
    provenance = checked_provenance(run, STAGES.keys() - {"report"})
    files = [file for table in provenance["tables"] for file in run.record["tables"][table]]
    size = sum(file["bytes"] for file in files)
    card = write_card(Description(provenance=provenance, terms=terms, licence=config.license))
    return Export(config.format, provenance, copies(run.store, files), card, size)
