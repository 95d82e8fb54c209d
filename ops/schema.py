"""Every table: its columns with types and meanings, its nullability and its sort order."""

from dataclasses import dataclass

import pyarrow as pa

SCHEMA_VERSION = "1"

META = pa.map_(pa.string(), pa.string())


@dataclass(frozen=True)
class Column:
    """One column: its name, type, whether it may be null, and what it says (with its unit)."""

    name: str
    type: pa.DataType
    meaning: str
    nullable: bool = False


@dataclass(frozen=True)
class TableSpec:
    """One table: what a row is, its columns, the columns it is sorted by, and the most rows of a row group."""

    row: str
    columns: tuple[Column, ...]
    order: tuple[str, ...]
    rows_per_group: int = 65_536

    @property
    def arrow(self) -> pa.Schema:
        """The table as an Arrow schema."""
        return pa.schema([pa.field(c.name, c.type, c.nullable) for c in self.columns])


_I16, _I32, _I64 = pa.int16(), pa.int32(), pa.int64()
_F32, _F64, _STR, _BOOL = pa.float32(), pa.float64(), pa.string(), pa.bool_()
_STRS = pa.list_(pa.string())

_LAYER = Column("layer", _I16, "layer, counted from 1")
_STAGE = Column("stage", _STR, "`attn`: attention alone; `attn_res`: with the residual; `attn_res_ln`: after LayerNorm")
_CLASS = Column("token_class", _STR, "`all`, `cls`, `sep`, `mask`, `punct` (period or comma), `other`")
_MEAN_RATIO = (
    Column("n", _I64, "tokens"),
    Column("mean", _F32, "mean of the tokens' mixing ratios"),
    Column("std", _F32, "their standard deviation (ddof 0)"),
)

_NEURON = (
    Column("layer", _I16, "layer, counted from 1 (0 would be the embedding output)"),
    Column("unit", _I16, "unit within the layer, counted from 0"),
)
_POLE = Column("pole", _STR, "`top`: the highest activations; `bottom`: the lowest")
_HEAD = (
    Column("layer", _I16, "layer, counted from 1"),
    Column("head", _I16, "attention head within the layer, counted from 0"),
)
_SENTENCE = (
    Column("sent_id", _I64, "sentence, dense from 0 in the order of the sources"),
    Column("text", _STR, "the sentence"),
    Column("dataset", _STR, "name of the data set"),
    Column("doc_id", _STR, "document the sentence stands in"),
    Column("meta", META, "what the source says of the document, as strings"),
)

_PSI = {"q": "the query", "k": "the key", "v": "the value", "qkv": "the three, their product"}
_MOMENT = {"mean": "mean", "std": "standard deviation (ddof 0)"}

TABLES: dict[str, TableSpec] = {
    "corpus": TableSpec(
        "a sentence",
        (
            *_SENTENCE,
            Column("sent_in_doc", _I32, "place in its document, counted from 0, before copies were dropped"),
            Column("n_tokens", _I32, "model tokens after the cut, special ones included"),
            Column("n_copies", _I32, "how often the sentence occurs in the sources (1: once)"),
        ),
        ("sent_id",),
    ),
    "rejects": TableSpec(
        "something ingest dropped",
        (
            Column("dataset", _STR, "name of the data set"),
            Column("doc_id", _STR, "document it stood in"),
            Column("text", _STR, "the text, cut at 200 characters, what cannot be decoded replaced"),
            Column("reason", _STR, "empty, invalid_text, too_short, unknown_tokens or broken"),
        ),
        (),
    ),
    "unscored": TableSpec(
        "a sentence that could not be scored",
        (
            Column("sent_id", _I64, "sentence"),
            Column("reason", _STR, "what was not finite, and in which layer first"),
        ),
        ("sent_id",),
    ),
    "topk": TableSpec(
        "a winner",
        (
            *_NEURON,
            _POLE,
            Column("rank", _I32, "rank among the neuron's winners, counted from 1"),
            Column("activation", _F32, "the neuron's activation, pooled over the sentence's tokens"),
            Column("sent_id", _I64, "sentence"),
        ),
        ("layer", "unit", "pole", "rank"),
    ),
    "neurons": TableSpec(
        "a neuron",
        (
            *_NEURON,
            Column("n", _I64, "sentences scored"),
            Column("mean", _F64, "mean activation"),
            Column("std", _F64, "standard deviation (ddof 0)"),
            Column("skew", _F64, "skewness, without bias correction; null for a constant neuron", True),
            Column("kurtosis", _F64, "excess kurtosis, without bias correction; null for a constant neuron", True),
            Column("min", _F32, "lowest activation"),
            Column("max", _F32, "highest activation"),
            Column("histogram_edges", pa.list_(_F32), "the m - 1 inner edges, strictly ascending"),
            Column("histogram_counts", pa.list_(_I64), "m counts; bin i holds edge[i-1] <= x < edge[i]"),
            Column("top_threshold", _F32, "activation of the last winner of the pole `top`", True),
            Column("bottom_threshold", _F32, "activation of the last winner of the pole `bottom`", True),
            Column("top_mean", _F64, "mean activation of the winners of the pole `top`", True),
            Column("bottom_mean", _F64, "mean activation of the winners of the pole `bottom`", True),
        ),
        ("layer", "unit"),
    ),
    "sentences": TableSpec(
        "a sentence that any other table names",
        (
            *_SENTENCE,
            Column("words", _STRS, "the sentence's words, white space left out", True),
            Column("tags", _STRS, "Penn tag of each word", True),
            Column("tree", _STR, "phrase structure, a Penn bracketed string", True),
            Column("is_baseline", _BOOL, "drawn into the uniform baseline sample"),
            Column("is_winner", _BOOL, "among the winners of some neuron"),
        ),
        ("sent_id",),
        8_192,
    ),
    "patterns": TableSpec(
        "a pattern of a neuron",
        (
            *_NEURON,
            _POLE,
            Column("kind", _STR, "`word`, `tag` or `subtree`"),
            Column("pattern", _STR, "the pattern, readable"),
            Column("items", _STRS, "its items in order"),
            Column("size", _I32, "number of items"),
            Column("support", _I32, "winners that contain it"),
            Column("share", _F32, "support over the number of winners"),
            Column("baseline_share", _F32, "share among the baseline sentences outside these winners", True),
            Column("lift", _F32, "share over baseline share, smoothed", True),
            Column("lift_low", _F32, "lower 95 % bound of the lift", True),
            Column("g2", _F32, "log-likelihood ratio, negative where the share is below the baseline's"),
            Column("q_value", _F64, "false discovery rate within neuron, pole and kind", True),
            Column("docs", _I32, "distinct documents that the support comes from"),
            Column("rank", _I32, "rank by g2 within neuron, pole and kind, counted from 1"),
        ),
        ("layer", "unit", "pole", "kind", "rank"),
    ),
    "profiles": TableSpec(
        "one value of one property of a neuron",
        (
            *_NEURON,
            _POLE,
            Column("property", _STR, "`dataset`, `words_per_sentence`, `tag`, ..., or the name of a meta key"),
            Column("value", _STR, "value of the property"),
            Column("count", _I64, "winners (or their tokens) with the value"),
            Column("n", _I64, "winners (or their tokens) that have the property"),
            Column("share", _F32, "count over n"),
            Column("baseline_share", _F32, "share in the baseline outside these winners", True),
            Column("baseline_n", _I64, "baseline sentences (or tokens) outside these winners that have the property"),
            Column("lift", _F32, "share over baseline share, smoothed", True),
            Column("g2", _F32, "log-likelihood ratio, negative where the share is below the baseline's"),
            Column("rank", _I32, "rank by g2 within neuron, pole and property, counted from 1"),
        ),
        ("layer", "unit", "pole", "property", "rank"),
    ),
    "means": TableSpec(
        "a numeric property of a neuron's winners",
        (
            *_NEURON,
            _POLE,
            Column("property", _STR, "`words_per_sentence`, `verbs_per_sentence`, `nouns_per_sentence`"),
            Column("n", _I64, "winners"),
            Column("mean", _F64, "mean over the winners"),
            Column("std", _F64, "standard deviation over the winners (ddof 0)"),
            Column("baseline_mean", _F64, "mean over the baseline outside these winners", True),
            Column("baseline_std", _F64, "standard deviation over the baseline outside these winners", True),
        ),
        ("layer", "unit", "pole", "property"),
    ),
    "scores": TableSpec(
        "a neuron and pole: how well its representation tells held-out winners from the baseline",
        (
            *_NEURON,
            _POLE,
            Column(
                "auc", _F64, "area under the ROC curve on the test documents; null with no sentence on a side", True
            ),
            Column("auc_low", _F64, "lower end of its 95 % interval", True),
            Column("auc_high", _F64, "upper end of its 95 % interval", True),
            Column("n_winners", _I64, "winners in test documents"),
            Column("n_baseline", _I64, "baseline sentences in test documents that they were told from"),
            Column("matched_auc", _F64, "the same for a set matched to the winners in length and dataset", True),
            Column("matched_low", _F64, "lower end of its 95 % interval", True),
            Column("matched_high", _F64, "upper end of its 95 % interval", True),
            Column("random_auc", _F64, "the same for a random set of as many baseline sentences", True),
            Column("random_low", _F64, "lower end of its 95 % interval", True),
            Column("random_high", _F64, "upper end of its 95 % interval", True),
        ),
        ("layer", "unit", "pole"),
    ),
    "mixing/ratios": TableSpec(
        "a layer, stage and token class",
        (_LAYER, _STAGE, _CLASS, *_MEAN_RATIO),
        ("layer", "stage", "token_class"),
    ),
    "mixing/lengths": TableSpec(
        "a layer, stage and length of the sequences",
        (_LAYER, _STAGE, Column("length", _I32, "tokens of the sequence, special ones included"), *_MEAN_RATIO),
        ("layer", "stage", "length"),
    ),
    "mixing/norms": TableSpec(
        "a layer, quantity and token class",
        (
            _LAYER,
            Column("quantity", _STR, "`attn_mixing`, `attn_preserving`, `residual`, `residual_ln` (after LayerNorm)"),
            _CLASS,
            Column("n", _I64, "tokens"),
            Column("mean", _F32, "mean Euclidean norm of the tokens' vectors"),
            Column("std", _F32, "its standard deviation (ddof 0)"),
        ),
        ("layer", "quantity", "token_class"),
    ),
    "mixing/tokens": TableSpec(
        "a token of a sequence in a layer",
        (
            Column("sent_id", _I64, "the sequence's first sentence"),
            Column("position", _I32, "place in the sequence, 0 the first token ([CLS] where there is one)"),
            Column("token", _STR, "token as the model saw it, masking done"),
            _LAYER,
            Column("attn", _F32, "mixing ratio of attention alone"),
            Column("attn_res", _F32, "mixing ratio with the residual"),
            Column("attn_res_ln", _F32, "mixing ratio after LayerNorm; null in pre-LN models", True),
        ),
        ("sent_id", "position", "layer"),
    ),
    "psi/vocabulary": TableSpec(
        "a token of the vocabulary",
        (
            Column("token_id", _I32, "token's number, the row of the word embeddings"),
            Column(
                "token", _STR, "token as the vocabulary has it; null for a row that the tokenizer never gives", True
            ),
            Column("type", _STR, "`Words`, `Subwords`, `Numbers`, `Symbols`, `Special` or `Tags`, by its characters"),
            Column("cluster", _I32, "its cluster by k-means on the word embeddings, counted from 0"),
            Column("cluster_type", _STR, "the type that most tokens of its cluster have"),
            Column("norm", _F32, "Euclidean norm of its word embedding"),
            Column("distance", _F32, "Euclidean distance from its cluster's centroid"),
            Column("supercluster", _I32, "cluster of its cluster's centroid among the centroids, counted from 0"),
        ),
        ("token_id",),
    ),
    "psi/tokens": TableSpec(
        "a token in a head, its word embedding alone",
        (
            *_HEAD,
            Column("token_id", _I32, "token's number"),
            *(Column(f"psi_{p}", _F32, f"norm stretch ratio of {_PSI[p]}; null for a zero vector", True) for p in _PSI),
        ),
        ("layer", "head", "token_id"),
    ),
    "psi/clusters": TableSpec(
        "a cluster in a head, the word embeddings alone",
        (
            *_HEAD,
            Column("cluster", _I32, "cluster of tokens"),
            Column("type", _STR, "the type that most of its tokens have"),
            Column("tokens", _STRS, "tokens nearest to the centroid, the nearest first"),
            Column("n", _I64, "tokens that the means are over (those of a zero vector have no psi)"),
            *(Column(f"psi_{p}", _F32, f"mean over its tokens of psi of {_PSI[p]}", True) for p in _PSI),
            *(
                Column(f"z_{p}", _F32, f"standard deviations of psi_{p} from a random group of as many tokens", True)
                for p in _PSI
            ),
            *(Column(f"relative_{p}", _F32, f"psi_{p} over that of a random direction", True) for p in _PSI),
            Column("rank", _I32, "rank by psi_qkv within the head, counted from 1"),
        ),
        ("layer", "head", "rank"),
    ),
    "psi/agreement": TableSpec(
        "a pair of k-means runs over the vocabulary that differ in their seed",
        (
            Column("run_a", _I32, "one run, counted from 0; run 0 gave the clusters of the other tables"),
            Column("run_b", _I32, "the other run"),
            Column("rand_index", _F64, "adjusted Rand index: 1 where they agree, 0 as by chance"),
        ),
        ("run_a", "run_b"),
    ),
    "psi/contextual": TableSpec(
        "a token in a head, over the corpus",
        (
            *_HEAD,
            Column("token_id", _I32, "token's number"),
            Column("n", _I64, "times the token occurs"),
            *(
                Column(f"psi_{p}_{m}", _F32, f"{_MOMENT[m]} of psi of {_PSI[p]} over these occurrences")
                for p in _PSI
                for m in _MOMENT
            ),
        ),
        ("layer", "head", "token_id"),
    ),
}


def schema(table: str) -> pa.Schema:
    """Return a table's Arrow schema."""
    return TABLES[table].arrow


def group_rows(table: str) -> int:
    """Return the most rows that a row group of the table may hold."""
    return TABLES[table].rows_per_group if table in TABLES else 1_024


def activations_schema(widths: tuple[int, ...]) -> pa.Schema:
    """Return the schema of `activations/`: a sentence, then one vector of `widths[i]` values for layer i + 1."""
    layers = [pa.field(f"layer_{i + 1}", pa.list_(pa.float32(), w), False) for i, w in enumerate(widths)]
    return pa.schema([pa.field("sent_id", pa.int64(), False), *layers])
