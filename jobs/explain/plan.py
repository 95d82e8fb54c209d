"""The plan of `explain`."""

from jobs.explain.job import ExplainConfig
from jobs.explain.steps import explain_args, explain_steps
from jobs.stage.dry_run import DryRun, Plan
from jobs.stage.estimate import by_workers, spread_seconds
from jobs.stage.runner import Stage
from ops.model.facts import ModelFacts
from ops.topk.neurons import Neurons, read_neurons

# Measured (docs/scale.md): the seconds for a neuron and pole and for each of its winners, and the bytes of its rows.
SET_S, WINNER_S, SET_BYTES = 10e-3, 13e-6, 2_000


def plan(config: ExplainConfig, facts: ModelFacts, stage: Stage, record: DryRun) -> Plan:
    """Return what the stage would do."""
    topk, sentences = record.require("topk"), record.require("annotate")["counts"]["sentences"]
    expected = record.is_expected("topk") or record.is_expected("mine")
    neurons = Neurons((topk["counts"]["neurons"],)) if expected else read_neurons(record.store)
    args = explain_args(config, facts, stage, neurons)
    sets = len(neurons) * (2 if topk["identity"]["poles"] == "both" else 1)
    seconds, work = 0.0, []
    for step in explain_steps(args, topk["counts"]["activation_sample"], sentences):
        left, every = len(stage.missing(step)), len(step.items)
        if step.name == "explain: neurons":
            own = sets * (SET_S + WINNER_S * args.k) * left / max(every, 1)
            seconds += spread_seconds(record, left, stage.workers, own)
        if step.unit:
            work.append(f"{step.name.removeprefix('explain: ')}: {left:,} of {every:,} {step.unit}")
    kept = sets * SET_BYTES
    basis = ["nothing timed: measured before, on other text (docs/scale.md)", by_workers(stage.workers)]
    return Plan(work, seconds, kept, kept, basis, counts={"explanations": sets})
