"""The tables of the main job: ingest, topk, annotate and mine."""

import pyarrow as pa

from ops.schema.columns import (
    BOOL,
    FLOAT32,
    FLOAT64,
    INT8,
    INT32,
    INT64,
    META,
    NEURON,
    POLE,
    STRING,
    STRINGS,
    Column,
    TableSpec,
    interval,
)

_SENTENCE = (
    Column("sent_id", INT64, "sentence id, counted from 0 without gaps in the order of the sources"),
    Column("text", STRING, "the sentence"),
    Column("dataset", STRING, "name of the data set"),
    Column("doc_id", STRING, "document that contains the sentence"),
    Column("meta", META, "metadata of the document: a string or null for each key of the run's sources"),
)

_G2 = (
    Column("g2", FLOAT32, "log-likelihood ratio; negative if the share is below the baseline's"),
    Column(
        "design_effect",
        FLOAT32,
        "`g2` is divided by this for `q_value`; null, and p is 1, if all comes from one document",
        True,
    ),
)

TABLES: dict[str, TableSpec] = {
    "corpus": TableSpec(
        "a sentence",
        (
            *_SENTENCE,
            Column("sent_in_doc", INT32, "place in its document, counted from 0, before duplicates were dropped"),
            Column("n_tokens", INT32, "model tokens after truncation, including special tokens"),
            Column("n_copies", INT32, "how often the sentence occurs in the sources (1: once)"),
        ),
        ("sent_id",),
    ),
    "rejects": TableSpec(
        "something ingest dropped",
        (
            Column("dataset", STRING, "name of the data set"),
            Column("doc_id", STRING, "document that contained it"),
            Column("text", STRING, "first 200 characters of the text; undecodable bytes are replaced"),
            Column(
                "reason",
                STRING,
                "empty, invalid_text, too_short, too_long (over 4 million characters), unknown_tokens, no_role (of a "
                "message), not_text (a part of one) or broken",
            ),
        ),
        (),
    ),
    "unscored": TableSpec(
        "a sentence that could not be scored",
        (
            Column("sent_id", INT64, "sentence"),
            Column("reason", STRING, "what was not finite, and the first layer where this happened"),
        ),
        ("sent_id",),
    ),
    "topk": TableSpec(
        "a winner",
        (
            *NEURON,
            POLE,
            Column("rank", INT32, "rank among the neuron's winners, counted from 1"),
            Column("activation", FLOAT32, "the neuron's activation, pooled over the sentence's tokens"),
            Column("sent_id", INT64, "sentence"),
        ),
        ("layer", "unit", "pole", "rank"),
    ),
    "topk_by_dataset": TableSpec(
        "a winner within a data set",
        (
            *NEURON,
            POLE,
            Column("dataset", STRING, "name of the data set"),
            Column("rank", INT32, "rank among the neuron's winners within the data set, counted from 1"),
            Column("activation", FLOAT32, "the neuron's activation, pooled over the sentence's tokens"),
            Column("sent_id", INT64, "sentence"),
        ),
        ("layer", "unit", "pole", "dataset", "rank"),
    ),
    "neurons": TableSpec(
        "a neuron",
        (
            *NEURON,
            Column("n", INT64, "sentences scored"),
            Column("mean", FLOAT64, "mean activation"),
            Column("std", FLOAT64, "standard deviation (ddof 0)"),
            Column("skew", FLOAT64, "skewness, without bias correction; null for a constant neuron", True),
            Column("kurtosis", FLOAT64, "excess kurtosis, without bias correction; null for a constant neuron", True),
            Column("min", FLOAT32, "lowest activation"),
            Column("max", FLOAT32, "highest activation"),
            Column("histogram_edges", pa.list_(FLOAT32), "the m - 1 inner edges of the bins, strictly ascending"),
            Column("histogram_counts", pa.list_(INT64), "m counts; bin i holds edge[i-1] <= x < edge[i]"),
            Column("top_threshold", FLOAT32, "activation of the last winner of the pole `top`", True),
            Column("bottom_threshold", FLOAT32, "activation of the last winner of the pole `bottom`", True),
            Column("top_mean", FLOAT64, "mean activation of the winners of the pole `top`", True),
            Column("bottom_mean", FLOAT64, "mean activation of the winners of the pole `bottom`", True),
            Column("n_active", INT64, "sentences in which a sparse feature is active; null for other units", True),
            Column("tokens_active", INT64, "tokens at which a sparse feature is active; null for other units", True),
            Column("is_silent", BOOL, "`std` is at most 1e-6 of the largest absolute activation in the layer"),
        ),
        ("layer", "unit"),
    ),
    "sentences": TableSpec(
        "a sentence that another table refers to",
        (
            *_SENTENCE,
            Column("words", STRINGS, "the sentence's words, without white space", True),
            Column("tags", STRINGS, "Penn tag of each word", True),
            Column("tree", STRING, "phrase structure as a Penn bracketed string", True),
            Column("is_baseline", BOOL, "whether it is in the uniform baseline sample"),
            Column("is_winner", BOOL, "whether it is a winner of some neuron in `topk/`"),
            Column("fold", INT8, "fold of its document, 0 to 9; scores learned from some folds are tested on others"),
            Column("wins", INT32, "neurons and poles for which it is a winner in `topk/`"),
        ),
        ("sent_id",),
        512,  # a neuron's page reads scattered sentences: with larger groups this takes seconds longer
    ),
    "patterns": TableSpec(
        "a pattern of a neuron",
        (
            *NEURON,
            POLE,
            Column("kind", STRING, "`word`, `tag` or `subtree`"),
            Column("pattern", STRING, "the pattern, readable"),
            Column("items", STRINGS, "its items in order"),
            Column("size", INT32, "number of items"),
            Column("support", INT32, "winners that contain it"),
            Column("share", FLOAT32, "`support` divided by the number of winners"),
            Column("baseline_share", FLOAT32, "share among the baseline sentences outside these winners", True),
            Column("lift", FLOAT32, "`share` divided by `baseline_share`, smoothed", True),
            Column("lift_low", FLOAT32, "lower 95 % bound of the lift", True),
            *_G2,
            Column("q_value", FLOAT64, "false discovery rate within neuron, pole and kind", True),
            Column("docs", INT32, "distinct documents that the support comes from"),
            Column("rank", INT32, "rank by g2 within neuron, pole and kind, counted from 1"),
        ),
        ("layer", "unit", "pole", "kind", "rank"),
    ),
    "profiles": TableSpec(
        "one value of one property of a neuron",
        (
            *NEURON,
            POLE,
            Column(
                "property",
                STRING,
                "`dataset`, `words_per_sentence`, `tag`, `tag_class`, `noun`, `verb`, `adjective`, `punctuation` (a "
                "mark), a form (`form`, `first_word`, `last_word`, `pronoun`, `tense`, `prefix`, `suffix`, `shape`), "
                "or the name of a meta key",
            ),
            Column("value", STRING, "value of the property"),
            Column("count", INT64, "winners (or their tokens) with the value"),
            Column("n", INT64, "winners (or their tokens) that have the property"),
            Column("share", FLOAT32, "`count` divided by `n`"),
            Column("baseline_share", FLOAT32, "share in the baseline outside these winners", True),
            Column("baseline_n", INT64, "baseline sentences (or tokens) outside these winners that have the property"),
            Column("lift", FLOAT32, "`share` divided by `baseline_share`, smoothed", True),
            *_G2,
            Column("q_value", FLOAT64, "false discovery rate within neuron, pole and property, two-sided", True),
            Column("docs", INT32, "distinct documents that the count comes from"),
            Column("rank", INT32, "rank by g2 within neuron, pole and property, counted from 1"),
        ),
        ("layer", "unit", "pole", "property", "rank"),
    ),
    "means": TableSpec(
        "a numeric property of a neuron's winners",
        (
            *NEURON,
            POLE,
            Column("property", STRING, "`words_per_sentence`, `verbs_per_sentence`, `nouns_per_sentence`"),
            Column("n", INT64, "winners"),
            Column("mean", FLOAT64, "mean over the winners"),
            Column("std", FLOAT64, "standard deviation over the winners (ddof 0)"),
            Column("baseline_mean", FLOAT64, "mean over the baseline outside these winners", True),
            Column("baseline_std", FLOAT64, "standard deviation over the baseline outside these winners", True),
        ),
        ("layer", "unit", "pole", "property"),
    ),
    "scores": TableSpec(
        "a neuron and pole: how well its description separates held-out winners from the baseline",
        (
            *NEURON,
            POLE,
            Column(
                "auc",
                FLOAT64,
                "area under the ROC curve on each half of the documents, learned from the other half, compared with "
                "sentences that have the winners' lengths and data sets; null if there are none",
                True,
            ),
            *interval("auc"),
            Column("n_winners", INT64, "winners, of both halves"),
            Column("n_baseline", INT64, "baseline sentences that they were compared with, of both halves"),
            Column("matched_auc", FLOAT64, "the same for a set matched to the winners in length and data set", True),
            *interval("matched"),
            Column("random_auc", FLOAT64, "the same for a random set of as many baseline sentences", True),
            *interval("random"),
            Column(
                "auc_excess",
                FLOAT64,
                "auc - matched_auc; null where the winners of either set come from fewer than 10 documents",
                True,
            ),
            *interval("auc_excess"),
        ),
        ("layer", "unit", "pole"),
    ),
    "chance": TableSpec(
        "a family of tests: how many neurons and poles have a finding, and how many would have one by chance",
        (
            Column("source", STRING, "`patterns` or `profiles`; `all`: complete descriptions"),
            Column("family", STRING, "kind of pattern, or property, whose values are tested together"),
            Column(
                "drawn",
                STRING,
                "how the random sets were drawn: `uniform`, or `documents`: from as few documents as the winners",
            ),
            Column("n", INT64, "neurons and poles"),
            Column("found", INT64, "neurons and poles with a finding: q below 0.05 and lift above 1"),
            Column("n_sets", INT64, "random sets"),
            Column("found_sets", INT64, "random sets with a finding"),
            Column("expected", FLOAT64, "neurons and poles that would have a finding by chance"),
            *interval("expected", nullable=False),
        ),
        ("source", "family", "drawn"),
    ),
}
