"""The tables that each stage writes and reads, and the names of the folders for internal files.

Unfinished work is stored below `_partials/`, and the codes that mining reads are stored below `_store/`. The tokens of
corpus/, which passes of the model read, are stored below `_tokens/`. These names are defined only here.
"""

from collections.abc import Iterable
from dataclasses import dataclass

PARTIALS = "_partials"
CODES = "_store"
TOKENS = "_tokens"  # if this folder is missing, a pass tokenizes corpus/ again


@dataclass(frozen=True)
class StageFacts:
    """The properties of a stage that are known before it runs.

    Attributes:
        tables: the folders that hold its results.
        reads: the stages whose results it reads itself.
        also: the stages whose results it reads only if they are complete.
        partials: the folder that holds its unfinished work.
        method: the version of its method, increased when the same options give different results or partial files.
    """

    tables: tuple[str, ...]
    reads: tuple[str, ...]
    partials: str
    method: int = 1
    also: tuple[str, ...] = ()


def _stage(
    name: str, tables: str, reads: str = "ingest", partials: str = "", method: int = 1, also: str = ""
) -> tuple[str, StageFacts]:
    folder = f"{PARTIALS}/{partials or name}"
    return name, StageFacts(tuple(tables.split()), tuple(reads.split()), folder, method, tuple(also.split()))


def _side(name: str, tables: str, reads: str = "ingest", partials: str = "", method: int = 1) -> tuple[str, StageFacts]:
    """Return the facts of a stage whose tables are all in the folder of its job."""
    job = name.partition("/")[0]
    return _stage(name, " ".join(f"{job}/{table}" for table in tables.split()), reads, partials, method)


# In the order in which the stages depend on each other. A stage `job/part` is a part of a job that can be run or left
# out separately.
STAGES: dict[str, StageFacts] = dict(
    (
        _stage("ingest", f"corpus rejects {TOKENS}", reads="", method=2),
        _stage("topk", "topk topk_by_dataset neurons activations unscored", method=3),
        _stage("annotate", f"sentences {CODES}", "ingest topk", method=2),
        _stage("mine", "patterns profiles means scores chance", "topk annotate", method=3),
        _stage(
            "explain",
            "explanations explanation_terms explanation_folds families examples explain/controls explain/literals "
            "explain/figures",
            "topk annotate mine",
            method=4,
        ),
        _stage("tokens", "token_activations peaks negative_tokens", "topk annotate", method=3, also="explain"),
        _side(
            "audit",
            "portability portability_controls patterns patterns_controls neurons neurons_controls figures",
            "ingest topk annotate mine explain",
        ),
        _side("psi", "vocabulary tokens clusters agreement figures", reads="", partials="psi/vocabulary"),
        _side("psi/contextual", "contextual"),
        _side("mixing", "ratios lengths norms tokens figures"),
        _side(
            "positions",
            "similarity by_class by_position norms perplexity perplexity_by_position labels figures",
            method=3,
        ),
        _side("meaning/counts", "contexts words", method=2),
        _side("meaning/offsets", "neighbours analogies analogy_differences figures", "ingest meaning/counts", method=2),
        _side("meaning/confusion", "confusion confusion_figures", method=2),
        _side("meaning/sentences", "sentences masked_words translations sentences_figures", method=3),
        _side("meaning/hashing", "hashing plane hashing_figures", method=2),
        _side("outputs", "tokens neurons controls checks figures", "ingest topk"),
        _side("contrast", "units probes controls figures", "ingest topk"),
        _side("finetune", "train test epochs labels model figures"),
        _side("compare/dimensions", "dimensions rotated figures/dimensions", "topk annotate mine", method=2),
        _side("compare/diversity", "diversity figures/diversity", "ingest topk"),
        _side(
            "compare/groups",
            "groups joint_groups sentence_groups group_quality group_traits figures/groups",
            "topk mine",
        ),
        _side("compare/neighbours", "neighbours nearest figures/neighbours", "topk"),
        _side("compare/matches", "matches universal figures/matches", "topk"),
        _side("compare/runs", "runs figures/runs", "topk mine"),
        _side("compare/shift", "shift shift_layers shift_neurons figures/shift", "ingest topk", method=2),
        _side("compare/ablation", "ablation figures/ablation", "topk annotate mine", method=2),
        _stage("report", "report report/neurons report/side report/figures", "topk annotate mine"),
    )
)


def stages_read(stage: str, also: Iterable[str] = ()) -> list[str]:
    """Return the stages that a stage's results depend on, directly or indirectly, in the order of `STAGES`."""
    found: set[str] = set()
    for read in (*STAGES[stage].reads, *also):
        found |= {read, *stages_read(read)}
    return [name for name in STAGES if name in found]


def stages_after(stage: str) -> list[str]:
    """Return the stages whose results can depend on this stage's results, directly or indirectly."""
    return [name for name, facts in STAGES.items() if stage in stages_read(name, facts.also)]
