from hypothesis import given
from hypothesis import strategies as st

from ops.english.words import CHARACTERS, COLUMNS, FEATURES, FORMS, collect_inventory, normalised, shape, word_features

NORMALISED = {
    "The": "the",
    "@jack_2": "<user>",
    "@": "@",
    "#fun": "<hashtag>",
    "#1": "#0",
    "https://t.co/AbC": "<address>",
    "www.python.org": "<address>",
    "Example.com/a": "<address>",
    "me@example.org": "<address>",
    "etc.": "etc.",
    "3.14": "0.00",
    "sooooo": "soo",
    "----": "----",
    "don\u2019t": "don't",
    "😀": "<symbol>",
    "❤️": "<symbol>",
    "\u2013": "\u2013",
    "日本": "日本",
}


def test_normalised():
    assert {word: normalised(word) for word in NORMALISED} == NORMALISED


def test_a_long_word_is_read_at_both_ends():
    forms, read = word_features("abcdefghijklmnopqrstuvwxyz")
    assert forms == ("abcdefghijklmnopqrstuvwxyz", "yz", "xyz", "abc", "xx")
    assert read == "abcdefghstuvwxyz"


def test_collect_keeps_what_is_frequent_and_knows_nothing_else():
    inventory = collect_inventory({"cat": 3, "dog": 1}, dict.fromkeys(FEATURES, 2))
    assert inventory.kept["word"] == ["cat"]
    assert inventory.kept["shape"] == ["xx"]
    rows = inventory.rows(["cat", "dog"])
    assert rows[0, : len(FORMS)].tolist() == [1, 1, 1, 1, 1]
    assert rows[1, : len(FORMS)].tolist() == [0, 0, 0, 0, 1]
    assert rows[0, len(FORMS) :].tolist() == [2, 1, 3] + [0] * (CHARACTERS - 3)
    assert inventory.sizes()["word"] == 2


@given(st.lists(st.text(min_size=1)))
def test_any_word_has_rows_inside_the_tables(words):
    inventory = collect_inventory(dict.fromkeys(words[::2], 1), dict.fromkeys(FEATURES, 1))
    rows = inventory.rows(words)
    assert rows.shape == (len(words), COLUMNS)
    sizes = [inventory.sizes()[kind] for kind in (*FORMS, *["character"] * CHARACTERS)]
    assert (rows >= 0).all()
    assert (rows < sizes).all()
    assert all(len(shape(word)) <= 8 for word in words)
