"""Mine what each neuron's winners have in common, and set it against the corpus's baseline.

    python -m jobs.mine --out runs/docs --preset small
    ray job submit --working-dir . -- python -m jobs.mine --out s3://bucket/run --preset paper

Writes patterns/, profiles/, means/ and scores/, and with --null-sets chance/: how many neurons show something, and how
many would by chance. Needs topk/ (jobs.topk) and sentences/ (jobs.annotate).

What to expect (two cores shared with others, November 2026): 2,304 neurons and 100 winners take 91 s, workers' starts
included. 9,216 neurons take 0.1 core-hours with 100 winners, 1.1 with 1,000 and 8 with 10,000, more than half of it for
the held-out scores but with 10,000 (`python -m bench mine`); --no-scores leaves them out. A worker that was given 64
neurons with 10,000 winners each held 0.9 GB while it mined and 1.2 GB while it wrote the tables; it is now given 16.
"""

from functools import partial
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from jobs.stage.command_line import Job, in_run
from jobs.stage.options import StageConfig, UnitsConfig

if TYPE_CHECKING:
    from jobs.stage.run import Run


class MineConfig(UnitsConfig):
    """Options of `mine`."""

    heading: ClassVar[tuple[int, str]] = (50, "mine: patterns, against the baseline")

    engine: Literal["compiled", "prefixspan"] = Field(
        "compiled", description="miner of words and tags: ours, or the prefixspan package (slow, no gap limit)"
    )
    word_min_support: float = Field(
        0.005, gt=0, le=1, description="least share of the winners that contain a word pattern"
    )
    word_max_length: int = Field(4, ge=1, description="most words of a pattern")
    word_max_gap: int = Field(4, ge=-1, description="most words skipped between neighbours of a pattern; -1: no limit")
    word_case: Literal["keep", "lower"] = Field("keep", description="words as written, or folded to lower case")
    punctuation: Literal["drop", "keep"] = Field(
        "drop", description="leave punctuation out of word and tag patterns, or keep it in"
    )
    tag_min_support: float = Field(
        0.01, gt=0, le=1, description="least share of the winners that contain a tag pattern"
    )
    tag_max_length: int = Field(5, ge=1, description="most tags of a pattern")
    tag_max_gap: int = Field(2, ge=-1, description="most tags skipped between neighbours of a pattern; -1: no limit")
    subtree_min_support: float = Field(
        0.01, gt=0, le=1, description="least share of the winners that contain a subtree"
    )
    subtree_max_nodes: int = Field(5, ge=2, description="most nodes of a subtree")
    subtree_root: Literal["keep", "collapse"] = Field(
        "keep", description="collapse: merge an S right under ROOT into it"
    )
    min_count: int = Field(5, ge=1, description="least winners with a pattern or a profile's value, whatever the share")
    productivity: float = Field(
        1.05, ge=0, description="least lift over that of each pattern one item shorter; 0 keeps all patterns"
    )
    no_scores: bool = Field(False, description="leave out the held-out scores, which take more than half of the time")
    null_sets: int = Field(
        0, ge=0, description="random sets of each way that are mined too, to say how much chance alone shows; 0: none"
    )
    max_patterns: int = Field(1_000, ge=0, description="most patterns of a neuron, pole and kind, by rank; 0: all")


MINE_OPTIONS = tuple(MineConfig.model_fields.keys() - StageConfig.model_fields.keys())


def do(config: MineConfig, record: "Run") -> None:
    """Do the stage, or what is missing of it."""
    from jobs.mine.plan import plan
    from jobs.mine.steps import mine
    from jobs.stage.copies import drop_copies
    from jobs.stage.runner import StageSpec, run_stage
    from jobs.stage.units import chosen_units

    check(config)
    if config.engine == "prefixspan":
        config = config.model_copy(update={"word_max_gap": -1, "tag_max_gap": -1})
    record.require_current("annotate")
    config = config.model_copy(update={"units": chosen_units(config, record, "mined")})
    depends_on = {
        name: value for name, value in config.model_dump(mode="json").items() if name in (*MINE_OPTIONS, "seed")
    }
    spec = StageSpec("mine", depends_on, partial(mine, config), partial(plan, config), ("patterns", "patterns"))
    stage = run_stage(spec, config, record)
    if stage is not None and not (config.dry_run or config.keep_partials):
        drop_copies(stage)


def check(config: MineConfig) -> None:
    """Refuse a gap limit for the prefixspan package, which knows none.

    Raises:
        InputError: one was asked for.
    """
    from ops.errors import InputError

    for name in ("word_max_gap", "tag_max_gap"):
        given = name in config.model_fields_set and getattr(config, name) != MineConfig.model_fields[name].default
        if config.engine == "prefixspan" and given and getattr(config, name) >= 0:
            raise InputError(
                f"--{name.replace('_', '-')}: the prefixspan engine has no gap limit; give -1 or leave it out"
            )


JOB = Job("mine", MineConfig, in_run(do), __doc__)
