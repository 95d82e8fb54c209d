"""What the page of a side job shows: what was measured, its figures, and the tables that say it shortest."""

from dataclasses import dataclass, replace
from typing import Any

import pyarrow.compute as pc
import pyarrow.dataset as ds

from ops.errors import visible
from ops.report.figure_copies import caption, copy_name
from ops.report.side_findings import side_findings
from ops.schema import TABLES
from ops.show.audit_findings import read_audit_findings, verdict_lines
from ops.show.comparison import lay_out_comparison, read_findings
from ops.storage.store import Store

Row = dict[str, Any]
MOST_ROWS = 200  # of a table on a page
FINDINGS_ROWS, FINDINGS_WIDTH = 8, 120


@dataclass(frozen=True)
class ShownTable:
    """A table of a page.

    Attributes:
        table: its name.
        about: what to look for in it.
        columns: those shown, in order.
        up_to: a column of ranks and the last that is shown; empty for all rows.
        only: which rows are shown; None for all.
    """

    table: str
    about: str
    columns: tuple[str, ...]
    up_to: tuple[str, int] | None = None
    only: pc.Expression | None = None


@dataclass(frozen=True)
class SideJob:
    """A side job: its title, what it measures and where that is from, how to print more, and its tables."""

    title: str
    about: str
    more: str
    tables: tuple[ShownTable, ...]


_MOMENTS = ("n", "mean", "std")
_INTERVAL = ("accuracy", "low", "high")

SIDE_JOBS = {
    "explain": SideJob(
        "How well neurons are explained: explain",
        "R2 is the share of an activation's variance that a few literals explain on held-out documents. F1 says how "
        "well winners are told from other sentences there. Next to them: randomly rotated axes, shuffled activations.",
        "python -m jobs.show --neuron prints a neuron's explanation; docs/explanations.md says how it is made",
        (
            ShownTable(
                "explain/controls",
                "By layer, basis, model and measure; r2_beyond: what is left of R2 beyond length, data set and "
                "metadata.",
                ("layer", "basis", "model", "measure", "n", "mean", "q05", "q25", "q50", "q75", "q95"),
            ),
        ),
    ),
    "audit": SideJob(
        "Whether explanations hold in other data sets: audit",
        "A rule, the score card, is learned for each neuron and pole in each data set and asked for the winners in all "
        "others. Transfer is what it gains there over what the data set's own card gains, each over the card of a "
        "random set. Next to it: two halves of one data set, and data sets permuted over documents (Bolukbasi 2021).",
        "python -m jobs.show --audit prints the findings; docs/audit.md says how it is measured",
        (
            ShownTable(
                "audit/neurons",
                "Neurons and poles that are global, or follow the data set.",
                (
                    "layer", "unit", "pole", "verdict", "transfer", "transfer_low", "transfer_high", "eta_squared",
                    "holds_in", "found_in", "datasets", "n",
                ),
                only=pc.field("verdict").isin(["global", "dataset_detector"]),
            ),
            ShownTable(
                "audit/patterns",
                "Literals that are global.",
                (
                    "layer", "unit", "pole", "model", "kind", "pattern", "negated", "significant", "i_squared", "lift",
                    "mantel_haenszel", "mantel_haenszel_low", "mantel_haenszel_high", "verdict",
                ),
                only=pc.field("verdict") == "global",
            ),
        ),
    ),
    "psi": SideJob(
        "What attention heads stretch: psi",
        "psi is how many times as long a head's projection makes a token's vector, by dimension; psi_qkv is the "
        "product for query, key and value (Maeda 2024). Tokens in clusters, the word embeddings alone.",
        "python -m jobs.show --psi LAYER:HEAD prints a head",
        (
            ShownTable(
                "psi/clusters",
                "The three clusters that each head stretches most. z: standard deviations from a random group of as "
                "many tokens; clusters of a token or two lead by chance.",
                ("layer", "head", "rank", "type", "tokens", "n", "psi_qkv", "z_qkv", "psi_q", "psi_k", "psi_v"),
                ("rank", 3),
            ),
            ShownTable(
                "psi/agreement",
                "How far runs of k-means with other seeds agree (1: equal; 0: as by chance).",
                ("run_a", "run_b", "rand_index"),
            ),
        ),
    ),
    "mixing": SideJob(
        "What a token's vector takes from others: mixing",
        "The mixing ratio is the share of a token's new vector that comes from the other tokens, for attention alone, "
        "with the residual, and after LayerNorm (Kobayashi 2021).",
        "docs/mixing.md says how it is measured",
        (
            ShownTable(
                "mixing/ratios",
                "By layer, stage and class of tokens.",
                ("layer", "stage", "token_class", *_MOMENTS),
            ),
            ShownTable(
                "mixing/norms",
                "The norms from which they are computed.",
                ("layer", "quantity", "token_class", *_MOMENTS),
            ),
        ),
    ),
    "positions": SideJob(
        "The model without its position embeddings: positions",
        "Cosines of each token's state with its state under the model's own positions, beside random references; for "
        "decoders the perplexity (Hirata 2024).",
        "python -m jobs.show --positions prints the main table",
        (
            ShownTable(
                "positions/similarity",
                "Cosines by layer and variant; the references say what is to be expected by chance.",
                ("layer", "variant", "reference", *_MOMENTS),
            ),
            ShownTable(
                "positions/perplexity",
                "Perplexity of each variant, in three readings.",
                ("variant", "n", "corpus", "mean", "token_mean"),
            ),
            ShownTable(
                "positions/labels",
                "How well a classifier finds the label from mean states of the last layer, over repeated splits by "
                "document; difference: from the accuracy of default on the same splits.",
                (
                    "label", "features", "splits", "n_train", "n", "classes", *_INTERVAL, "std",
                    "difference", "difference_low", "difference_high",
                ),
            ),
        ),
    ),
    "meaning": SideJob(
        "What words and sentences mean: meaning",
        "Words by the words around them (PPMI, truncated SVD), by the model's token table and by its layers: answers "
        "to analogies, and the choice among confused words. Sentences by their next ones, masked words, translations, "
        "and neighbours by short codes.",
        "python -m jobs.show --word WORD prints a word's neighbours in every space",
        (
            ShownTable(
                "meaning/analogies",
                "Share of analogies answered; excluded: the three given words were no answers; nearest_c: the word "
                "nearest to the third.",
                ("space", "category", "rule", "excluded", "n", "n_known", "pairs", *_INTERVAL),
            ),
            ShownTable(
                "meaning/analogy_differences",
                "Accuracy minus that in a space before it, by the same questions; 0 within low and high: no difference "
                "is shown.",
                ("space", "other", "category", "rule", "excluded", "n_known", "pairs", "difference", "low", "high"),
            ),
            ShownTable(
                "meaning/confusion",
                "How often a classifier chooses the right one of confused words; balanced: mean over the words, so "
                "that frequent ones count no more than rare ones; majority and shuffled: by chance.",
                (
                    "set", "features", "n", "n_test", "documents", *_INTERVAL, "balanced_accuracy", "balanced_low",
                    "balanced_high",
                ),
            ),
            ShownTable(
                "meaning/sentences",
                "How often the next sentence is nearer than another one; chance: 0.5; tokens: by those shared.",
                ("space", "against", "n", "documents", "auc", "low", "high"),
            ),
            ShownTable(
                "meaning/masked_words",
                "How the model's own head ranks the true token of a masked place.",
                ("property", "value", "n", "rank_median", "first", "first_low", "first_high", "within_10"),
            ),
            ShownTable(
                "meaning/translations",
                "Where a sentence's translation stands by cosine among all others.",
                ("space", "language", "other", "n", "reciprocal_rank", "low", "high", "chance"),
            ),
            ShownTable(
                "meaning/hashing",
                "Share of the nearest sentences by short codes that are of the same class, beside chance.",
                ("label", "method", "code", "size", "n", "precision", "low", "high", "chance", "error"),
            ),
        ),
    ),
    "compare": SideJob(
        "Layers, neurons and models compared with each other: compare",
        "Each finding is next to its null: permuted units, rotated bases, shuffled activations.",
        "python -m jobs.show --compare prints the findings",
        (
            ShownTable(
                "compare/nearest",
                "How near the nearest neuron is.",
                (
                    "layer", "reach", "n", "correlation", "correlation_of_rotated", "correlation_of_shuffled",
                    "overlap", "overlap_of_shuffled",
                ),
            ),
            ShownTable(
                "compare/diversity",
                "Error of k-means on the winners' vectors, beside uniformly drawn sentences.",
                ("layer", "clusters", "n", "n_distinct", "sse_per_point", "sse", "sse_of_uniform"),
            ),
            ShownTable(
                "compare/group_quality",
                "Groups of neurons and of sentences: how distinct, and how stable over seeds.",
                (
                    "layer", "grouped", "groups", "n", "silhouette", "silhouette_of_shuffled", "rand_index",
                    "rand_index_of_shuffled",
                ),
            ),
            ShownTable(
                "compare/universal",
                "Share of units whose best match in the other run is above a threshold: its excess over rotated "
                "layers, its |correlation|, and that of rotated layers. No layer: all of them together.",
                ("layer", "threshold", "n", "share", "correlated", "rotated"),
            ),
            ShownTable(
                "compare/runs",
                "Scores of this run next to those of a control; of a run like the control, 5 % are above its 95 % "
                "quantile. No layer: all of them together.",
                (
                    "table", "measure", "layer", "n", "mean", "median", "control_n", "control_mean",
                    "control_median", "control_q95", "share_above", "share_low", "share_high",
                ),
            ),
            ShownTable(
                "compare/shift_layers",
                "How far the two models' vectors are apart, by text set.",
                (
                    "text_set", "layer", "n", "manhattan", "manhattan_low", "manhattan_high",
                    "euclidean", "euclidean_low", "euclidean_high",
                ),
            ),
            ShownTable(
                "compare/ablation",
                "How far neurons move others when they are set to their mean, beside random ones of their layer and a "
                "like spread; own: the same unit of a later layer; b: the other neuron that moves most.",
                (
                    "property", "rank", "layer", "unit", "n", "moved", "n_random", "random", "random_high", "p_value",
                    "own_layer", "own_moved", "layer_b", "unit_b", "moved_b", "p_value_b",
                ),
            ),
        ),
    ),
    "outputs": SideJob(
        "Which tokens units promote: outputs",
        "What each unit writes, through the model's own head, made linear around the corpus's mean state; the layers "
        "between are left out. Next to it: random directions of the same layer.",
        "python -m jobs.show --neuron prints which tokens a neuron promotes and suppresses",
        (
            ShownTable(
                "outputs/controls",
                "How peaked the changes of the logits are, by layer; beyond: the share above the 95 % point of random "
                "directions, which is 5 % by chance.",
                ("layer", "basis", "measure", "n", "mean", "q05", "q25", "q50", "q75", "q95", "beyond"),
            ),
            ShownTable(
                "outputs/checks",
                "Units that were raised by one standard deviation in real sentences; shuffled: by the direct effect of "
                "unit b.",
                ("layer", "unit", "n", "correlation", "slope", "unit_b", "shuffled"),
            ),
        ),
    ),
    "finetune": SideJob(
        "The model as a classifier of documents: finetune",
        "How well it does on documents that it was not trained on, beside always giving the most frequent label.",
        "python -m jobs.compare --against this run tells how far the model moved",
        (
            ShownTable(
                "finetune/epochs",
                "Loss and accuracy by epoch.",
                ("epoch", "steps", "loss", "test_loss", "test_accuracy", "test_macro_f1", "majority_accuracy", "n"),
            ),
            ShownTable(
                "finetune/labels",
                "Each label on the test documents, after the last epoch.",
                ("label", "train", "test", "predicted", "correct", "f1"),
            ),
        ),
    ),
}  # fmt: skip


def side_jobs(run: Row) -> list[str]:
    """Return the side jobs that a run has results of, in the order of their pages; `run` is what run.json holds."""
    complete = {name.partition("/")[0] for name, entry in run["stages"].items() if entry["complete"]}
    return [job for job in SIDE_JOBS if job in complete]


def figure_files(run: Row) -> dict[str, list[str]]:
    """Return the SVG and PNG files of the figures of each side job that has any, by their paths in the run."""
    named = [f["name"] for files in run["tables"].values() for f in files]
    found = {
        job: [n for n in named if n.startswith(f"{job}/") and n.endswith((".svg", ".png"))] for job in side_jobs(run)
    }
    return {job: names for job, names in found.items() if names}


def drawings(run: Row, job: str) -> list[str]:
    """Return a side job's figures as SVG."""
    return [name for name in figure_files(run).get(job, []) if name.endswith(".svg")]


def figures_of(names: list[str]) -> list[Row]:
    """Return figures as pages show them: `file`, the copy's place in a site, and `caption`."""
    return [{"file": f"figures/{copy_name(name)}", "caption": caption(name)} for name in names]


def side_context(store: Store, run: Row, job: str) -> Row:
    """Return what the template of a side job's page takes, but for what all pages share."""
    side, findings, sentences = SIDE_JOBS[job], "", side_findings(store, run["tables"], job)
    if job == "compare":
        found = lay_out_comparison(read_findings(store, run["tables"]), FINDINGS_ROWS, FINDINGS_WIDTH)
        findings = "\n".join(visible(line) for line in found.split("\n"))
    elif job == "audit":
        audit = read_audit_findings(store)
        findings, sentences = "\n".join(verdict_lines(audit)), audit["sentences"]
    return {
        "side": side,
        "figures": figures_of(drawings(run, job)),
        "findings": findings,
        "sentences": sentences,
        "tables": [_read(store, table) for table in side.tables if run["tables"].get(table.table)],
    }


def _read(store: Store, table: ShownTable) -> Row:
    files = [store.path(name) for name in store.table_files(table.table)]
    opened = ds.dataset(files, filesystem=store.filesystem, format="parquet")
    where = pc.field(table.up_to[0]) <= table.up_to[1] if table.up_to else table.only
    # A run of an earlier version may lack columns.
    columns = tuple(name for name in table.columns if name in opened.schema.names)
    rows = opened.head(MOST_ROWS, filter=where, columns=list(columns)).to_pylist()
    return shown(replace(table, columns=columns), rows, opened.count_rows(filter=where))


def shown(table: ShownTable, rows: list[Row], total: int) -> Row:
    """Return what the template takes of a table: name, headings with their meanings, cells as text, and rows in all."""
    meanings = {c.name: c.meaning for c in TABLES[table.table].columns}
    numbers = {c.name for c in TABLES[table.table].columns if str(c.type).startswith(("int", "float"))}
    return {
        "name": table.table,
        "about": table.about,
        "heads": [{"name": c.replace("_", " "), "meaning": meanings[c], "number": c in numbers} for c in table.columns],
        "rows": [[{"text": cell(row[c]), "number": c in numbers} for c in table.columns] for row in rows],
        "total": total,
    }


def cell(value: Any) -> str:
    """Return a cell's text.

    >>> cell(0.123456), cell(12345), cell(None), cell(["a", "b"]), cell(True), cell(123456.7)
    ('0.123', '12,345', '-', 'a, b', 'yes', '123,457')
    """
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.3g}"
    return ", ".join(value) if isinstance(value, list) else f"{value:,}" if isinstance(value, int) else str(value)
