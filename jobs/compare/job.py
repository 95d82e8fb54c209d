"""Compare neurons, layers and models, from the tables of a finished run.

    python -m jobs.compare --out runs/small
    python -m jobs.compare --out runs/small --against /path/to/model --text-set news=news.txt --text-set mail='m/*.txt'
    python -m jobs.compare --out runs/small --with runs/other --against-run runs/random
    ray job submit --working-dir . -- python -m jobs.compare --out s3://bucket/run --preset paper

By default it writes compare/dimensions and compare/rotated (do units with the same index agree across layers?),
compare/diversity (are the winners of deeper layers more diverse?), compare/groups and related tables (which neurons
fire together?), compare/neighbours and compare/nearest. With --with it also writes compare/matches and
compare/universal (does another model have the same units?). With --against-run it writes compare/runs (do scores exceed
the scores of a run with random weights?). With --against it writes compare/shift and related tables (how far did a
model move?). With --ablate it writes compare/ablation (how do neurons affect others?). Figures are written as PNG, PDF
and SVG below compare/figures/. Every result is compared with a control or a null distribution: docs/compare.md. After
Oba 2021, Step 4. Print the main findings with python -m jobs.show --out runs/small --compare.

What to expect (packaged model, 20,000 sentences, two cores shared with eight busy processes, November 2026): dimensions
takes 132 s and neighbours 33 s, Ray's start included; a t-SNE map of 1,000 points takes 13 s of one core. --ablate
takes 11 ms of one core for each sentence and neuron, random neurons included. For 9,216 neurons with 10,000 winners,
see docs/compare.md.
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
OF_FEATURES = ("neighbours", "matches", "runs")  # parts that also work with features of sparse dictionaries
Part = Literal["dimensions", "neighbours", "groups", "diversity", "matches", "runs", "shift", "ablation"]


class CompareConfig(PlacementConfig, ArithmeticConfig, UnitsConfig):
    """Options of `compare`."""

    heading: ClassVar[tuple[int, str]] = (60, "Comparison (compare)")

    part: Annotated[tuple[Part, ...], BeforeValidator(listed)] = Field(
        (),
        description="Run only this part; repeatable (default: all parts whose other run or model is given)",
    )
    permutations: int = Field(1_000, ge=1, description="Permute the units this many times, as the null of dimensions")
    rotations: int = Field(99, ge=1, description="Draw this many rotated bases, as the control of dimensions")
    nearest: int = Field(
        10, ge=1, description="List this many neighbours by correlation and by overlap, within and across layers"
    )
    group_count: int = Field(10, ge=1, description="Groups of k-means")
    group_range: Annotated[tuple[Count, ...], BeforeValidator(listed)] = Field(
        (2, 5, 10, 15, 20, 30), description="Measure silhouette and stability for this number of groups; repeatable"
    )
    group_sentences: int = Field(
        1_000, ge=2, description="Describe each neuron by this many sentences of the activation sample"
    )
    diversity_clusters: Annotated[tuple[Count, ...], BeforeValidator(listed)] = Field(
        (1, 5, 10, 20, 50, 100, 200), description="Group the winners' vectors into this many clusters; repeatable"
    )
    diversity_sample: int = Field(10_000, ge=1, description="Draw this many winners per layer to embed and cluster")
    with_: str = Field(
        "",
        description="Match units with those of this run: another model over the same corpus",
    )
    against_run: str = Field(
        "",
        description="Compare scores with this control run: random weights or rotated directions, same corpus",
    )
    against: str = Field(
        "", description="Measure how far this other model moved: a name as for topk --model, or its run directory"
    )
    model_seed: int | None = Field(None, ge=0, description="Seed of the weights of --against random:NAME (default: 0)")
    text_set: Annotated[tuple[str, ...], BeforeValidator(listed)] = Field(
        (), description="Have both models read this text set: NAME=SOURCE, SOURCE as for --corpus; repeatable"
    )
    text_column: str = Field("text", description="Column of the text sets that holds the text")
    split: Literal["sentences", "none"] = Field(
        "sentences", description="Split the texts of text sets into sentences, or take each row as one sentence (none)"
    )
    text_limit: int = Field(
        10_000, ge=1, description="Read at most this many sentences per text set, a uniform sample of distinct ones"
    )
    resamples: int = Field(1_000, ge=1, description="Bootstrap resamples for the intervals of runs and shift")
    ablate: int = Field(0, ge=0, description="Set to their mean this many neurons per property, those with most of it")
    ablate_most: int = Field(100, ge=1, description="Ablate at most this many neurons in all")
    ablate_random: int = Field(
        39, ge=1, description="Draw N random neurons of similar spread per ablated one; the smallest p is 1/(N + 1)"
    )
    ablate_sentences: int = Field(100, ge=1, description="Read this many sentences of the sample for each neuron")
    figure_layer: int = Field(
        6, ge=1, description="Draw the groups of this layer, or of the last one if there are fewer"
    )
    figure_units: str = Field("301:350", description="Show these units, FIRST:LAST, in the heat map of dimensions")


def do(config: CompareConfig, record: "Run") -> None:
    """Do the requested parts, or the missing work of them."""
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
    """Return the parts to do.

    Args:
        config: the options.
        dictionaries: whether the run's units are features of sparse dictionaries, for which some parts are undefined.

    Raises:
        InputError: text sets are given without another model, an option that a named part requires is missing, a part
            is not available for features, or a seed is given without a model of random weights.
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
                f"--part {others[0]}: compares neurons, but the units of this run are features of dictionaries; "
                "choose --part neighbours, --with or --against-run"
            )
    if config.text_set and not config.against:
        raise InputError("--text-set: is read by two models; give the other one with --against MODEL_OR_RUN")
    if "shift" in config.part and not config.against:
        raise InputError("--part shift: requires another model; give it with --against MODEL_OR_RUN")
    if "ablation" in config.part and not config.ablate:
        raise InputError("--part ablation: requires a number of neurons; give it with --ablate N")
    if "matches" in config.part and not config.with_:
        raise InputError("--part matches: requires another run; give it with --with RUN")
    if "runs" in config.part and not config.against_run:
        raise InputError("--part runs: requires a control; give its run with --against-run RUN")
    if config.part:
        return config.part
    always = ("neighbours",) if dictionaries else ("dimensions", "neighbours", "groups", "diversity")
    more = {"matches": config.with_, "runs": config.against_run, "shift": config.against, "ablation": config.ablate}
    return (*always, *(part for part, asked in more.items() if asked))


def check(config: CompareConfig, record: "Run", parts: tuple[str, ...]) -> None:
    """Refuse invalid input before anything heavy starts.

    Raises:
        InputError: a stage that a part reads is missing, an option or the run's site is unsuitable, or the activation
            sample has fewer than three sentences.
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
        raise InputError(f"--ablate: the run has --site {site}; only neurons of --site hidden can be set to their mean")


def check_mined(config: CompareConfig, record: "Run", part: str) -> None:
    """Refuse a part that compares the mining results of all neurons, if only some neurons were mined.

    Raises:
        InputError: only some neurons were mined.
    """
    mined = record.require("mine")["config"]
    if mined.get("units"):
        raise InputError(
            f"--part {part}: compares all neurons, but jobs.mine was run with --units; choose other parts, such as "
            "--part neighbours, or run",
            command(config.out, "mine", mined, redo=True, units=()),
        )


def figure_units(text: str) -> tuple[int, int]:
    """Return the first and the last unit of a text FIRST:LAST, both included.

    Raises:
        InputError: the text has another form.
    """
    first, colon, last = text.partition(":")
    if not (colon and first.isdecimal() and last.isdecimal() and len(last) < 9 and int(first) <= int(last)):
        raise InputError(f"--figure-units {text!r}: expected FIRST:LAST, such as 301:350")
    return int(first), int(last)


JOB = Job("compare", CompareConfig, in_run(do), __doc__)
