"""The tables of the side job meaning."""

import pyarrow as pa

from ops.schema.columns import BOOL, FLOAT32, INT32, INT64, STRING, Column, TableSpec

_WORD = Column("word", STRING, "word, in lower case with `--word-case lower`")
_SPACE = Column("space", STRING, "`counts`, `embedding` (the model's token table), `layer:1`, ...")

MEANING_TABLES: dict[str, TableSpec] = {
    "meaning/contexts": TableSpec(
        "a word and a context word that stands near it",
        (
            _WORD,
            Column("context", STRING, "context word"),
            Column("count", INT64, "places of the word and of the context word within the window of each other"),
            Column("ppmi", FLOAT32, "positive pointwise mutual information, in nats"),
        ),
        ("word", "context"),
    ),
    "meaning/words": TableSpec(
        "a word that occurs often enough",
        (
            _WORD,
            Column("count", INT64, "occurrences in the corpus"),
            Column("vector", pa.list_(FLOAT32), "its vector of the PPMI by truncated SVD; zeros without a context"),
        ),
        ("word",),
        8_192,
    ),
    "meaning/neighbours": TableSpec(
        "a word and one near it in a space",
        (
            _SPACE,
            _WORD,
            Column("rank", INT32, "1: the nearest by cosine"),
            Column("other", STRING, "the word near it"),
            Column("cosine", FLOAT32, "cosine of the two vectors"),
            Column("inner", FLOAT32, "their plain inner product"),
        ),
        ("space", "word", "rank"),
    ),
    "meaning/analogies": TableSpec(
        "a space, category of questions (`all`: all of them), rule, and whether given words were excluded",
        (
            _SPACE,
            Column("category", STRING, "category of the questions, as their file names it; `all`: all of them"),
            Column("rule", STRING, "`add`: 3CosAdd; `mul`: 3CosMul; `nearest_c`: the word nearest to c"),
            Column("excluded", BOOL, "whether a, b and c were excluded from the answers"),
            Column("n", INT64, "questions"),
            Column("n_known", INT64, "questions whose four words have a vector in the space"),
            Column("correct", INT64, "known questions answered with the word that the file gives"),
            Column("accuracy", FLOAT32, "correct over n_known; null where none is known", True),
            Column("low", FLOAT32, "lower end of its 95 % interval (Wilson 1927)", True),
            Column("high", FLOAT32, "upper end of its 95 % interval", True),
        ),
        ("space", "category", "rule", "excluded"),
    ),
    "meaning/confusion": TableSpec(
        "a confusion set, what a classifier sees, and how many examples it was trained on",
        (
            Column("set", STRING, "the words to choose among, with spaces between them"),
            Column(
                "features",
                STRING,
                "`words` around the blank, `layer:N` (the model's state there), `majority` (the most frequent word), "
                "`shuffled` (`words` trained on shuffled labels)",
            ),
            Column("n", INT64, "examples that it was trained on"),
            Column("n_test", INT64, "examples of held-out documents that it was tested on"),
            Column("correct", INT64, "those that it chose the right word for"),
            Column("accuracy", FLOAT32, "correct over n_test"),
            Column("low", FLOAT32, "lower end of its 95 % interval (Wilson 1927)"),
            Column("high", FLOAT32, "upper end of its 95 % interval"),
        ),
        ("set", "features", "n"),
    ),
}
