"""The word of a winner at which its neuron peaks."""

from typing import Any

from ops.sentences.word_spans import word_spans, words_of_tokens


def peak_word(tokens: dict[str, Any], sentence: dict[str, Any]) -> dict[str, Any] | None:
    """Return the word whose token has the highest activation (for `bottom`, the lowest). None if no token has a word.

    Args:
        tokens: its row of `token_activations/`.
        sentence: its sentence's `text`, `words` and `tags`.

    Returns:
        `place` (the word's position among the words), `word`, `tag` (None without tags), `span` (its characters in the
        text) and `activation` (the neuron's at that token).
    """
    text, words, tags = sentence["text"], sentence["words"] or [], sentence["tags"]
    pairs = zip(tokens["starts"], tokens["ends"], strict=True)
    placed = [None if start is None else (start, end) for start, end in pairs]
    spans = word_spans(text, words)
    at = words_of_tokens(placed, spans).tolist()
    sign = 1 if tokens["pole"] == "top" else -1
    values = tokens["activations"]
    best = max((i for i, word in enumerate(at) if word >= 0), key=lambda i: sign * values[i], default=None)
    if best is None:
        return None
    place = at[best]
    tag = tags[place] if tags else None
    return {"place": place, "word": words[place], "tag": tag, "span": spans[place], "activation": values[best]}
