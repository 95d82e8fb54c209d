"""What an export in another program's format holds, whose files are written from the tables of `tokens`."""

from typing import Any

from jobs.export.job import ExportConfig
from jobs.stage.checks import recorded_model
from jobs.stage.run import Run
from jobs.stage.stages import STAGES
from jobs.stage.units import check_units
from ops.errors import InputError
from ops.export.card import provenance_of
from ops.export.delphi import Delphi
from ops.export.folder import Export
from ops.export.neuronpedia import About, Labels, Neuronpedia, check_label, model_identifier
from ops.export.places import hub_name, place_of
from ops.export.readme import Extent, notes_of, title_of, write_readme
from ops.export.winners import WinnersReader
from ops.model.tokenizer import Tokenizer
from ops.storage.open_tables import OpenTables
from ops.topk.neurons import read_neurons
from ops.topk.unit_names import unit_names

READ = ("ingest", "topk", "annotate", "tokens")
# The stages that each format reads if they are complete.
ALSO = {
    "neuronpedia": ("explain", "tokens/negatives", "outputs", "compare/neighbours"),
    "delphi": ("tokens/negatives",),
}

Row = dict[str, Any]


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
    done = [*READ, *(name for name in ALSO[config.format] if run.complete(name))]
    run.check_files(*done)
    neurons = read_neurons(run.store)
    check_units(config.units, neurons, "exported")
    provenance = provenance_of(run.record, done, [table for name in done for table in STAGES[name].tables])
    topk = run.require("topk")
    chosen = neurons.named(config.units)
    reader = WinnersReader(OpenTables(run.store), neurons, chosen, *counts(topk), "tokens/negatives" in done)
    if not any(side.n_winners.any() for side in reader.sides):
        many = unit_names(topk).many
        raise InputError(f"--out {config.out}: none of these {many} has a winner; give others with --units")
    extent = Extent(len(chosen), len(neurons), run.require("tokens")["identity"]["top"])
    made: Neuronpedia | Delphi
    if config.format == "neuronpedia":
        made = neuronpedia(config, run, reader, notes_of(provenance, terms, config.license, extent), terms)
    else:
        made = delphi(config, run, reader, terms)
    sides = [(made.folder(side), side) for side in reader.sides]
    card = write_readme(config.format, provenance, terms, config.license, extent, sides)
    return Export(config.format, provenance, made.writers(), card)


def counts(topk: Row) -> tuple[bool, bool]:
    """Return whether special tokens count for the pooled activation, and whether the first token of a sentence does.

    Args:
        topk: the entry of `topk` in run.json. An older entry does not say whether `DictionaryScorer` skipped the first
            token; it did in decoders, and otherwise the first token is one that the tokenizer added.
    """
    added = topk["identity"]["special_tokens"] == "include"
    skipped = not added and "dictionaries" in topk["identity"] and topk["counts"].get("leaves_first", True)
    return added, not skipped


def neuronpedia(
    config: ExportConfig, run: Run, reader: WinnersReader, notes: str, terms: list[dict[str, str]]
) -> Neuronpedia:
    """Return the files for Neuronpedia.

    Raises:
        InputError: an identifier is invalid.
    """
    topk, model = run.require("topk"), run.record["model"]
    identifier = config.model_id or model_identifier(model["name"])
    for flag, label in (("--model-id", identifier), ("--name", config.name), ("--creator-id", config.creator_id)):
        check_label(flag, label)
    names, layers = unit_names(topk), reader.neurons.layers
    of_neurons = f"{names.many.capitalize()}, site {topk['identity']['site']}, pool {topk['identity']['pool']}"
    finished = run.require("tokens")["finished"]
    about = About(
        model,
        {layer: place_of(topk, layer) for layer in layers},
        title_of(run.record, terms),
        {layer: names.sources.get(layer, of_neurons) for layer in layers},
        notes,
        tuple(dict.fromkeys(t["dataset"] for t in terms)),
        topk["counts"]["scored"],
        reader.tokens_that_count() if names.one == "feature" else 0,
    )
    labels = Labels(identifier, config.name, config.creator_id, finished)
    fingerprints = f"{topk['fingerprint']}/{run.require('tokens')['fingerprint']}"
    nearest = run.require("compare/neighbours")["identity"]["nearest"] if run.complete("compare/neighbours") else 0
    return Neuronpedia(
        reader, labels, about, fingerprints, explained=run.complete("explain"), has_outputs=run.complete("outputs"),
        nearest=nearest,
    )  # fmt: skip


def delphi(config: ExportConfig, run: Run, reader: WinnersReader, terms: list[dict[str, str]]) -> Delphi:
    """Return the files of a delphi cache.

    Raises:
        InputError: the model or its tokenizer is missing, or the tokenizer has changed.
    """
    topk = run.require("topk")
    facts = recorded_model(topk)
    tokenizer = Tokenizer(facts)
    if tokenizer.fingerprint != run.require("ingest")["identity"]["tokenizer"]:
        raise InputError(f"--model {facts.name}: its tokenizer has changed since this run was made; restore it")
    place = {layer: place_of(topk, layer) for layer in reader.neurons.layers}
    described = {
        "dataset_repo": ", ".join(dict.fromkeys(t["dataset"] for t in terms)),
        "dataset_split": "",
        "dataset_name": "",
        "dataset_column": "text",
        "batch_size": 1,
        "model_name": hub_name(run.record["model"]),
    }
    return Delphi(reader, tokenizer, place, config.context, described, config.out)
