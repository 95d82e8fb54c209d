"""The plan of `audit`."""

from jobs.audit.job import AuditConfig
from jobs.audit.steps import AuditedDatasets, audit_args, audit_steps
from jobs.stage.dry_run import DryRun, Plan
from jobs.stage.estimate import by_workers, spread_seconds
from jobs.stage.runner import Stage
from ops.topk.neurons import Neurons, read_neurons

# Measured (docs/scale.md): the seconds per neuron, pole and data set, and the bytes per pair of data sets.
CARD_S, PAIR_BYTES = 8e-3, 60


def plan(config: AuditConfig, datasets: AuditedDatasets, stage: Stage, record: DryRun) -> Plan:
    """Return what the stage would do."""
    topk, sentences = record.require("topk"), record.require("annotate")["counts"]["sentences"]
    expected = record.is_expected("topk") or record.is_expected("explain")
    neurons = Neurons((topk["counts"]["neurons"],)) if expected else read_neurons(record.store)
    args = audit_args(config, datasets, stage, neurons)
    sets = (len(config.units) or len(neurons)) * (2 if topk["identity"]["poles"] == "both" else 1)
    seconds, work = 0.0, []
    for step in audit_steps(args, sentences):
        left, every = len(stage.missing(step)), len(step.items)
        if step.name == "audit: neurons":
            own = sets * CARD_S * len(datasets.names) * left / max(every, 1)
            seconds += spread_seconds(record, left, stage.workers, own)
        work.append(f"{step.name.removeprefix('audit: ')}: {left:,} of {every:,} {step.unit}")
    kept = sets * PAIR_BYTES * len(datasets.names) ** 2
    basis = ["nothing timed: measured before, on other text (docs/scale.md)", by_workers(stage.workers)]
    return Plan(work, seconds, kept, kept, basis, counts={"neurons": sets})
