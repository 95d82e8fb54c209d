"""Compare neurons, layers and models, from the tables of a finished run.

    atlas compare --out runs/small
    atlas compare --out runs/small --against /path/to/model --text-set news=news.txt --text-set mail='m/*.txt'
    atlas compare --out runs/small --with runs/other --against-run runs/random
    ray job submit --working-dir . -- python -m jobs.compare --out s3://bucket/run --preset paper

By default it writes compare/dimensions and compare/rotated (do units with the same index agree across layers?),
compare/diversity (are the winners of deeper layers more diverse?), compare/groups and related tables (which neurons
fire together?), compare/neighbours and compare/nearest. With --with it also writes compare/matches and
compare/universal (does another model have the same units?). With --against-run it writes compare/runs (do scores exceed
the scores of a run with random weights?). With --against it writes compare/shift and related tables (how far did a
model move?). With --ablate it writes compare/ablation (how do neurons affect others?). Figures are written as PNG, PDF
and SVG below compare/figures/. Every result is compared with a control or a null distribution: docs/compare.md. After
Oba 2021, Step 4. Print the main findings with atlas show --out runs/small --compare.

What to expect (packaged model, 20,000 sentences, two cores shared with eight busy processes, November 2026): dimensions
takes 132 s and neighbours 33 s, Ray's start included; a t-SNE map of 1,000 points takes 13 s of one core. --ablate
takes 11 ms of one core for each sentence and neuron, random neurons included. For 9,216 neurons with 10,000 winners,
see docs/compare.md.
"""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from jobs.options.configs import ArithmeticConfig, PlacementConfig, Texts, UnitsConfig, listed, option
from jobs.stage.main import Job

Count = Annotated[int, Field(ge=1)]
Part = Literal["dimensions", "neighbours", "groups", "diversity", "matches", "runs", "shift", "ablation"]


class CompareConfig(PlacementConfig, ArithmeticConfig, UnitsConfig):
    """Options of `compare`."""

    heading = (60, "Comparison (compare)")

    part: Annotated[tuple[Part, ...], BeforeValidator(listed)] = option(
        (), "Run only this part; repeatable (default: all parts whose other run or model is given)"
    )
    permutations: int = option(1_000, "Permute the units this many times, as the null of dimensions", ge=1)
    rotations: int = option(99, "Draw this many rotated bases, as the control of dimensions", ge=1)
    nearest: int = option(10, "List this many neighbours by correlation and by overlap, within and across layers", ge=1)
    group_count: int = option(10, "Groups of k-means", ge=1)
    group_range: Annotated[tuple[Count, ...], BeforeValidator(listed)] = option(
        (2, 5, 10, 15, 20, 30), "Measure silhouette and stability for this number of groups; repeatable"
    )
    group_sentences: int = option(1_000, "Describe each neuron by this many sentences of the activation sample", ge=2)
    diversity_clusters: Annotated[tuple[Count, ...], BeforeValidator(listed)] = option(
        (1, 5, 10, 20, 50, 100, 200), "Group the winners' vectors into this many clusters; repeatable"
    )
    diversity_sample: int = option(10_000, "Draw this many winners per layer to embed and cluster", ge=1)
    with_: str = option("", "Match units with those of this run: another model over the same corpus")
    against_run: str = option(
        "", "Compare scores with this control run: random weights or rotated directions, same corpus"
    )
    against: str = option(
        "", "Measure how far this other model moved: a name as for topk --model, or its run directory"
    )
    model_seed: int | None = option(None, "Seed of the weights of --against random:NAME (default: 0)", ge=0)
    text_set: Texts = option((), "Have both models read this text set: NAME=SOURCE, SOURCE as for --corpus; repeatable")
    text_column: str = option("text", "Column of the text sets that holds the text")
    split: Literal["sentences", "none"] = option(
        "sentences", "Split the texts of text sets into sentences, or take each row as one sentence (none)"
    )
    text_limit: int = option(
        10_000, "Read at most this many sentences per text set, a uniform sample of distinct ones", ge=1
    )
    resamples: int = option(1_000, "Bootstrap resamples for the intervals of runs", ge=1)
    ablate: int = option(0, "Set to their mean this many neurons per property, those with most of it", ge=0)
    ablate_most: int = option(100, "Ablate at most this many neurons in all", ge=1)
    ablate_random: int = option(
        39, "Draw N random neurons of similar spread per ablated one; the smallest p is 1/(N + 1)", ge=1
    )
    ablate_sentences: int = option(100, "Read this many sentences of the sample for each neuron", ge=1)
    figure_layer: int = option(6, "Draw the groups of this layer, or of the last one if there are fewer", ge=1)
    figure_units: str = option("301:350", "Show these units, FIRST:LAST, in the heat map of dimensions")


JOB = Job("compare", CompareConfig, "jobs.compare.steps:compare", __doc__)
