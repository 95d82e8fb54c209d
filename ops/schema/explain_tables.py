"""The tables of the job explain: what each neuron responds to, in words, and how reliable this is."""

import pyarrow as pa

from ops.schema.columns import (
    BOOL,
    FLOAT32,
    FLOAT64,
    INT8,
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

TYPICAL = pa.list_(
    pa.struct(
        [
            ("kind", STRING), ("pattern", STRING), ("words", STRINGS), ("winners", INT32), ("expected", FLOAT32),
            ("q", FLOAT32), ("docs", INT32),
        ]
    )
)  # fmt: skip
_FEW = "; null with fewer than 10 documents"
_KIND = Column("kind", STRING, "`word`, `tag`, `subtree`, `mark`, `value`, `length`, `word_class`, `form` or `hub`")
_NAMED = (
    _KIND,
    Column("pattern", STRING, "the literal, readable"),
    Column("items", STRINGS, "its parts; for a class of words, all of them; for a key of metadata, the key alone"),
    Column("negated", BOOL, "whether sentences must lack the literal"),
)

TABLES: dict[str, TableSpec] = {
    "explanations": TableSpec(
        "a neuron and pole, explained in one sentence; scores are those of ten cards, each learned from nine folds of "
        "the documents and tested on the tenth",
        (
            *NEURON,
            POLE,
            Column(
                "text",
                STRING,
                "the explanation in words: what is typical, the rule or why there is none, and the activation",
            ),
            Column(
                "typical",
                TYPICAL,
                "what is more frequent among the winners than sentences of the same data sets and lengths give, "
                "strongest first; empty if nothing is",
            ),
            Column("literals", INT16, "number of literals of the published card; 0 if it has none"),
            *measured(
                "average_precision", "mean average precision of the folds, at the corpus's rate of winners", _FEW
            ),
            *measured("precision", "share of the sentences called winners that are winners, at that rate", _FEW),
            *measured("recall", "share of the winners that are called winners", _FEW),
            *measured("f1", "harmonic mean of precision and recall", _FEW),
            Column("f1_in_sample", FLOAT64, "F1 of the published card on the documents that it was learned from", True),
            Column("auc", FLOAT64, "mean area under the ROC curve of the folds", True),
            Column("single_f1", FLOAT64, "F1 of the best single literal", True),
            Column("nuisance_f1", FLOAT64, "F1 of nuisance literals alone", True),
            Column("matched_f1", FLOAT64, "F1 of a set matched to the winners in length and data set", True),
            Column("chance_f1", FLOAT64, "F1 of calling every sentence a winner"),
            *measured("margin", "the smallest of the three differences of `f1` to these controls", _FEW),
            Column("folds", INT8, "folds in which the card's F1 is above all three controls"),
            *measured(
                "r2", "share of the activation's variance that the activation model explains on test documents", _FEW
            ),
            Column("r2_nuisance", FLOAT64, "the same for nuisance literals alone", True),
            Column("r2_shuffled", FLOAT64, "r2 with the activations shuffled over the sentences", True),
            Column("n", INT64, "number of winners"),
            Column("family", INT32, "its family, counted from 0"),
            Column("verdict", STRING, "`rule`, `tendency`, `source`, `unconfirmed`, `none` or `weak`"),
        ),
        ("layer", "unit", "pole"),
        8_192,
    ),
    "explanation_terms": TableSpec(
        "a literal of an explanation",
        (
            *NEURON,
            Column("pole", STRING, "`top` or `bottom`; null for the activation model", True),
            Column("model", STRING, "`activation`: the model of the activation; `winners`: the score card of a pole"),
            Column("rank", INT32, "order in which it was chosen, nuisance literals first, counted from 1"),
            *_NAMED,
            Column("weight", FLOAT64, "what it adds to a sentence that has it: log-odds, or activation"),
            Column(
                "share",
                FLOAT32,
                "share of the winners for which it holds as stated, in the test folds of the cards that chose it; "
                "activation model: of the highest tenth",
            ),
            Column(
                "baseline_share", FLOAT32, "the same share among other sentences; activation model: of the sample", True
            ),
            Column("gain", FLOAT64, "average precision (activation model: R2) lost without it on test documents", True),
            Column("stability", INT8, "folds whose card has it or a near-copy; null for the activation model", True),
            Column("also", STRINGS, "literals that hold for almost the same sentences"),
            Column("sent_ids", pa.list_(INT64), "three example sentences for which it holds as stated"),
        ),
        ("layer", "unit", "model", "pole", "rank"),
        8_192,
    ),
    "explanation_folds": TableSpec(
        "a literal of the card of a fold, which was learned from the other folds",
        (
            *NEURON,
            POLE,
            Column("fold", INT8, "the fold on which the card is tested, 0 to 9"),
            Column("rank", INT32, "order in which it was chosen, nuisance literals first, counted from 1"),
            *_NAMED,
            Column("weight", FLOAT64, "log-odds that it adds to a sentence that has it"),
            Column("intercept", FLOAT64, "log-odds of a sentence with none of the card's literals"),
            Column("threshold", FLOAT64, "score from which the card calls a sentence a winner"),
        ),
        ("layer", "unit", "pole", "fold", "rank"),
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
            Column("model", STRING, "`activation` or `winners`"),
            Column(
                "measure",
                STRING,
                "column of `explanations/`; `r2_beyond`: `r2` - `r2_nuisance`; or `found`: a card beats chance and "
                "nuisance as a rule does",
            ),
            Column("n", INT64, "number of axes, or of axes and poles, that have the measure"),
            Column("mean", FLOAT64, "mean of the measure"),
            *quantiles(),
        ),
        ("layer", "basis", "model", "measure"),
    ),
    "explain/literals": TableSpec(
        "a literal available to explanations",
        (
            Column("kind", STRING, "`word`, `tag`, `subtree`, `mark`, `word_class`, `form`, `length` or `value`"),
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
