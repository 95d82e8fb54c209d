"""Writes an export's folder, uploads it if requested, and prints where it is."""

import re
import sys
from collections.abc import Collection
from typing import Any

from tqdm import tqdm

from jobs.export.job import ExportConfig
from jobs.run_folder.run import Run
from jobs.run_folder.stages import STAGES
from jobs.stage.checks import recorded_model
from jobs.stage.units import check_units
from ops.errors import InputError, counted, one_line
from ops.export.card import write_card
from ops.export.delphi import Delphi
from ops.export.description import Description, UnitsDescription, provenance_of
from ops.export.folder import Export, check_earlier, check_folder, copies, write_export
from ops.export.licences import parse_terms, source_terms
from ops.export.neuronpedia import Neuronpedia, model_identifier
from ops.export.places import hub_name, places_of
from ops.export.push import check_access, push
from ops.export.winners import WinnersReader
from ops.model.tokenizer import Tokenizer
from ops.storage.open_tables import OpenTables
from ops.topk.neurons import read_neurons
from ops.topk.unit_names import unit_names

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
_LABEL = r"[A-Za-z0-9_-]{1,100}", "expected up to 100 letters, digits, - and _, such as gpt2-small"
# The form of a value, and what is said of any other; `..` and `--` would not be names on the hub.
_FORMS = {
    "push": (
        r"(?!.*(?:\.\.|--))[\w.-]{1,96}/[\w.-]{1,96}",
        "expected ORG/NAME, in letters, digits, -, _ and .",
    ),
    "license": (r"[a-z0-9][a-z0-9.+-]{0,40}", "is not a licence name of the hub, such as cc-by-4.0"),
    **dict.fromkeys(("name", "model_id", "creator_id"), _LABEL),
}
READ = ("ingest", "topk", "annotate", "tokens")
# The stages that each format reads if they are complete.
ALSO = {"neuronpedia": ("explain", "outputs", "compare/neighbours"), "delphi": ()}


def export(config: ExportConfig) -> None:
    """Write the folder, upload it if requested, and print where it is."""
    check_options(config)
    given = parse_terms(config.source_license)
    if config.push:
        check_access(config.push)
    run = Run(config.out, create=False)
    run.require("topk")
    terms = source_terms(run.require("ingest")["counts"]["sources"], given)
    folder, flag = check_folder(config.to, run.store), f"--to {config.to}"
    wanted = (dataset_folder if config.format == HUB else written)(config, run, terms)
    check_earlier(folder, flag, wanted)
    with tqdm(total=len(wanted.files), unit="file", desc="export", file=sys.stderr) as bar:
        edited = write_export(folder, flag, wanted, bar.update)
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
    """Refuse options that cannot be combined."""
    for name, formats in _OPTIONS_OF.items():
        if config.format not in formats and getattr(config, name) != ExportConfig.model_fields[name].default:
            flag = name.replace("_", "-")
            raise InputError(f"--{flag}: is an option of --format {' and '.join(formats)}; leave it out")
    for name in _FORMS:
        value = getattr(config, name)
        if value != ExportConfig.model_fields[name].default:
            _check_form(name, value)
    if config.private and not config.push:
        raise InputError("--private: requires --push; give that too, or leave it out")


def _check_form(name: str, value: str) -> None:
    form, expected = _FORMS[name]
    if not re.fullmatch(form, value, re.ASCII):
        shown = one_line(value, 60) if value else '""'
        raise InputError(f"--{name.replace('_', '-')} {shown}: {expected}")


def dataset_folder(config: ExportConfig, run: Run, terms: list[dict[str, str]]) -> Export:
    """Return what a dataset folder holds, with the terms of its sources; nothing is written yet."""
    provenance = checked_provenance(run, STAGES.keys() - {"report"})
    files = [file for table in provenance["tables"] for file in run.record["tables"][table]]
    size = sum(file["bytes"] for file in files)
    card = write_card(Description(provenance=provenance, terms=terms, licence=config.license))
    return Export(config.format, provenance, copies(run.store, files), card, size)


def checked_provenance(run: Run, stages: Collection[str]) -> dict[str, Any]:
    """Return the description of the complete ones among these stages, whose tables are as they were written."""
    done = [name for name in STAGES if name in stages and run.complete(name)]
    run.check_files(*done)
    return provenance_of(run.record, done, [table for name in done for table in STAGES[name].tables])


def written(config: ExportConfig, run: Run, terms: list[dict[str, str]]) -> Export:
    """Return what an export for another program holds, from the tables of `tokens`; nothing is written yet.

    Raises:
        InputError: tables are missing, units do not exist or have no winners, or the tokenizer is missing.
    """
    for name in READ:
        run.require(name)
    provenance = checked_provenance(run, (*READ, *ALSO[config.format]))
    neurons = read_neurons(run.store)
    check_units(config.units, neurons, "exported")
    topk = run.require("topk")
    chosen = neurons.named(config.units)
    reader = WinnersReader(
        OpenTables(run.store),
        neurons,
        chosen,
        added_count=topk["identity"]["special_tokens"] == "include",
        first_counts=not topk["counts"].get("leaves_first", False),
        has_negatives="negative_tokens" in provenance["tables"],
    )
    if not any(side.n_winners.any() for side in reader.sides):
        many = unit_names(topk).many
        raise InputError(f"--out {config.out}: none of these {many} has a winner; give others with --units")
    about = UnitsDescription(
        form=config.format, provenance=provenance, terms=terms, licence=config.license, exported=len(chosen),
        of=len(neurons), top=run.require("tokens")["identity"]["top"],
    )  # fmt: skip
    made = (neuronpedia if config.format == "neuronpedia" else delphi)(config, run, reader, about)
    card = about.card([(made.folder(side), side) for side in reader.sides])
    return Export(config.format, provenance, made.writers(), card)


def neuronpedia(config: ExportConfig, run: Run, reader: WinnersReader, about: UnitsDescription) -> Neuronpedia:
    """Return the files for Neuronpedia."""
    identifier = config.model_id or model_identifier(run.record["model"]["name"])
    _check_form("model_id", identifier)
    return Neuronpedia(reader, about, identifier=identifier, name=config.name, creator=config.creator_id)


def delphi(config: ExportConfig, run: Run, reader: WinnersReader, about: UnitsDescription) -> Delphi:
    """Return the files of a delphi cache."""
    topk = run.require("topk")
    facts = recorded_model(topk)
    tokenizer = Tokenizer(facts)
    if tokenizer.fingerprint != run.require("ingest")["identity"]["tokenizer"]:
        raise InputError(f"--model {facts.name}: its tokenizer has changed since this run was made; restore it")
    described = {
        "dataset_repo": about.datasets, "dataset_split": "", "dataset_name": "", "dataset_column": "text",
        "batch_size": 1, "model_name": hub_name(run.record["model"]),
    }  # fmt: skip
    return Delphi(
        reader=reader, tokenizer=tokenizer, place=places_of(topk, reader.neurons.layers), context=config.context,
        config=described, out=config.out,
    )  # fmt: skip
