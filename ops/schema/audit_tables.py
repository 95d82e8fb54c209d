"""The tables of the job audit: whether an explanation learned in one data set holds in the others."""

import pyarrow as pa

from ops.schema.columns import (
    BOOL,
    FLOAT32,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    NEURON,
    POLE,
    STRING,
    STRINGS,
    Column,
    TableSpec,
    measured,
)

_FLOATS = pa.list_(FLOAT64)
CONTROL = Column(
    "control", STRING, "`permuted`: data sets permuted over documents; `halves`: two halves of each data set"
)
_PORTABILITY = (
    *NEURON,
    POLE,
    Column(
        "dataset_from",
        STRING,
        "data set whose sentences the score cards were learned on, each on nine folds of the documents",
    ),
    Column("dataset_to", STRING, "data set on whose sentences each card is tested, in the tenth fold"),
    *measured("average_precision", "average precision if one sentence in a hundred is a winner"),
    *measured("random_precision", "the same for the cards of a random set of `dataset_from`, matched in length"),
    *measured(
        "transfer",
        "gain over the random set's cards, divided by the gain of the cards of `dataset_to`; null if both data sets "
        "are the same or the divisor is not significantly above 0",
    ),
    Column("n", INT64, "winners in `dataset_to`"),
    Column("documents", INT64, "documents of these winners"),
)
_PATTERNS = (
    *NEURON,
    Column(
        "pole", STRING, "`top` or `bottom`; null for a literal of the activation model, which is tested on `top`", True
    ),
    Column("model", STRING, "`activation` or `winners`, as in `explanation_terms/`"),
    Column(
        "rank",
        INT32,
        "order by the number of folds whose cards have it, counted from 1; activation model: rank in "
        "`explanation_terms/`",
    ),
    Column("kind", STRING, "kind of the literal"),
    Column("pattern", STRING, "the literal, readable"),
    Column("negated", BOOL, "whether sentences must lack the literal"),
    Column("folds", INT8, "folds whose cards have it; it is tested on their sentences"),
    Column("dataset_names", STRINGS, "names of the data sets, in the order of the next four lists"),
    Column(
        "log_lifts",
        _FLOATS,
        "natural log of the lift within each data set; null where no sentence has the literal, or with few winners",
    ),
    Column("log_lifts_low", _FLOATS, "lower ends of their 95 % intervals"),
    Column("log_lifts_high", _FLOATS, "upper ends of their 95 % intervals"),
    Column("winners", pa.list_(INT64), "winners in these folds of each data set"),
    Column("n", INT64, "winners in these folds of all data sets"),
    Column("significant", INT16, "data sets with a lift above 1, at a false discovery rate of 5 % over the data sets"),
    Column("cochran_q", FLOAT64, "Cochran's Q of the log lifts; null with fewer than two", True),
    Column("cochran_p", FLOAT64, "its p-value: small where data sets differ", True),
    Column("i_squared", FLOAT64, "share of Q beyond what chance would give", True),
    Column("lift", FLOAT32, "lift with all data sets pooled, from `explanation_terms/`; null if it is not there", True),
    *measured("mantel_haenszel", "lift over all data sets, each compared only with itself"),
    Column("verdict", STRING, "`global`, `local`, `dataset` or `none`"),
)
_NEURONS = (
    *NEURON,
    POLE,
    *measured(
        "transfer",
        "sum of the gains of other data sets' cards, divided by that of the own cards; null if these gain nothing",
    ),
    *measured("illusion", "1 - `transfer`"),
    *measured("eta_squared", "share of the activation's variance that is between data sets"),
    *measured("r2_within", "share of the variance within data sets that the activation model's literals explain"),
    Column(
        "ported", INT16, "data sets where the other data sets' cards hold: `transfer` at least 0.5, interval above 0"
    ),
    Column("holds_in", STRINGS, "names of these data sets"),
    Column("found_in", STRINGS, "data sets whose own cards beat those of its random set"),
    Column("datasets", INT16, "data sets in which the neuron and pole has enough winners"),
    Column("n", INT64, "winners in all data sets"),
    Column("verdict", STRING, "`dataset_detector`, `global`, `local` or `none`"),
)
_KEY = ("layer", "unit", "pole")
_ROWS = {
    "portability": ("a neuron and pole, and two data sets", _PORTABILITY, (*_KEY, "dataset_from", "dataset_to")),
    "patterns": (
        "a literal of an explanation, compared across data sets",
        _PATTERNS,
        ("layer", "unit", "model", "pole", "rank"),
    ),
    "neurons": ("a neuron and pole, compared across data sets", _NEURONS, _KEY),
}

TABLES: dict[str, TableSpec] = {
    **{f"audit/{name}": TableSpec(row, columns, order, 8_192) for name, (row, columns, order) in _ROWS.items()},
    **{
        f"audit/{name}_controls": TableSpec(
            f"{row}, in a control", (CONTROL, *columns), (*order[:2], "control", *order[2:]), 8_192
        )
        for name, (row, columns, order) in _ROWS.items()
    },
}
