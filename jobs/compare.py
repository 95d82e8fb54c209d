"""Compare neurons with each other, layers with layers, and a model with another, from the tables of a finished run.

    python -m jobs.compare --out runs/small
    python -m jobs.compare --out runs/small --against /path/to/model --text-set news=news.txt --text-set mail='m/*.txt'
    ray job submit --working-dir . -- python -m jobs.compare --out s3://bucket/run --preset paper

Writes compare/dimensions and compare/rotated (do units of one number agree across layers?), compare/diversity (are the
winners of deeper layers more diverse?), compare/groups and its kin (which neurons fire together?), compare/neighbours
and compare/nearest; with --against compare/shift and its kin (how far did a model move?); with --ablate
compare/ablation (what do neurons do to others?); and figures, as PNG, PDF and SVG, below compare/figures/. Every result
has its null beside it: docs/compare.md. After Oba 2021, Step 4. Print the main findings with
python -m jobs.show --out runs/small --compare.

What to expect (packaged model, 20,000 sentences, two cores with eight busy processes beside them, November 2026):
dimensions 78 s, neighbours 33 s, Ray's start included; a t-SNE map of 1,000 points 13 s of a core. 9,216 neurons with
10,000 winners: docs/compare.md.
"""

import sys
from typing import TYPE_CHECKING

from jobs.stage.command_line import main
from jobs.stage.compare_config import CompareConfig

if TYPE_CHECKING:
    from jobs.stage.run import Run


def run(config: CompareConfig) -> None:
    """Do all parts, or what is missing of them."""
    from jobs.stage.dry_run import open_run

    with open_run(config) as record:
        do(config, record)


def do(config: CompareConfig, record: "Run") -> None:
    """Do all parts, or what is missing of them, in an open run."""
    from jobs.stage.dry_run import DryRun
    from jobs.steps.compare.ablation import ablation_part
    from jobs.steps.compare.dimensions import dimensions_part
    from jobs.steps.compare.diversity import diversity_part
    from jobs.steps.compare.groups import groups_part
    from jobs.steps.compare.neighbours import neighbours_part
    from jobs.steps.compare.shift import shift_part
    from jobs.steps.compare.shift_input import check_shift

    parts = chosen_parts(config)
    check(config, record, parts)
    if "shift" in parts:
        check_shift(config, record)
    for part, begin in (
        ("dimensions", dimensions_part),
        ("neighbours", neighbours_part),
        ("groups", groups_part),
        ("diversity", diversity_part),
        ("shift", shift_part),
        ("ablation", ablation_part),
    ):
        work = begin(config, record) if part in parts else None
        if work is not None and isinstance(record, DryRun):
            from jobs.plans.compare import plan_part

            plan_part(record, work)
        elif work is not None:
            work.do()


def chosen_parts(config: CompareConfig) -> tuple[str, ...]:
    """Return the parts that are to be done.

    Raises:
        InputError: text sets without a model to compare with, or the other way round.
    """
    from ops.errors import InputError

    if config.text_set and not config.against:
        raise InputError("--text-set: is read by two models; name the other one by --against MODEL_OR_RUN")
    if "shift" in config.part and not config.against:
        raise InputError("--part shift: needs another model; name it by --against MODEL_OR_RUN")
    if "ablation" in config.part and not config.ablate:
        raise InputError("--part ablation: needs a number of neurons; name it by --ablate N")
    if config.part:
        return config.part
    more = {"shift": config.against, "ablation": config.ablate}
    return ("dimensions", "neighbours", "groups", "diversity", *(part for part, asked in more.items() if asked))


def check(config: CompareConfig, record: "Run", parts: tuple[str, ...]) -> None:
    """Refuse what cannot work, before anything heavy starts.

    Raises:
        InputError: a stage that a part reads is missing, an option does not fit, or there is no activation sample.
    """
    from jobs.stage.stages import STAGES
    from jobs.steps.compare.compared_run import figure_units
    from ops.errors import InputError

    for part in parts:
        for stage in STAGES[f"compare/{part}"].reads:
            record.require(stage)
    figure_units(config.figure_units)
    sampled = record.require("topk")["counts"]["activation_sample"]
    if sampled < 3 and {"dimensions", "neighbours", "groups"} & set(parts):
        raise InputError(
            f"--out {config.out}: its activation sample holds {sampled} sentences, and neurons are compared on it; "
            "run python -m jobs.topk --redo with --activation-sample 1000 or more"
        )


if __name__ == "__main__":
    sys.exit(main(CompareConfig, "compare", str(__doc__).splitlines()[0], run))
