"""Mine the patterns that each neuron's winners share, and compare them with the corpus's baseline.

    atlas mine --out runs/docs --preset small
    ray job submit --working-dir . -- python -m jobs.mine --out s3://bucket/run --preset paper

Writes patterns/, profiles/, means/ and scores/. With --null-sets it also writes chance/, which says how many neurons
have a finding, and how many would by chance. Needs topk/ (jobs.topk) and sentences/ (jobs.annotate).

What to expect (two cores shared with other work, November 2026): 2,304 neurons with 100 winners each take 91 s, the
start of the workers included. 9,216 neurons take 0.1 core-hours with 100 winners, 0.9 with 1,000 and 4 with 10,000
(`python -m bench mine`, Intel Xeon). More than half of this time is for the held-out scores, which --no-scores skips.
A worker that processed 64 neurons with 10,000 winners each used 0.9 GB while it mined and 1.2 GB while it wrote the
tables; it now processes 16 such neurons at a time.
"""

from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field

from jobs.options.configs import StageConfig, UnitsConfig, listed
from jobs.stage.main import Job


class MineConfig(UnitsConfig):
    """Options of `mine`."""

    heading: ClassVar[tuple[int, str]] = (50, "Patterns (mine)")

    engine: Literal["compiled", "prefixspan"] = Field(
        "compiled",
        description="Mine words and tags with the compiled miner, or the prefixspan package (slow, no gap limit)",
    )
    word_min_support: float = Field(
        0.005, gt=0, le=1, description="Keep word patterns that at least this share of the winners contain"
    )
    word_max_length: int = Field(4, ge=1, description="Keep word patterns of at most this many words")
    word_max_gap: int = Field(
        4, ge=-1, description="Skip at most this many words between neighbours of a word pattern; -1: no limit"
    )
    word_case: Literal["keep", "lower"] = Field("keep", description="Keep words as written, or fold them to lower case")
    punctuation: Literal["drop", "keep"] = Field(
        "drop", description="Drop punctuation from word and tag patterns, or keep it"
    )
    tag_min_support: float = Field(
        0.01, gt=0, le=1, description="Keep tag patterns that at least this share of the winners contain"
    )
    tag_max_length: int = Field(5, ge=1, description="Keep tag patterns of at most this many tags")
    tag_max_gap: int = Field(
        2, ge=-1, description="Skip at most this many tags between neighbours of a tag pattern; -1: no limit"
    )
    subtree_min_support: float = Field(
        0.01, gt=0, le=1, description="Keep subtrees that at least this share of the winners contain"
    )
    subtree_max_nodes: int = Field(5, ge=2, description="Keep subtrees of at most this many nodes")
    subtree_root: Literal["keep", "collapse"] = Field(
        "keep", description="Keep an S right under ROOT, or collapse it into ROOT"
    )
    min_count: int = Field(
        5,
        ge=1,
        description="Keep patterns and profile values that at least this many winners have, whatever their share",
    )
    productivity: float = Field(
        1.05, ge=0, description="Require this lift over each pattern that is one item shorter; 0: keep all patterns"
    )
    nuisance: Annotated[tuple[str, ...], BeforeValidator(listed)] = Field(
        (),
        description="Take this metadata key for a source, like data set and length, not a finding; repeatable",
    )
    no_scores: bool = Field(False, description="Skip the held-out scores, which take more than half of the time")
    null_sets: int = Field(
        0, ge=0, description="Also mine this many random sets of each kind, to measure what chance shows; 0: none"
    )
    max_patterns: int = Field(
        1_000, ge=0, description="Keep at most this many patterns per neuron, pole and kind, by rank; 0: all"
    )


MINE_OPTIONS = tuple(MineConfig.model_fields.keys() - StageConfig.model_fields.keys())


JOB = Job("mine", MineConfig, "jobs.mine.steps:mine", __doc__)
