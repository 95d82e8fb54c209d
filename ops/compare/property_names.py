"""The names in figures and texts of the neuron properties by which layers are compared."""

_IN_WORDS = {
    "neurons:mean": "mean activation",
    "neurons:std": "standard deviation of activation",
    "neurons:kurtosis": "kurtosis of activation",
    "means:words_per_sentence": "words a sentence",
    "means:verbs_per_sentence": "verbs a sentence",
    "means:nouns_per_sentence": "nouns a sentence",
}


def in_words(name: str) -> str:
    """Return the readable name of a property.

    >>> in_words("means:words_per_sentence:top"), in_words("neurons:mean")
    ('words a sentence, top winners', 'mean activation')
    """
    of_both, _, pole = name.rpartition(":")
    if of_both in _IN_WORDS:
        return f"{_IN_WORDS[of_both]}, {pole} winners"
    return _IN_WORDS.get(name, name.replace("_", " ").replace(":", ", "))


_MEASURES = {
    "f1": "F1",
    "auc": "AUC",
    "auc_excess": "AUC beyond a matched set",
    "average_precision": "average precision",
    "f1_beyond_nuisance": "F1 beyond nuisance",
    "f1_beyond_matched": "F1 beyond a matched set",
    "f1_beyond_chance": "F1 beyond chance",
    "r2": "R2",
    "r2_beyond": "R2 beyond nuisance",
    "r2_within": "R2 within data sets",
    "eta_squared": "eta squared of the data set",
    "transfer": "transfer between data sets",
    "illusion": "illusion, 1 - transfer",
    "ported": "data sets it ports to",
}


def measure_in_words(table: str, measure: str) -> str:
    """Return the readable name of a measure of `compare/runs`.

    >>> measure_in_words("explanations", "r2_beyond"), measure_in_words("explanations", "verdict explained")
    ('R2 beyond nuisance', 'verdict explained')
    >>> measure_in_words("scores", "auc")
    'AUC of held-out winners'
    """
    return "AUC of held-out winners" if (table, measure) == ("scores", "auc") else _MEASURES.get(measure, measure)
