"""What each stage writes, which stage reads which, and the folders of what is nobody's interface.

What is under way lies below `_partials/`, and the codes that mining reads below `_store/`: spelled nowhere but here.
"""

from dataclasses import dataclass

PARTIALS = "_partials"
CODES = "_store"
GROUP_TABLES = ("groups", "joint_groups", "sentence_groups", "group_quality", "group_traits")


@dataclass(frozen=True)
class StageFacts:
    """What is known of a stage before it runs.

    Attributes:
        tables: the folders that hold its results.
        reads: the stages whose results it reads itself.
        partials: the folder of what it has under way.
    """

    tables: tuple[str, ...]
    reads: tuple[str, ...]
    partials: str


def _compare(part: str, tables: tuple[str, ...], reads: tuple[str, ...]) -> StageFacts:
    names = [f"compare/{table}" for table in (*tables, f"figures/{part}")]
    return StageFacts(tuple(names), reads, f"{PARTIALS}/compare/{part}")


# In the order of the picture. A stage `job/part` is a part of a job that is done or left out by itself.
STAGES: dict[str, StageFacts] = {
    "ingest": StageFacts(("corpus", "rejects"), (), f"{PARTIALS}/ingest"),
    "topk": StageFacts(("topk", "neurons", "activations", "unscored"), ("ingest",), f"{PARTIALS}/topk"),
    "annotate": StageFacts(("sentences", CODES), ("ingest", "topk"), f"{PARTIALS}/annotate"),
    "mine": StageFacts(("patterns", "profiles", "means", "scores"), ("topk", "annotate"), f"{PARTIALS}/mine"),
    "tokens": StageFacts(("token_activations", "peaks"), ("topk", "annotate"), f"{PARTIALS}/tokens"),
    "psi": StageFacts(
        ("psi/vocabulary", "psi/tokens", "psi/clusters", "psi/agreement", "psi/figures"),
        (),
        f"{PARTIALS}/psi/vocabulary",
    ),
    "psi/contextual": StageFacts(("psi/contextual",), ("ingest",), f"{PARTIALS}/psi/contextual"),
    "mixing": StageFacts(
        ("mixing/ratios", "mixing/lengths", "mixing/norms", "mixing/tokens", "mixing/figures"),
        ("ingest",),
        f"{PARTIALS}/mixing",
    ),
    "positions": StageFacts(
        (
            *("positions/similarity", "positions/by_class", "positions/by_position", "positions/norms"),
            *("positions/perplexity", "positions/perplexity_by_position", "positions/labels", "positions/figures"),
        ),
        ("ingest",),
        f"{PARTIALS}/positions",
    ),
    "meaning/counts": StageFacts(("meaning/contexts", "meaning/words"), ("ingest",), f"{PARTIALS}/meaning/counts"),
    "meaning/offsets": StageFacts(
        ("meaning/neighbours", "meaning/analogies", "meaning/figures"),
        ("ingest", "meaning/counts"),
        f"{PARTIALS}/meaning/offsets",
    ),
    "meaning/confusion": StageFacts(
        ("meaning/confusion", "meaning/confusion_figures"), ("ingest",), f"{PARTIALS}/meaning/confusion"
    ),
    "meaning/sentences": StageFacts(
        ("meaning/sentences", "meaning/masked_words", "meaning/translations", "meaning/sentences_figures"),
        ("ingest",),
        f"{PARTIALS}/meaning/sentences",
    ),
    "meaning/hashing": StageFacts(
        ("meaning/hashing", "meaning/plane", "meaning/hashing_figures"), ("ingest",), f"{PARTIALS}/meaning/hashing"
    ),
    "finetune": StageFacts(
        tuple(f"finetune/{table}" for table in ("train", "test", "epochs", "labels", "model", "figures")),
        ("ingest",),
        f"{PARTIALS}/finetune",
    ),
    "compare/dimensions": _compare("dimensions", ("dimensions", "rotated"), ("topk", "annotate", "mine")),
    "compare/diversity": _compare("diversity", ("diversity",), ("ingest", "topk")),
    "compare/groups": _compare("groups", GROUP_TABLES, ("topk", "mine")),
    "compare/neighbours": _compare("neighbours", ("neighbours", "nearest"), ("topk",)),
    "compare/shift": _compare("shift", ("shift", "shift_layers", "shift_neurons"), ("topk",)),
    "compare/ablation": _compare("ablation", ("ablation",), ("topk", "annotate", "mine")),
    "report": StageFacts(
        ("report", "report/neurons", "report/side"), ("topk", "annotate", "mine"), f"{PARTIALS}/report"
    ),
}


def made_anew(out: str, stage: str, table: str, wrong: str) -> str:
    """Return what is wrong with a table, and the command that makes it anew."""
    job = stage.partition("/")[0]
    return f"--out {out}: {wrong}; python -m jobs.{job} --out {out} --redo makes {table}/ anew"


def stages_read(stage: str) -> list[str]:
    """Return the stages that a stage's results follow from, directly or through others, in the order of the picture."""
    found = set(STAGES[stage].reads)
    for read in STAGES[stage].reads:
        found |= set(stages_read(read))
    return [name for name in STAGES if name in found]


def stages_after(stage: str) -> list[str]:
    """Return the stages whose results follow from this one's, directly or through others."""
    return [name for name in STAGES if stage in stages_read(name)]
