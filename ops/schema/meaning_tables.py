"""The tables of the side job meaning."""

import pyarrow as pa

from ops.schema.columns import BOOL, FLOAT32, FLOAT64, INT32, INT64, STRING, Column, TableSpec

_WORD = Column("word", STRING, "word, in lower case with `--word-case lower`")
_SPACE = Column("space", STRING, "`counts`, `embedding` (the model's token table), `layer:1`, ...")

TABLES: dict[str, TableSpec] = {
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
            Column("pairs", INT64, "pairs of words that the known questions are made of"),
            Column("correct", INT64, "known questions answered with the word that the file gives"),
            Column("accuracy", FLOAT32, "correct over n_known; null where none is known", True),
            Column("low", FLOAT32, "lower end of its 95 % interval, bootstrap over pairs", True),
            Column("high", FLOAT32, "upper end of its 95 % interval", True),
        ),
        ("space", "category", "rule", "excluded"),
    ),
    "meaning/analogy_differences": TableSpec(
        "a space and one before it, category of questions (`all`: all of them), rule, and whether given words were "
        "excluded",
        (
            _SPACE,
            Column("other", STRING, "the space before it that it is compared with"),
            Column("category", STRING, "category of the questions, as their file names it; `all`: all of them"),
            Column("rule", STRING, "`add`: 3CosAdd; `mul`: 3CosMul; `nearest_c`: the word nearest to c"),
            Column("excluded", BOOL, "whether a, b and c were excluded from the answers"),
            Column("n_known", INT64, "questions whose four words have a vector in both spaces"),
            Column("pairs", INT64, "pairs of words that these questions are made of"),
            Column(
                "difference",
                FLOAT32,
                "accuracy in `space` minus accuracy in `other`, over these questions; null where there is none",
                True,
            ),
            Column("low", FLOAT32, "lower end of its 95 % interval, bootstrap over pairs, the same in both", True),
            Column("high", FLOAT32, "upper end of its 95 % interval", True),
        ),
        ("space", "other", "category", "rule", "excluded"),
    ),
    "meaning/confusion": TableSpec(
        "a confusion set, what a classifier sees, and how many examples it was trained on",
        (
            Column("set", STRING, "the words to choose among, with spaces between them"),
            Column(
                "features",
                STRING,
                "`words` around the blank, `layer:N` (the model's state there), `majority` (the most frequent word), "
                "`shuffled` (`words`, all labels in a random order)",
            ),
            Column("n", INT64, "examples that it was trained on"),
            Column(
                "c",
                FLOAT32,
                "inverse strength of its L2 penalty (scikit-learn's C), chosen by cross-validation on training "
                "documents; null of `majority`",
                True,
            ),
            Column("n_test", INT64, "examples of held-out documents that it was tested on"),
            Column("documents", INT64, "documents that these are of"),
            Column("correct", INT64, "those that it chose the right word for"),
            Column("accuracy", FLOAT32, "correct over n_test"),
            Column("low", FLOAT32, "lower end of its 95 % interval, bootstrap by document"),
            Column("high", FLOAT32, "upper end of its 95 % interval"),
            Column(
                "balanced_accuracy",
                FLOAT32,
                "mean over the words of the share of a word's examples that it chose the right word for",
            ),
            Column("balanced_low", FLOAT32, "lower end of its 95 % interval, bootstrap by document"),
            Column("balanced_high", FLOAT32, "upper end of its 95 % interval"),
        ),
        ("set", "features", "n"),
    ),
    "meaning/sentences": TableSpec(
        "a way in which sentences are compared, and what the next one is told from",
        (
            Column(
                "space",
                STRING,
                "`layer:N` (cosine of the mean states), `tokens` (those shared), `head` (the model's own), `shuffled` "
                "(the last layer's, the two changed places at random)",
            ),
            Column(
                "against",
                STRING,
                "`same_document` (three sentences away or more) or `other_document`: of which the other sentence is",
            ),
            Column("n", INT64, "sentences, each with its next one and another"),
            Column("documents", INT64, "documents that they are of"),
            Column(
                "auc",
                FLOAT64,
                "how often the next sentence is the nearer one, over all pairs (area under the ROC curve)",
            ),
            Column("low", FLOAT32, "lower end of its 95 % interval, by document"),
            Column("high", FLOAT32, "upper end of its 95 % interval"),
        ),
        ("space", "against"),
    ),
    "meaning/masked_words": TableSpec(
        "a group of masked places; only of models with a head for them",
        (
            Column("property", STRING, "`all`, `tag`, `frequency`"),
            Column("value", STRING, "`all`; tag of the word (Penn); occurrences of the token in a million tokens"),
            Column("n", INT64, "masked places"),
            Column("rank_median", FLOAT32, "median rank of the true token, 1 for the likeliest"),
            Column("reciprocal_rank", FLOAT32, "mean of 1 over the rank"),
            Column("first", FLOAT32, "share of places where the true token is the likeliest"),
            Column("first_low", FLOAT32, "lower end of its 95 % interval (Wilson 1927)"),
            Column("first_high", FLOAT32, "upper end of its 95 % interval"),
            Column("within_10", FLOAT32, "share of places where it is among the ten likeliest"),
            Column("probability", FLOAT32, "mean probability of the true token"),
        ),
        ("property", "value"),
    ),
    "meaning/translations": TableSpec(
        "a space and two languages; only of a corpus with a column of languages",
        (
            Column("space", STRING, "`layer:N`; `shuffled`: the last layer, partners in a random order"),
            Column("language", STRING, "language of the sentences whose translation is looked for"),
            Column("other", STRING, "language of the translations"),
            Column("n", INT64, "sentences with a translation"),
            Column("reciprocal_rank", FLOAT32, "mean of 1 over the rank of the translation by cosine among all n"),
            Column("low", FLOAT32, "lower end of its 95 % interval"),
            Column("high", FLOAT32, "upper end of its 95 % interval"),
            Column("chance", FLOAT32, "what a random order gives"),
        ),
        ("space", "language", "other"),
    ),
    "meaning/hashing": TableSpec(
        "a label, and a code of sentences by method, kind and size",
        (
            Column("label", STRING, "what the classes are by: `topic`, `category`, `dataset`, or `--label`"),
            Column(
                "method",
                STRING,
                "`autoencoder`, `pca`; `states`: no code; `shuffled`: no code, the classes of those asked about in a "
                "random order",
            ),
            Column("code", STRING, "`real` or `bits`"),
            Column("size", INT32, "dimensions or bits; of `states` and `shuffled` the model's width"),
            Column("classes", INT32, "classes of the label"),
            Column("n", INT64, "held-out sentences that were asked about"),
            Column("neighbours", INT32, "nearest sentences of other documents that each was asked for"),
            Column("precision", FLOAT32, "share of the neighbours that are of its class, mean"),
            Column("low", FLOAT32, "lower end of its 95 % interval, by document; null where all are of one", True),
            Column("high", FLOAT32, "upper end of its 95 % interval", True),
            Column("chance", FLOAT32, "what the same neighbours give for classes in a random order"),
            Column("error", FLOAT32, "share of the variance lost when states are rebuilt from codes", True),
        ),
        ("label", "method", "code", "size"),
    ),
    "meaning/plane": TableSpec(
        "a held-out sentence in two dimensions",
        (
            Column("method", STRING, "`autoencoder` or `pca`"),
            Column("sent_id", INT64, "the sentence"),
            Column("x", FLOAT32, "first dimension of its code"),
            Column("y", FLOAT32, "second dimension"),
        ),
        ("method", "sent_id"),
    ),
}
