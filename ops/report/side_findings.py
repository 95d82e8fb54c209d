"""Summaries of a side job's findings in a few sentences, which are shown at the top of its page."""

from collections import Counter
from collections.abc import Callable, Container
from contextlib import suppress
from typing import Any

import pyarrow.compute as pc

from ops.outputs.control_rows import said_checked, said_peaked
from ops.storage.store import Store
from ops.storage.tables import read_table
from ops.topk.silent import read_heard

Row = dict[str, Any]
Rows = list[Row]


def side_findings(store: Store, tables: Container[str], job: str) -> list[str]:
    """Return sentences that summarise a side job's findings, the most important first; none for other jobs.

    Args:
        store: the run's folder.
        tables: the names of the tables that the run has.
        job: the name of the side job.
    """
    said: list[str] = []
    for table, tell, where in _TOLD.get(job, ()):
        if table in tables:
            if table == "explanations":
                rows = read_heard(store, table, where, ["layer", "unit", "verdict"]).to_pylist()
            else:
                rows = read_table(store, table, where).to_pylist()
            with suppress(KeyError):  # an earlier version's table may lack a column
                said += tell(rows) if rows else []
    return said


def _explained(rows: Rows) -> list[str]:
    found = Counter(row["verdict"] for row in rows)
    said = [
        f"{found['explained']:,} of {len(rows):,} neurons and poles have an explanation that holds on held-out "
        f"documents. For {found['nuisance']:,} length and source do as well, and for {found['none']:,} no rule was "
        "found."
    ]
    if found["weak"]:
        said.append(f"{found['weak']:,} have too few winners in held-out documents to tell.")
    return said


def _controls(rows: Rows) -> list[str]:
    medians = {
        basis: _mean(r["q50"] for r in rows if r["basis"] == basis) for basis in ("neurons", "rotated", "shuffled")
    }
    neurons, rotated = medians["neurons"], medians["rotated"]
    if neurons is None:
        return []
    said = f"Beyond length and source, a few literals explain {_percent(neurons)} of the middle neuron's activation"
    beside = "" if rotated is None else f"; of the middle axis of a random rotation, {_percent(rotated)}"
    return [f"{said} (mean over layers){beside}."]


def _psi(rows: Rows) -> list[str]:
    said = []
    known = [row for row in rows if row["z_qkv"] is not None]
    if known:
        best = max(known, key=lambda row: row["z_qkv"])
        tokens = ", ".join(f"“{token}”" for token in best["tokens"][:4])
        said.append(
            f"Head {best['head']} of layer {best['layer']} picks out one group of tokens most clearly: {tokens} "
            f"({best['type']}), {best['z_qkv']:.1f} standard deviations from random tokens."
        )
    types = Counter(row["type"] for row in rows)
    leading, heads = types.most_common(1)[0]
    return [*said, f"In {heads} of {len(rows)} heads the cluster that is stretched most is mainly of type {leading}."]


def _agreement(rows: Rows) -> list[str]:
    mean = _mean(row["rand_index"] for row in rows)
    return [f"Clusters of other seeds agree with an adjusted Rand index of {mean:.2f} (1: the same; 0: by chance)."]


def _mixing(rows: Rows) -> list[str]:
    whole = [row for row in rows if row["token_class"] == "all"]
    means = {
        stage: _mean(r["mean"] for r in whole if r["stage"] == stage) for stage in ("attn", "attn_res", "attn_res_ln")
    }
    if None in means.values():
        return []
    said = [
        f"Attention alone takes {_percent(means['attn'])} of a token's new vector from other tokens; with the residual "
        f"it is {_percent(means['attn_res'])}, after LayerNorm {_percent(means['attn_res_ln'])} (means over layers)."
    ]
    last = [row for row in whole if row["stage"] == "attn_res_ln"]
    most, least = max(last, key=lambda row: row["mean"]), min(last, key=lambda row: row["mean"])
    return [
        *said,
        f"Layer {most['layer']} mixes most ({_percent(most['mean'])}), layer {least['layer']} least "
        f"({_percent(least['mean'])}).",
    ]  # fmt: skip


def _positions(rows: Rows) -> list[str]:
    last = max(row["layer"] for row in rows)
    found = {row["reference"]: row["mean"] for row in rows if (row["layer"], row["variant"]) == (last, "none")}
    if "default" not in found:
        return []
    chance = f"; two random tokens have {found['random_pair']:.2f}" if "random_pair" in found else ""
    return [
        "Without position embeddings, a token's state in the last layer has a mean cosine of "
        f"{found['default']:.2f} with its usual state{chance}."
    ]


def _perplexity(rows: Rows) -> list[str]:
    found = {row["variant"]: row["corpus"] for row in rows}
    if not {"default", "none"} <= found.keys():
        return []
    return [f"Perplexity is {found['default']:,.4g} with position embeddings and {found['none']:,.4g} without."]


def _analogies(rows: Rows) -> list[str]:
    known = [r for r in rows if r["category"] == "all" and r["excluded"] and r["accuracy"] is not None]
    if not known:
        return []
    best = max((r for r in known if r["rule"] != "nearest_c"), key=lambda r: r["accuracy"], default=None)
    if best is None:
        return []
    said = (
        f"The space {best['space']} answers most analogies: {_percent(best['accuracy'])} of {best['n_known']:,} "
        f"questions whose words it knows{_interval(best, 'low', 'high')}."
    )
    near = [r for r in known if (r["rule"], r["space"]) == ("nearest_c", best["space"])]
    plain = f" The word nearest to the third is the answer to {_percent(near[0]['accuracy'])}." if near else ""
    return [said + plain]


def _confusion(rows: Rows) -> list[str]:
    said = []
    for name in dict.fromkeys(row["set"] for row in rows):
        own = {row["features"]: row for row in rows if row["set"] == name}
        tried = [row for features, row in own.items() if features not in ("majority", "shuffled")]
        if tried and "majority" in own:
            best = max(tried, key=lambda row: row["accuracy"])
            said.append(
                f"Among “{name.replace(' ', ', ')}”, {best['features']} chooses right in {_percent(best['accuracy'])}"
                f"{_interval(best, 'low', 'high')}; always the most frequent word is right in "
                f"{_percent(own['majority']['accuracy'])}."
            )
    return said[:3]


def _sentences(rows: Rows) -> list[str]:
    tried = [r for r in rows if r["space"] != "shuffled" and r["auc"] is not None and r["against"] == "same_document"]
    if not tried:
        return []
    best = max(tried, key=lambda row: row["auc"])
    return [
        f"The next sentence is nearer than another one of its document in {_percent(best['auc'])} of pairs by "
        f"{best['space']}{_interval(best, 'low', 'high')}; by chance 50 %."
    ]


def _masked(rows: Rows) -> list[str]:
    (own,) = rows[:1]
    return [
        f"At a masked place, the model's likeliest token is the true one in {_percent(own['first'])} of "
        f"{own['n']:,} places{_interval(own, 'first_low', 'first_high')}."
    ]


def _hashing(rows: Rows) -> list[str]:
    coded = [row for row in rows if row["code"] == "bits" and row["method"] not in ("states", "shuffled")]
    if not coded:
        return []
    best = max(coded, key=lambda row: row["precision"])
    return [
        f"Codes of {best['size']} bits ({best['method']}) find neighbours of the same {best['label']} in "
        f"{_percent(best['precision'])}; by chance {_percent(best['chance'])}."
    ]


def _finetuned(rows: Rows) -> list[str]:
    last = max(rows, key=lambda row: row["epoch"])
    return [
        f"After {last['epoch']} epochs the classifier is right on {_percent(last['test_accuracy'])} of {last['n']:,} "
        f"documents that it was not trained on; always the most frequent label: {_percent(last['majority_accuracy'])}."
    ]


def _mean(values: Any) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _percent(share: float | None) -> str:
    """Return a share in percent with at most two significant digits.

    >>> _percent(0.0831), _percent(0.567), _percent(0.0), _percent(1.0)
    ('8.3 %', '57 %', '0 %', '100 %')
    """
    if share is None:
        return "an unknown share"
    return f"{100 * share:.2g} %" if 0 < abs(share) < 0.1 else f"{100 * share:.0f} %"


def _interval(row: Row, low: str, high: str) -> str:
    if row[low] is None or row[high] is None:
        return ""
    return f" (95 %: {_percent(row[low])} to {_percent(row[high])})"


Told = tuple[str, Callable[[Rows], list[str]], pc.Expression | None]

_R2_BEYOND = (pc.field("model") == "range") & (pc.field("measure") == "r2_beyond")
_TOLD: dict[str, tuple[Told, ...]] = {
    "explain": (("explanations", _explained, None), ("explain/controls", _controls, _R2_BEYOND)),
    "psi": (("psi/clusters", _psi, pc.field("rank") == 1), ("psi/agreement", _agreement, None)),
    "mixing": (("mixing/ratios", _mixing, None),),
    "positions": (("positions/similarity", _positions, None), ("positions/perplexity", _perplexity, None)),
    "meaning": (
        ("meaning/analogies", _analogies, None),
        ("meaning/confusion", _confusion, None),
        ("meaning/sentences", _sentences, None),
        ("meaning/masked_words", _masked, pc.field("property") == "all"),
        ("meaning/hashing", _hashing, None),
    ),
    "outputs": (("outputs/controls", said_peaked, None), ("outputs/checks", said_checked, None)),
    "finetune": (("finetune/epochs", _finetuned, None),),
}
