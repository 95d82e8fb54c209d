"""The tables of the job audit: whether an explanation learned in one data set holds in the others."""

from dataclasses import replace

import pyarrow as pa

from ops.schema.columns import NEURON, NEURON_AND_POLE, Column, TableSpec, interval, tables

_TABLES = tables(f"""
table audit/portability by layer, unit, pole, dataset_from, dataset_to in groups of 8192: a neuron and pole, and two \
    data sets
    {NEURON_AND_POLE}
    dataset_from string: data set whose sentences the score cards were learned on, each on nine folds of the documents
    dataset_to string: data set on whose sentences each card is tested, in the tenth fold
    average_precision float64?: average precision if one sentence in a hundred is a winner
    {interval("average_precision")}
    random_precision float64?: the same for the cards of a random set of `dataset_from`, matched in length
    {interval("random_precision")}
    transfer float64?: gain over the random set's cards, divided by the gain of the cards of `dataset_to`; null if \
        both data sets are the same or the divisor is not significantly above 0
    {interval("transfer")}
    n int64: winners in `dataset_to`
    documents int64: documents of these winners

table audit/patterns by layer, unit, model, pole, rank in groups of 8192: a literal of an explanation, compared across \
    data sets
    {NEURON}
    pole string?: `top` or `bottom`; null for a literal of the activation model, which is tested on `top`, \
        else `bottom`
    model string: `activation` or `winners`, as in `explanation_terms/`
    rank int32: order by the number of folds whose cards have it, counted from 1; activation model: rank in \
        `explanation_terms/`
    kind string: kind of the literal
    pattern string: the literal, readable
    negated bool: whether sentences must lack the literal
    folds int8: folds whose cards have it; it is tested on their sentences
    dataset_names list[string]: names of the data sets, in the order of the next four lists
    log_lifts list[float64]: natural log of the lift within each data set; null where no sentence has the literal, or \
        with few winners
    log_lifts_low list[float64]: lower ends of their 95 % intervals
    log_lifts_high list[float64]: upper ends of their 95 % intervals
    winners list[int64]: winners in these folds of each data set
    n int64: winners in these folds of all data sets
    significant int16: data sets with a lift above 1, at a false discovery rate of 5 % over the data sets
    cochran_q float64?: Cochran's Q of the log lifts; null with fewer than two
    cochran_p float64?: its p-value: small where data sets differ
    i_squared float64?: share of Q beyond what chance would give
    lift float32?: lift with all data sets pooled, from `explanation_terms/`; null if it is not there
    mantel_haenszel float64?: lift over all data sets, each compared only with itself
    {interval("mantel_haenszel")}
    verdict string: `global`, `local`, `dataset` or `none`

table audit/neurons by layer, unit, pole in groups of 8192: a neuron and pole, compared across data sets
    {NEURON_AND_POLE}
    transfer float64?: sum of the gains of other data sets' cards, divided by that of the own cards; null if these \
        gain nothing
    {interval("transfer")}
    illusion float64?: 1 - `transfer`
    {interval("illusion")}
    eta_squared float64?: share of the activation's variance that is between data sets
    {interval("eta_squared")}
    r2_within float64?: share of the variance within data sets that the activation model's literals explain
    {interval("r2_within")}
    ported int16: data sets where the other data sets' cards hold: `transfer` at least 0.5, interval above 0
    holds_in list[string]: names of these data sets
    found_in list[string]: data sets whose own cards beat those of its random set
    datasets int16: data sets in which the neuron and pole has enough winners
    n int64: winners in all data sets
    verdict string: `dataset_detector`, `global`, `local` or `none`
""")
_CONTROL = Column(
    "control", pa.string(), "`permuted`: data sets permuted over documents; `halves`: two halves of each data set"
)


def _in_a_control(table: TableSpec) -> TableSpec:
    order = (*table.order[:2], "control", *table.order[2:])
    return replace(table, row=f"{table.row}, in a control", columns=(_CONTROL, *table.columns), order=order)


TABLES = _TABLES | {f"{name}_controls": _in_a_control(table) for name, table in _TABLES.items()}
