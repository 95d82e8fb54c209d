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

from typing import Literal

from jobs.options.configs import StageConfig, Texts, UnitsConfig, option
from jobs.stage.main import Job


class MineConfig(UnitsConfig):
    """Options of `mine`."""

    heading = (50, "Patterns (mine)")

    engine: Literal["compiled", "prefixspan"] = option(
        "compiled", "Mine words and tags with the compiled miner, or the prefixspan package (slow, no gap limit)"
    )
    word_min_support: float = option(
        0.005, "Keep word patterns that at least this share of the winners contain", gt=0, le=1
    )
    word_max_length: int = option(4, "Keep word patterns of at most this many words", ge=1)
    word_max_gap: int = option(
        4, "Skip at most this many words between neighbours of a word pattern; -1: no limit", ge=-1
    )
    word_case: Literal["keep", "lower"] = option("keep", "Keep words as written, or fold them to lower case")
    punctuation: Literal["drop", "keep"] = option("drop", "Drop punctuation from word and tag patterns, or keep it")
    tag_min_support: float = option(
        0.01, "Keep tag patterns that at least this share of the winners contain", gt=0, le=1
    )
    tag_max_length: int = option(5, "Keep tag patterns of at most this many tags", ge=1)
    tag_max_gap: int = option(2, "Skip at most this many tags between neighbours of a tag pattern; -1: no limit", ge=-1)
    subtree_min_support: float = option(
        0.01, "Keep subtrees that at least this share of the winners contain", gt=0, le=1
    )
    subtree_max_nodes: int = option(5, "Keep subtrees of at most this many nodes", ge=2)
    subtree_root: Literal["keep", "collapse"] = option("keep", "Keep an S right under ROOT, or collapse it into ROOT")
    min_count: int = option(
        5, "Keep patterns and profile values that at least this many winners have, whatever their share", ge=1
    )
    productivity: float = option(
        1.05, "Require this lift over each pattern that is one item shorter; 0: keep all patterns", ge=0
    )
    nuisance: Texts = option(
        (), "Take this metadata key for a source, like data set and length, not a finding; repeatable"
    )
    no_scores: bool = option(False, "Skip the held-out scores, which take more than half of the time")
    null_sets: int = option(
        0, "Also mine this many random sets of each kind, to measure what chance shows; 0: none", ge=0
    )
    max_patterns: int = option(
        1_000, "Keep at most this many patterns per neuron, pole and kind, by rank; 0: all", ge=0
    )


MINE_OPTIONS = tuple(MineConfig.model_fields.keys() - StageConfig.model_fields.keys())


JOB = Job("mine", MineConfig, "jobs.mine.steps:mine", __doc__)
