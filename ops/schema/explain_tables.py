"""The tables of the job explain: what each neuron responds to, in one sentence, and how reliable this is."""

import pyarrow as pa

from ops.schema.columns import (
    BOOL,
    FLOAT32,
    FLOAT64,
    INT16,
    INT32,
    INT64,
    LAYER,
    NEURON,
    POLE,
    STRING,
    STRINGS,
    Column,
    TableSpec,
    measured,
    quantiles,
)

_FEW = "; null with fewer than 10 test documents"

TABLES: dict[str, TableSpec] = {
    "explanations": TableSpec(
        "a neuron and pole, explained in one sentence",
        (
            *NEURON,
            POLE,
            Column("text", STRING, "the explanation, at most 240 characters"),
            Column("literals", INT16, "number of literals of the score card; 0 if it has none"),
            *measured(
                "average_precision", "average precision on the test documents, at the corpus's rate of winners", _FEW
            ),
            *measured("precision", "share of the sentences called winners that are winners, at that rate", _FEW),
            *measured("recall", "share of the winners that are called winners", _FEW),
            *measured("f1", "harmonic mean of precision and recall", _FEW),
            Column("auc", FLOAT64, "area under the ROC curve on the test documents", True),
            *measured("single_f1", "F1 of the best single literal", _FEW),
            Column("nuisance_f1", FLOAT64, "F1 of nuisance literals alone", True),
            Column("matched_f1", FLOAT64, "F1 of a set matched to the winners in length and data set", True),
            Column("random_f1", FLOAT64, "F1 of a random set of as many sentences", True),
            *measured(
                "r2", "share of the activation's variance that the range model explains on the test documents", _FEW
            ),
            Column("r2_nuisance", FLOAT64, "the same for nuisance literals alone", True),
            Column("r2_shuffled", FLOAT64, "r2 with the activations shuffled over the sentences", True),
            Column("n_train", INT64, "winners in training documents"),
            Column("n_test", INT64, "winners in test documents"),
            Column("family", INT32, "its family, counted from 0"),
            Column("verdict", STRING, "`explained`, `nuisance`, `none` or `weak`"),
        ),
        ("layer", "unit", "pole"),
        8_192,
    ),
    "explanation_terms": TableSpec(
        "a literal of an explanation",
        (
            *NEURON,
            Column("pole", STRING, "`top` or `bottom`; null for the range model", True),
            Column("model", STRING, "`range`: the model of the activation; `winners`: the score card of a pole"),
            Column("rank", INT32, "order in which it was chosen, nuisance literals first, counted from 1"),
            Column("kind", STRING, "`word`, `tag`, `subtree`, `mark`, `value`, `length`, `word_class` or `hub`"),
            Column("pattern", STRING, "the literal, readable"),
            Column("items", STRINGS, "its parts; for a class of words, all of them"),
            Column("negated", BOOL, "whether sentences must lack the literal"),
            Column("weight", FLOAT64, "what it adds to a sentence that has it: log-odds; range model: activation"),
            Column(
                "share", FLOAT32, "share of the winners for which it holds as stated; range model: of the highest tenth"
            ),
            Column(
                "baseline_share",
                FLOAT32,
                "the same share among other sentences; range model: of the whole sample",
                True,
            ),
            Column("gain", FLOAT64, "average precision (range model: R2) lost without it on the test documents", True),
            Column("also", STRINGS, "literals that hold for almost the same sentences"),
            Column("sent_ids", pa.list_(INT64), "three example sentences for which it holds as stated"),
        ),
        ("layer", "unit", "model", "pole", "rank"),
        8_192,
    ),
    "families": TableSpec(
        "a neuron and pole of a family, whose members' activations correlate",
        (
            Column("family", INT32, "family, counted from 0 in the order of the leaders"),
            *NEURON,
            POLE,
            Column("correlation", FLOAT32, "Pearson correlation with the leader's activation; the leader's own is 1"),
            Column("is_leader", BOOL, "whether it has the highest F1 of the family"),
        ),
        ("layer", "unit", "pole"),
    ),
    "explain/controls": TableSpec(
        "a layer, basis, model and measure: how the measure is distributed over the axes",
        (
            LAYER,
            Column(
                "basis",
                STRING,
                "`neurons`; `rotated`: axes of a random rotation; `shuffled`: neurons with shuffled activations",
            ),
            Column("model", STRING, "`range` or `winners`"),
            Column("measure", STRING, "column of `explanations/`, or `r2_beyond`: `r2` - `r2_nuisance`"),
            Column("n", INT64, "number of axes, or of axes and poles, that have the measure"),
            Column("mean", FLOAT64, "mean of the measure"),
            *quantiles(),
        ),
        ("layer", "basis", "model", "measure"),
    ),
    "explain/literals": TableSpec(
        "a literal available to explanations",
        (
            Column("kind", STRING, "`word`, `tag`, `subtree`, `mark`, `word_class`, `length` or `value`"),
            Column("pattern", STRING, "the literal, readable"),
            Column("items", STRINGS, "its parts; for a class of words, all of them"),
            Column("listed", INT64, "neurons and poles that list it; 0 for classes of words, lengths and values"),
        ),
        (),
    ),
    "examples": TableSpec(
        "a sentence from a tenth of a neuron's range, or a hard negative of one of its poles",
        (
            *NEURON,
            Column("pole", STRING, "for a hard negative, the pole whose winners it resembles; otherwise null", True),
            Column(
                "quantile",
                INT16,
                "tenth of the activation sample, 0 (the lowest) to 9 (the highest); null: a hard negative",
                True,
            ),
            Column(
                "rank",
                INT32,
                "for a hard negative, its rank by the explanation's score, counted from 1; otherwise null",
                True,
            ),
            Column("sent_id", INT64, "sentence"),
            Column("activation", FLOAT32, "the neuron's activation"),
        ),
        # Nulls sort last, so the sentences of the neuron's range come before its hard negatives.
        ("layer", "unit", "quantile", "pole", "rank", "sent_id"),
        8_192,
    ),
}
