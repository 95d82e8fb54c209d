"""The options of `compare`."""

from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field

from jobs.stage.options import ArithmeticConfig, PlacementConfig, listed

Count = Annotated[int, Field(ge=1)]
Part = Literal["dimensions", "neighbours", "groups", "diversity", "shift", "ablation"]


class CompareConfig(PlacementConfig, ArithmeticConfig):
    """Options of `compare`."""

    heading: ClassVar[tuple[int, str]] = (60, "compare")

    part: Annotated[tuple[Part, ...], BeforeValidator(listed)] = Field(
        (), description="do this part alone, repeatable; none given: all, shift with --against, ablation with --ablate"
    )
    permutations: int = Field(1_000, ge=1, description="permutations of units, the null of dimensions")
    rotations: int = Field(20, ge=1, description="rotated bases, the control of dimensions")
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
    against: str = Field("", description="another model, or the run directory of one: how far it moved")
    text_set: Annotated[tuple[str, ...], BeforeValidator(listed)] = Field(
        (), description="NAME=SOURCE, sentences that both models read; SOURCE as --corpus of ingest; repeatable"
    )
    text_column: str = Field("text", description="column of the text sets that holds the text")
    split: Literal["sentences", "none"] = Field(
        "sentences", description="split the text sets' text, or take a row as one sentence"
    )
    text_limit: int = Field(10_000, ge=1, description="most sentences of a text set, a uniform sample of distinct ones")
    resamples: int = Field(1_000, ge=1, description="bootstrap resamples behind the intervals of a shift")
    ablate: int = Field(
        0, ge=0, description="neurons of every property, those with most of it, to be set to their mean"
    )
    ablate_most: int = Field(100, ge=1, description="most neurons in all that --ablate takes")
    ablate_random: int = Field(10, ge=1, description="neurons drawn from each layer, the null of --ablate")
    ablate_sentences: int = Field(100, ge=1, description="sentences of the sample read once for each neuron")
    figure_layer: int = Field(6, ge=1, description="layer whose groups are drawn (the last one where there are fewer)")
    figure_units: str = Field("301:350", description="FIRST:LAST, the units that the heat map of dimensions shows")
