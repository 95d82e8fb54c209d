"""What figures and text call the properties of neurons that layers are compared by."""

_IN_WORDS = {
    "neurons:mean": "mean activation",
    "neurons:std": "standard deviation of activation",
    "neurons:kurtosis": "kurtosis of activation",
    "means:words_per_sentence": "words a sentence",
    "means:verbs_per_sentence": "verbs a sentence",
    "means:nouns_per_sentence": "nouns a sentence",
}


def in_words(name: str) -> str:
    """Return what a property is called.

    >>> in_words("means:words_per_sentence:top"), in_words("neurons:mean")
    ('words a sentence, top winners', 'mean activation')
    """
    for pole in ("top", "bottom"):
        known = _IN_WORDS.get(name.removesuffix(f":{pole}"))
        if name.endswith(f":{pole}") and known:
            return f"{known}, {pole} winners"
    return _IN_WORDS.get(name, name.replace("_", " ").replace(":", ", "))
