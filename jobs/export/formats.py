"""What an export in another program's format holds, whose files are written from the tables of `tokens`."""

from collections.abc import Collection
from typing import Any

from jobs.export.job import ExportConfig
from jobs.run_folder.run import Run
from jobs.run_folder.stages import STAGES
from jobs.stage.checks import recorded_model
from jobs.stage.units import check_units
from ops.errors import InputError
from ops.export.delphi import Delphi
from ops.export.description import provenance_of
from ops.export.folder import Export
from ops.export.neuronpedia import Neuronpedia, check_label, model_identifier
from ops.export.places import hub_name, places_of
from ops.export.readme import Readme
from ops.export.winners import WinnersReader
from ops.model.tokenizer import Tokenizer
from ops.storage.open_tables import OpenTables
from ops.topk.neurons import read_neurons
from ops.topk.unit_names import unit_names

READ = ("ingest", "topk", "annotate", "tokens")
# The stages that each format reads if they are complete.
ALSO = {
    "neuronpedia": ("explain", "outputs", "compare/neighbours"),
    "delphi": (),
}


def checked_provenance(run: Run, stages: Collection[str]) -> dict[str, Any]:
    """Return the description of the complete ones among these stages, whose tables are as they were written.

    Raises:
        InputError: a table is not as it was written.
    """
    done = [name for name in STAGES if name in stages and run.complete(name)]
    run.check_files(*done)
    return provenance_of(run.record, done, [table for name in done for table in STAGES[name].tables])


def written(config: ExportConfig, run: Run, terms: list[dict[str, str]]) -> Export:
    """Return what an export holds; nothing is written yet.

    Args:
        config: the options.
        run: the run.
        terms: the owner and terms of use of each source of its corpus.

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
    readme = Readme(
        form=config.format, provenance=provenance, terms=terms, licence=config.license, exported=len(chosen),
        of=len(neurons), top=run.require("tokens")["identity"]["top"],
    )  # fmt: skip
    made = (neuronpedia if config.format == "neuronpedia" else delphi)(config, run, reader, readme)
    card = readme.text([(made.folder(side), side) for side in reader.sides])
    return Export(config.format, provenance, made.writers(), card)


def neuronpedia(config: ExportConfig, run: Run, reader: WinnersReader, readme: Readme) -> Neuronpedia:
    """Return the files for Neuronpedia.

    Raises:
        InputError: an identifier is invalid.
    """
    identifier = config.model_id or model_identifier(run.record["model"]["name"])
    for flag, label in (("--model-id", identifier), ("--name", config.name), ("--creator-id", config.creator_id)):
        check_label(flag, label)
    return Neuronpedia(reader, readme, identifier=identifier, name=config.name, creator=config.creator_id)


def delphi(config: ExportConfig, run: Run, reader: WinnersReader, readme: Readme) -> Delphi:
    """Return the files of a delphi cache.

    Raises:
        InputError: the model or its tokenizer is missing, or the tokenizer has changed.
    """
    topk = run.require("topk")
    facts = recorded_model(topk)
    tokenizer = Tokenizer(facts)
    if tokenizer.fingerprint != run.require("ingest")["identity"]["tokenizer"]:
        raise InputError(f"--model {facts.name}: its tokenizer has changed since this run was made; restore it")
    described = {
        "dataset_repo": readme.datasets, "dataset_split": "", "dataset_name": "", "dataset_column": "text",
        "batch_size": 1, "model_name": hub_name(run.record["model"]),
    }  # fmt: skip
    return Delphi(
        reader=reader, tokenizer=tokenizer, place=places_of(topk, reader.neurons.layers), context=config.context,
        config=described, out=config.out,
    )  # fmt: skip
