"""What `finetune` would do."""

import time
from dataclasses import replace

from jobs.stage.dry_run import DryRun, Plan
from jobs.stage.estimate import TIMED_S, by_workers, of_all
from jobs.steps.finetune.documents import read_sentences
from jobs.steps.finetune.files import TrainingArgs, losses_file, training_segments
from jobs.steps.finetune.train import Training
from ops.errors import counted
from ops.finetune.classifier import new_classifier
from ops.finetune.training import ClassifierTraining, Example
from ops.model.numerics import set_numerics
from ops.model.tokenizer import Tokenizer

_TABLE_BYTES, _FIGURE_BYTES = 100, 150_000  # of a sentence of the split; of the figure
_TIMED = 64  # documents


def plan_finetune(record: DryRun, training: Training, tokenizer: Tokenizer) -> None:
    """Say what the stage would do.

    Args:
        record, training: the run, and the stage begun.
        tokenizer: the model's.
    """
    args, name = training.args, training.stage.name
    if args is None:
        work = ["split the labelled documents of the corpus, and train on them"]
        basis = ["nothing timed: which documents have a label is known once the corpus is there"]
        record.plan(name, Plan(work, None, None, 0, basis), {"train": 0})
        return
    documents = len(args.labels)
    train = round(documents * (1 - args.test_share))
    stops = training_segments(args, train)
    store, own = training.stage.store, training.stage.fingerprint
    missing = sum(not losses_file(stop).is_whole(store, own) for stop, _ in stops)
    seconds, weights = time_step(args, read_sentences(store, dict(list(args.labels.items())[:_TIMED])), tokenizer)
    steps = stops[-1][0] * missing / len(stops)
    # A test document costs a third of one that is trained on: no backward pass.
    tests = args.options.epochs * (documents - train) / args.options.batch_size / 3
    work = [
        f"split about {counted(documents, 'document')} of {counted(len(args.names), 'label')} in two",
        f"train for {counted(args.options.epochs, 'epoch')} of about {counted(train, 'document')}: "
        f"{of_all(missing, len(stops), 'checkpoint')}",
    ]
    basis = [f"timed {counted(min(_TIMED, documents), 'document')} at {seconds:.2f} s a step", by_workers(1)]
    size = 4 * weights
    plan = Plan(work, seconds * (steps + tests), size + documents * _TABLE_BYTES + _FIGURE_BYTES, 6 * size, basis)
    record.plan(name, plan, {"train": train})


def time_step(args: TrainingArgs, sentences: dict[str, list[str]], tokenizer: Tokenizer) -> tuple[float, int]:
    """Return the seconds of a step, measured on some documents, and the model's number of weights."""
    set_numerics(args.options.device, args.threads)
    joined: dict[str, str] = {}
    for doc_id, text in zip(sentences["doc_id"], sentences["text"], strict=True):
        joined[doc_id] = f"{joined.get(doc_id, '')} {text}"
    limited = Tokenizer(replace(args.facts, position_limit=args.max_tokens))
    model = new_classifier(args.facts, tokenizer, len(args.names), args.dropout, args.options.seed)
    model = model.to("cuda" if args.options.device == "cuda" else "cpu").train()
    examples = [Example(tokens, 0) for tokens in limited.encode(list(joined.values()))]
    training = ClassifierTraining(model, examples, examples, args.options, limited.pad_id)
    size, done = args.options.batch_size, 0
    started = time.perf_counter()
    while done == 0 or time.perf_counter() - started < TIMED_S:
        first = done * size % max(len(examples) - size + 1, 1)
        batch = training.collate(examples[first : first + size])
        device = next(model.parameters()).device
        model(**{name: values.to(device) for name, values in batch.items()})["loss"].backward()
        done += 1
    return (time.perf_counter() - started) / done, sum(p.numel() for p in model.parameters())
