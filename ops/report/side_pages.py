"""The content of a side job's page: a description of the measurements, the figures, and the most important tables."""

from dataclasses import dataclass, replace
from typing import Any

import pyarrow.compute as pc
import pyarrow.dataset as ds

from ops.errors import visible
from ops.facts.audit_findings import read_audit_findings, verdict_lines
from ops.report.figure_copies import caption, copy_name
from ops.report.side_findings import side_findings
from ops.schema import TABLES
from ops.show.comparison import lay_out_comparison, read_findings
from ops.storage.store import Store

Row = dict[str, Any]
MOST_ROWS = 200  # maximum number of a table's rows on a page
FINDINGS_ROWS, FINDINGS_WIDTH = 8, 120


@dataclass(frozen=True)
class ShownTable:
    """A table of a page.

    Attributes:
        table: the table's name.
        about: a description of what the table shows.
        columns: the columns that are shown, in order.
        up_to: a column of ranks and the last rank that is shown; None for all rows.
        only: the condition for rows that are shown; None for all rows.
    """

    table: str
    about: str
    columns: tuple[str, ...]
    up_to: tuple[str, int] | None = None
    only: pc.Expression | None = None


@dataclass(frozen=True)
class SideJob:
    """A side job: its title, what it measures with its source, how to print or read more, and its tables."""

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
        "well they separate winners from other sentences there. Controls: randomly rotated axes, shuffled activations.",
        "atlas show --neuron prints a neuron's explanation; docs/explanations.md says how it is made",
        (
            ShownTable(
                "explain/controls",
                "By layer, basis, model and measure. r2_beyond is R2 minus the R2 of length, data set and metadata "
                "alone.",
                ("layer", "basis", "model", "measure", "n", "mean", "q05", "q25", "q50", "q75", "q95"),
            ),
        ),
    ),
    "audit": SideJob(
        "Whether explanations hold in other data sets: audit",
        "A rule, the score card, is learned for each neuron and pole in each data set and tested on the winners in all "
        "others. Transfer is its gain there divided by the gain of the data set's own card, both over the card of a "
        "random set. Controls: two halves of one data set, and data sets permuted over documents (Bolukbasi 2021).",
        "atlas show --audit prints the findings; docs/audit.md says how it is measured",
        (
            ShownTable(
                "audit/neurons",
                "Neurons and poles that are global, or that follow the data set.",
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
        "psi is the factor by which a head's projection stretches a token's vector, corrected for dimensions. psi_qkv "
        "is the product for query, key and value (Maeda 2024). Tokens are clustered by their word embeddings.",
        "atlas show --psi LAYER:HEAD prints a head",
        (
            ShownTable(
                "psi/clusters",
                "The three clusters that each head stretches most. z is the number of standard deviations from a "
                "random group of equal size. Clusters of one or two tokens lead by chance.",
                ("layer", "head", "rank", "type", "tokens", "n", "psi_qkv", "z_qkv", "psi_q", "psi_k", "psi_v"),
                ("rank", 3),
            ),
            ShownTable(
                "psi/agreement",
                "How far k-means runs with different seeds agree (1: equal, 0: chance).",
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
        "Cosine of each token's state with its state under the model's own positions, next to random references. "
        "Decoders also have perplexities (Hirata 2024).",
        "atlas show --positions prints the main table",
        (
            ShownTable(
                "positions/similarity",
                "Cosines by layer and variant. The references show what chance gives.",
                ("layer", "variant", "reference", *_MOMENTS),
            ),
            ShownTable(
                "positions/perplexity",
                "Perplexity of each variant, in three readings.",
                ("variant", "n", "corpus", "mean", "token_mean"),
            ),
            ShownTable(
                "positions/labels",
                "How well a classifier predicts the label from mean states of the last layer, over repeated splits by "
                "document. difference is the accuracy minus that of default on the same splits.",
                (
                    "label", "features", "splits", "n_train", "n", "classes", *_INTERVAL, "std",
                    "difference", "difference_low", "difference_high",
                ),
            ),
        ),
    ),
    "meaning": SideJob(
        "What words and sentences mean: meaning",
        "Vectors of words come from their contexts (PPMI, truncated SVD), the model's token table and its layers. They "
        "are tested on analogies and confused words. Vectors of sentences are tested on next sentences, masked words, "
        "translations, and neighbours by short codes.",
        "atlas show --word WORD prints a word's neighbours in every space",
        (
            ShownTable(
                "meaning/analogies",
                "Share of analogies answered. excluded: the three given words do not count as answers. nearest_c: the "
                "answer is the word nearest to the third.",
                ("space", "category", "rule", "excluded", "n", "n_known", "pairs", *_INTERVAL),
            ),
            ShownTable(
                "meaning/analogy_differences",
                "Accuracy minus that of another space on the same questions. If 0 is between low and high, no "
                "difference is shown.",
                ("space", "other", "category", "rule", "excluded", "n_known", "pairs", "difference", "low", "high"),
            ),
            ShownTable(
                "meaning/confusion",
                "How often a classifier chooses the right one of the confused words. balanced is the mean over the "
                "words, so that frequent words count no more than rare ones. majority and shuffled show chance.",
                (
                    "set", "features", "n", "n_test", "documents", *_INTERVAL, "balanced_accuracy", "balanced_low",
                    "balanced_high",
                ),
            ),
            ShownTable(
                "meaning/sentences",
                "How often the next sentence is nearer than another one (chance: 0.5). tokens counts shared tokens.",
                ("space", "against", "n", "documents", "auc", "low", "high"),
            ),
            ShownTable(
                "meaning/masked_words",
                "How the model's own head ranks the true token at a masked position.",
                ("property", "value", "n", "rank_median", "first", "first_low", "first_high", "within_10"),
            ),
            ShownTable(
                "meaning/translations",
                "The rank of a sentence's translation among all others, by cosine.",
                ("space", "language", "other", "n", "reciprocal_rank", "low", "high", "chance"),
            ),
            ShownTable(
                "meaning/hashing",
                "Share of the nearest sentences, by short codes, that have the same class, next to chance.",
                ("label", "method", "code", "size", "n", "precision", "low", "high", "chance", "error"),
            ),
        ),
    ),
    "compare": SideJob(
        "Layers, neurons and models compared with each other: compare",
        "Each finding is next to its null: permuted units, rotated bases, shuffled activations.",
        "atlas show --compare prints the findings",
        (
            ShownTable(
                "compare/nearest",
                "How similar the nearest neuron is.",
                (
                    "layer", "reach", "n", "correlation", "correlation_of_rotated", "correlation_of_shuffled",
                    "overlap", "overlap_of_shuffled",
                ),
            ),
            ShownTable(
                "compare/diversity",
                "Error of k-means on the winners' vectors, next to uniformly drawn sentences.",
                ("layer", "clusters", "n", "n_distinct", "sse_per_point", "sse", "sse_of_uniform"),
            ),
            ShownTable(
                "compare/group_quality",
                "How distinct the groups of neurons and of sentences are, and how stable over seeds.",
                (
                    "layer", "grouped", "groups", "n", "silhouette", "silhouette_of_shuffled", "rand_index",
                    "rand_index_of_shuffled",
                ),
            ),
            ShownTable(
                "compare/universal",
                "Share of units whose best match in the other run exceeds a threshold, by its excess over rotated "
                "layers, by its |correlation|, and for rotated layers. A row without a layer covers all layers.",
                ("layer", "threshold", "n", "share", "correlated", "rotated"),
            ),
            ShownTable(
                "compare/runs",
                "Scores of this run next to those of a control. If both runs were alike, 5 % would be above the "
                "control's 95 % quantile. A row without a layer covers all layers.",
                (
                    "table", "measure", "layer", "n", "mean", "median", "control_n", "control_mean",
                    "control_median", "control_q95", "share_above", "share_low", "share_high",
                ),
            ),
            ShownTable(
                "compare/shift_layers",
                "The distance between the two models' vectors, by text set.",
                (
                    "text_set", "layer", "n", "manhattan", "manhattan_low", "manhattan_high",
                    "euclidean", "euclidean_low", "euclidean_high",
                ),
            ),
            ShownTable(
                "compare/ablation",
                "How far neurons move others when they are set to their mean, next to random neurons of the same layer "
                "with a similar spread. own is the same unit in a later layer, and b the other neuron that moves most.",
                (
                    "property", "rank", "layer", "unit", "n", "moved", "n_random", "random", "random_high", "p_value",
                    "own_layer", "own_moved", "layer_b", "unit_b", "moved_b", "p_value_b",
                ),
            ),
        ),
    ),
    "outputs": SideJob(
        "Which tokens units promote: outputs",
        "What each unit writes, computed with the model's own head, linearised at the corpus's mean state, without the "
        "layers in between. Control: random directions of the same layer.",
        "atlas show --neuron prints which tokens a neuron promotes and suppresses",
        (
            ShownTable(
                "outputs/controls",
                "How peaked the changes of the logits are, by layer. beyond is the share above the 95 % point of "
                "random directions, which is 5 % by chance.",
                ("layer", "basis", "measure", "n", "mean", "q05", "q25", "q50", "q75", "q95", "beyond"),
            ),
            ShownTable(
                "outputs/checks",
                "Units that were raised by one standard deviation in real sentences. shuffled uses the direct effect "
                "of unit b instead.",
                ("layer", "unit", "n", "correlation", "slope", "unit_b", "shuffled"),
            ),
        ),
    ),
    "finetune": SideJob(
        "The model as a classifier of documents: finetune",
        "Its accuracy on documents that it was not trained on, next to always choosing the most frequent label.",
        "atlas compare --against with this run shows how far the model moved",
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
    """Return the side jobs with results in a run, in the order of their pages; `run` is the content of run.json."""
    complete = {name.partition("/")[0] for name, entry in run["stages"].items() if entry["complete"]}
    return [job for job in SIDE_JOBS if job in complete]


def figure_files(run: Row) -> dict[str, list[str]]:
    """Return the paths in the run of the SVG and PNG files of each side job that has figures."""
    named = [f["name"] for files in run["tables"].values() for f in files]
    found = {
        job: [n for n in named if n.startswith(f"{job}/") and n.endswith((".svg", ".png"))] for job in side_jobs(run)
    }
    return {job: names for job, names in found.items() if names}


def drawings(run: Row, job: str) -> list[str]:
    """Return the paths of a side job's SVG figures."""
    return [name for name in figure_files(run).get(job, []) if name.endswith(".svg")]


def figures_of(names: list[str]) -> list[Row]:
    """Return figures for a page: `file`, the path of the copy in a site, and `caption`."""
    return [{"file": f"figures/{copy_name(name)}", "caption": caption(name)} for name in names]


def side_context(store: Store, run: Row, job: str) -> Row:
    """Return the variables for the template of a side job's page, without those that all pages share."""
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
    # A run that an earlier version wrote may lack columns.
    columns = tuple(name for name in table.columns if name in opened.schema.names)
    rows = opened.head(MOST_ROWS, filter=where, columns=list(columns)).to_pylist()
    return shown(replace(table, columns=columns), rows, opened.count_rows(filter=where))


def shown(table: ShownTable, rows: list[Row], total: int) -> Row:
    """Return a table for the template: name, headings with their meanings, cells as text, and number of all rows."""
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
