"""What `--against` and `--text-set` of `compare` name, checked before anything heavy starts."""

from dataclasses import dataclass

from jobs.compare.compared_run import model_of, neurons_of
from jobs.compare.job import CompareConfig
from jobs.stage.run import Run
from ops.compare.text_set import parse_text_sets
from ops.errors import InputError
from ops.model.load import FINE_TUNED, ModelFacts, read_facts
from ops.sources.source_format import Source
from ops.storage.store import Store
from ops.topk.neurons import Neurons


@dataclass(frozen=True)
class Compared:
    """What a model is compared with, and on what.

    Attributes:
        names, sources: the text sets.
        run: the one that `--against` names; None where it names a model.
        same_corpus: whether that run is of this one's corpus.
        against: the other model.
    """

    names: list[str]
    sources: list[Source]
    run: Run | None
    same_corpus: bool
    against: ModelFacts


def check_shift(config: CompareConfig, record: Run) -> Compared:
    """Return what is compared.

    Raises:
        InputError: a text set or the other model is not there or does not fit, or there is nothing to compare on.
    """
    names, sources = parse_text_sets(config.text_set, config.text_column)
    other = other_run(config.against)
    name = fine_tuned_model(other) if other is not None else None
    other = other if name is None else None
    against = check_other(config, record, other, name or config.against, neurons_of(record), model_of(record))
    same_corpus = other is not None and other.record.get("corpus") == record.record.get("corpus")
    if not names and not same_corpus:
        raise InputError(f"--against {config.against}: give sentences that both models read, by --text-set NAME=SOURCE")
    return Compared(names, sources, other, same_corpus, against)


def other_run(against: str) -> Run | None:
    """Return the run that `--against` names, None where it names a model."""
    try:
        found = Store(against).is_file("run.json")
    except (InputError, OSError, ValueError):
        found = False
    return Run(against, create=False) if found else None


def fine_tuned_model(other: Run) -> str | None:
    """Return the folder of a run's fine-tuned model where that is all there is to compare with: it has no `topk`.

    Raises:
        InputError: the run is on another machine.
    """
    if other.complete("topk") or not other.complete("finetune"):
        return None
    if not other.store.local:
        raise InputError(f"--against {other.store.uri}: models are read from local folders; copy finetune/model here")
    other.check_files("finetune")
    return other.store.path("/".join(FINE_TUNED))


def check_other(
    config: CompareConfig, record: Run, other: Run | None, model: str, neurons: Neurons, facts: ModelFacts
) -> ModelFacts:
    """Return what is known of the other model: that of a run, or the one that is named.

    Raises:
        InputError: its neurons are not these ones' counterparts, by number or by how they were pooled.
    """
    if other is None:
        try:
            against = read_facts(model)
        except InputError as error:
            raise InputError(str(error).replace("--model", "--against", 1)) from error
    else:
        own, others = (run.require("topk")["identity"] for run in (record, other))
        other.check_files("topk")
        for name in ("site", "pool", "special_tokens"):
            if own[name] != others[name]:
                raise InputError(
                    f"--against {config.against}: was run with {name} {others[name]}, this run with {own[name]}; "
                    "compare runs of the same"
                )
        against = model_of(other)
    if (against.layers, against.width) != (facts.layers, facts.width) or (
        other is not None and neurons_of(other).widths != neurons.widths
    ):
        raise InputError(
            f"--against {config.against}: has {against.layers} layers of {against.width} units, {facts.name} "
            f"{facts.layers} of {facts.width}; neurons are compared one by one, so give a model of the same sizes"
        )
    return against
