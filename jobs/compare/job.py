"""Compare neurons with each other, layers with layers, and a model with another, from the tables of a finished run.

    python -m jobs.compare --out runs/small
    python -m jobs.compare --out runs/small --against /path/to/model --text-set news=news.txt --text-set mail='m/*.txt'
    python -m jobs.compare --out runs/small --with runs/other --against-run runs/random
    ray job submit --working-dir . -- python -m jobs.compare --out s3://bucket/run --preset paper

Writes compare/dimensions and compare/rotated (do units of one number agree across layers?), compare/diversity (are the
winners of deeper layers more diverse?), compare/groups and its kin (which neurons fire together?), compare/neighbours
and compare/nearest; with --with compare/matches and compare/universal (does another model have the same units?); with
--against-run compare/runs (do scores exceed those of a run with random weights?); with --against compare/shift and its
kin (how far did a model move?); with --ablate compare/ablation (what do neurons do to others?); and figures, as PNG,
PDF and SVG, below compare/figures/. Every result has its null beside it: docs/compare.md. After Oba 2021, Step 4.
Print the main findings with python -m jobs.show --out runs/small --compare.

What to expect (packaged model, 20,000 sentences, two cores with eight busy processes beside them, November 2026):
dimensions 132 s, neighbours 33 s, Ray's start included; a t-SNE map of 1,000 points 13 s of a core. --ablate takes
11 ms of a core for each sentence and neuron, random ones included. 9,216 neurons with 10,000 winners: docs/compare.md.
"""

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field

from jobs.stage.again import command
from jobs.stage.command_line import Job, in_run
from jobs.stage.options import ArithmeticConfig, PlacementConfig, UnitsConfig, listed
from jobs.stage.stages import STAGES
from ops.errors import InputError
from ops.model.names import RANDOM

if TYPE_CHECKING:
    from jobs.stage.run import Run

Count = Annotated[int, Field(ge=1)]
OF_FEATURES = ("neighbours", "matches", "runs")  # parts that features of dictionaries have too
Part = Literal["dimensions", "neighbours", "groups", "diversity", "matches", "runs", "shift", "ablation"]


class CompareConfig(PlacementConfig, ArithmeticConfig, UnitsConfig):
    """Options of `compare`."""

    heading: ClassVar[tuple[int, str]] = (60, "compare")

    part: Annotated[tuple[Part, ...], BeforeValidator(listed)] = Field(
        (),
        description="do this part alone, repeatable; none given: all, matches with --with, runs with "
        "--against-run, shift with --against, ablation with --ablate",
    )
    permutations: int = Field(1_000, ge=1, description="permutations of units, the null of dimensions")
    rotations: int = Field(99, ge=1, description="rotated bases, the control of dimensions")
    nearest: int = Field(
        10, ge=1, description="neighbours of a neuron, of each kind: by correlation and by overlap, within and across"
    )
    group_count: int = Field(10, ge=1, description="groups of k-means")
    group_range: Annotated[tuple[Count, ...], BeforeValidator(listed)] = Field(
        (2, 5, 10, 15, 20, 30), description="numbers of groups whose silhouette and stability are measured, repeatable"
    )
    group_sentences: int = Field(
        1_000, ge=2, description="sentences of the activation sample that a neuron's vector has"
    )
    diversity_clusters: Annotated[tuple[Count, ...], BeforeValidator(listed)] = Field(
        (1, 5, 10, 20, 50, 100, 200), description="numbers of clusters of the winners' vectors, repeatable"
    )
    diversity_sample: int = Field(
        10_000, ge=1, description="winners drawn from each layer, to be embedded and clustered"
    )
    with_: str = Field(
        "",
        description="run directory of another model over the same corpus: which of its units is most like each unit "
        "of this run, and is that more than chance?",
    )
    against_run: str = Field(
        "",
        description="run directory of a control over the same corpus, with random weights or rotated directions: "
        "do the scores of this run's neurons exceed its scores?",
    )
    against: str = Field(
        "", description="another model, as --model of topk takes it, or the run directory of one: how far it moved"
    )
    model_seed: int | None = Field(None, ge=0, description="seed of the weights of --against random:NAME; 0 by default")
    text_set: Annotated[tuple[str, ...], BeforeValidator(listed)] = Field(
        (), description="NAME=SOURCE, sentences that both models read; SOURCE as --corpus of ingest; repeatable"
    )
    text_column: str = Field("text", description="column of the text sets that holds the text")
    split: Literal["sentences", "none"] = Field(
        "sentences", description="split the text sets' text, or take a row as one sentence"
    )
    text_limit: int = Field(10_000, ge=1, description="most sentences of a text set, a uniform sample of distinct ones")
    resamples: int = Field(1_000, ge=1, description="bootstrap resamples behind the intervals of runs and of a shift")
    ablate: int = Field(
        0, ge=0, description="neurons of every property, those with most of it, to be set to their mean"
    )
    ablate_most: int = Field(100, ge=1, description="most neurons in all that --ablate takes")
    ablate_random: int = Field(
        39, ge=1, description="random neurons of like spread for each that --ablate takes, its null; p is at least 1/40"
    )
    ablate_sentences: int = Field(100, ge=1, description="sentences of the sample read once for each neuron")
    figure_layer: int = Field(6, ge=1, description="layer whose groups are drawn (the last one where there are fewer)")
    figure_units: str = Field("301:350", description="FIRST:LAST, the units that the heat map of dimensions shows")


def do(config: CompareConfig, record: "Run") -> None:
    """Do the parts that are asked for, or what is missing of them."""
    from jobs.compare.ablation import ablation_part
    from jobs.compare.dimensions import dimensions_part
    from jobs.compare.diversity import diversity_part
    from jobs.compare.groups import groups_part
    from jobs.compare.matches import check_matches, matches_part
    from jobs.compare.neighbours import neighbours_part
    from jobs.compare.runs import check_runs, runs_part
    from jobs.compare.shift import check_shift, shift_part
    from jobs.stage.dictionaries import is_of_dictionaries

    parts = chosen_parts(config, is_of_dictionaries(record.require("topk")))
    check(config, record, parts)
    other = check_matches(config, record) if "matches" in parts else None
    control = check_runs(config, record) if "runs" in parts else None
    compared = check_shift(config, record) if "shift" in parts else None
    if "dimensions" in parts:
        dimensions_part(config, record)
    if "neighbours" in parts:
        neighbours_part(config, record)
    if "groups" in parts:
        groups_part(config, record)
    if "diversity" in parts:
        diversity_part(config, record)
    if other is not None:
        matches_part(config, record, other)
    if control is not None:
        runs_part(config, record, control)
    if compared is not None:
        shift_part(config, record, compared)
    if "ablation" in parts:
        ablation_part(config, record)


def chosen_parts(config: CompareConfig, dictionaries: bool = False) -> tuple[str, ...]:
    """Return the parts that are to be done.

    Args:
        config: the options.
        dictionaries: whether the run's units are features, of which some parts say nothing.

    Raises:
        InputError: text sets without a model to compare with, or the other way round; a part that features do not have;
            a seed without a model of random weights.
    """
    if config.model_seed is not None and not config.against.startswith(RANDOM):
        raise InputError(
            f"--model-seed {config.model_seed}: is the seed of random weights; give --against random:NAME with it, "
            "or leave it out"
        )
    if dictionaries:
        asked = [*config.part, *(["shift"] if config.against else []), *(["ablation"] if config.ablate else [])]
        others = [part for part in asked if part not in OF_FEATURES]
        if others:
            raise InputError(
                f"--part {others[0]}: compares neurons, and the units of this run are features of dictionaries; "
                "they have neighbours (--part neighbours), matches (--with) and scores to compare (--against-run)"
            )
    if config.text_set and not config.against:
        raise InputError("--text-set: is read by two models; name the other one by --against MODEL_OR_RUN")
    if "shift" in config.part and not config.against:
        raise InputError("--part shift: needs another model; name it by --against MODEL_OR_RUN")
    if "ablation" in config.part and not config.ablate:
        raise InputError("--part ablation: needs a number of neurons; name it by --ablate N")
    if "matches" in config.part and not config.with_:
        raise InputError("--part matches: needs another run; name it by --with RUN")
    if "runs" in config.part and not config.against_run:
        raise InputError("--part runs: needs a control; name its run by --against-run RUN")
    if config.part:
        return config.part
    always = ("neighbours",) if dictionaries else ("dimensions", "neighbours", "groups", "diversity")
    more = {"matches": config.with_, "runs": config.against_run, "shift": config.against, "ablation": config.ablate}
    return (*always, *(part for part, asked in more.items() if asked))


def check(config: CompareConfig, record: "Run", parts: tuple[str, ...]) -> None:
    """Refuse what cannot work, before anything heavy starts.

    Raises:
        InputError: a stage that a part reads is missing, an option or the run's site does not fit, or there is no
            activation sample.
    """
    from jobs.stage.placement import check_device
    from jobs.stage.units import chosen_units

    for part in parts:
        for stage in STAGES[f"compare/{part}"].reads:
            record.require(stage)
        if part != "runs" and "mine" in STAGES[f"compare/{part}"].reads:
            check_mined(config, record, part)
    if "neighbours" in parts:
        chosen_units(config, record, "compared")
    figure_units(config.figure_units)
    check_device(config)
    topk = record.require("topk")
    sampled, site = topk["counts"]["activation_sample"], topk["identity"]["site"]
    if sampled < 3 and {"dimensions", "neighbours", "groups"} & set(parts):
        raise InputError(
            f"--out {config.out}: its activation sample holds {sampled} sentences, and neurons are compared on it; "
            "to draw a larger one, run",
            command(config.out, "topk", topk["config"], redo=True, activation_sample=1_000),
        )
    if "ablation" in parts and site != "hidden":
        raise InputError(f"--ablate: the run is of --site {site}; only neurons of hidden are set to their mean")


def check_mined(config: CompareConfig, record: "Run", part: str) -> None:
    """Refuse a part that looks at what was mined of all neurons, where that was done of some alone.

    Raises:
        InputError: it was.
    """
    mined = record.require("mine")["config"]
    if mined.get("units"):
        raise InputError(
            f"--part {part}: compares all neurons, and jobs.mine was run with --units; name the other parts, "
            "--part neighbours say, or run",
            command(config.out, "mine", mined, redo=True, units=()),
        )


def figure_units(text: str) -> tuple[int, int]:
    """Read FIRST:LAST, both included.

    Raises:
        InputError: it is something else.
    """
    first, colon, last = text.partition(":")
    if not (colon and first.isdecimal() and last.isdecimal() and len(last) < 9 and int(first) <= int(last)):
        raise InputError(f"--figure-units {text!r}: expected FIRST:LAST, such as 301:350")
    return int(first), int(last)


JOB = Job("compare", CompareConfig, in_run(do), __doc__)
