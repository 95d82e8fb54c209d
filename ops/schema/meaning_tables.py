"""The tables of the side job meaning."""

import pyarrow as pa

from ops.schema.columns import BOOL, FLOAT32, FLOAT64, INT32, INT64, STRING, Column, TableSpec, interval

_WORD = Column("word", STRING, "word, in lower case with `--word-case lower`")
_SPACE = Column("space", STRING, "`counts`, `embedding` (the model's token table), `layer:1`, ...")
_QUESTIONS = (
    Column("category", STRING, "category of the questions, as named in their file; `all`: all questions"),
    Column("rule", STRING, "`add`: 3CosAdd; `mul`: 3CosMul; `nearest_c`: the word nearest to c"),
    Column("excluded", BOOL, "whether a, b and c were excluded from the answers"),
)

TABLES: dict[str, TableSpec] = {
    "meaning/contexts": TableSpec(
        "a word and a context word near it",
        (
            _WORD,
            Column("context", STRING, "context word"),
            Column("count", INT64, "how often the two words occur within the window of each other"),
            Column("ppmi", FLOAT32, "positive pointwise mutual information, in nats"),
        ),
        ("word", "context"),
    ),
    "meaning/words": TableSpec(
        "a word that occurs often enough",
        (
            _WORD,
            Column("count", INT64, "occurrences in the corpus"),
            Column("vector", pa.list_(FLOAT32), "its vector, a truncated SVD of the PPMI; zeros without a context"),
        ),
        ("word",),
        8_192,
    ),
    "meaning/neighbours": TableSpec(
        "a word and one of the words nearest to it in a space",
        (
            _SPACE,
            _WORD,
            Column("rank", INT32, "rank by cosine; 1: the nearest"),
            Column("other", STRING, "the near word"),
            Column("cosine", FLOAT32, "cosine of the two vectors"),
            Column("inner", FLOAT32, "inner product of the two vectors"),
        ),
        ("space", "word", "rank"),
    ),
    "meaning/analogies": TableSpec(
        "a space, category of questions (`all`: all questions), rule, and whether the given words were excluded",
        (
            _SPACE,
            *_QUESTIONS,
            Column("n", INT64, "questions"),
            Column("n_known", INT64, "questions whose four words have a vector in the space"),
            Column("pairs", INT64, "pairs of words in the known questions"),
            Column("correct", INT64, "known questions answered with the word that the file gives"),
            Column("accuracy", FLOAT32, "`correct` divided by `n_known`; null if no question is known", True),
            *interval("", ", from a bootstrap over pairs", FLOAT32),
        ),
        ("space", "category", "rule", "excluded"),
    ),
    "meaning/analogy_differences": TableSpec(
        "a space and an earlier one, category of questions (`all`: all questions), rule, and whether the given words "
        "were excluded",
        (
            _SPACE,
            Column("other", STRING, "the earlier space that it is compared with"),
            *_QUESTIONS,
            Column("n_known", INT64, "questions whose four words have a vector in both spaces"),
            Column("pairs", INT64, "pairs of words in these questions"),
            Column(
                "difference",
                FLOAT32,
                "accuracy in `space` minus accuracy in `other`, over these questions; null if there are none",
                True,
            ),
            *interval("", ", from a bootstrap over pairs, the same for both spaces", FLOAT32),
        ),
        ("space", "other", "category", "rule", "excluded"),
    ),
    "meaning/confusion": TableSpec(
        "a confusion set, what a classifier sees, and how many examples it was trained on",
        (
            Column("set", STRING, "the words to choose from, separated by spaces"),
            Column(
                "features",
                STRING,
                "`words` around the blank, `layer:N` (the model's state there), `majority` (the most frequent word), "
                "`shuffled` (`words` with permuted labels)",
            ),
            Column("n", INT64, "examples that it was trained on"),
            Column(
                "c",
                FLOAT32,
                "inverse strength of its L2 penalty (scikit-learn's C), chosen by cross-validation on training "
                "documents; null for `majority`",
                True,
            ),
            Column("n_test", INT64, "examples of held-out documents that it was tested on"),
            Column("documents", INT64, "documents of these examples"),
            Column("correct", INT64, "examples for which it chose the right word"),
            Column("accuracy", FLOAT32, "`correct` divided by `n_test`"),
            *interval("", ", from a bootstrap over documents", FLOAT32, False),
            Column(
                "balanced_accuracy",
                FLOAT32,
                "share of a word's examples for which it chose the right word, mean over the words",
            ),
            *interval("balanced", ", from a bootstrap over documents", FLOAT32, False),
        ),
        ("set", "features", "n"),
    ),
    "meaning/sentences": TableSpec(
        "a way to compare sentences, and the kind of sentence that the next one is compared with",
        (
            Column(
                "space",
                STRING,
                "`layer:N` (cosine of the mean states), `tokens` (shared tokens), `head` (the model's own), `shuffled` "
                "(the last layer, with the two sentences swapped at random)",
            ),
            Column(
                "against",
                STRING,
                "where the other sentence is from: `same_document` (at least three sentences away) or `other_document`",
            ),
            Column("n", INT64, "sentences, each with its next sentence and another one"),
            Column("documents", INT64, "documents of these sentences"),
            Column(
                "auc",
                FLOAT64,
                "how often the next sentence is the nearer one, over all pairs (area under the ROC curve)",
            ),
            *interval("", ", by document", FLOAT32, False),
        ),
        ("space", "against"),
    ),
    "meaning/masked_words": TableSpec(
        "a group of masked positions; only for models with a head for masked words",
        (
            Column("property", STRING, "`all`, `tag`, `frequency`"),
            Column("value", STRING, "`all`, Penn tag of the word, or occurrences of the token per million tokens"),
            Column("n", INT64, "masked positions"),
            Column("rank_median", FLOAT32, "median rank of the true token; 1: most likely"),
            Column("reciprocal_rank", FLOAT32, "mean of 1 / rank"),
            Column("first", FLOAT32, "share of positions where the true token is the most likely"),
            *interval("first", ", by document; null if all are from one document", FLOAT32),
            Column("within_10", FLOAT32, "share of positions where it is among the ten most likely"),
            Column("probability", FLOAT32, "mean probability of the true token"),
        ),
        ("property", "value"),
    ),
    "meaning/translations": TableSpec(
        "a space and two languages; only for a corpus with a language column",
        (
            Column("space", STRING, "`layer:N`; `shuffled`: the last layer with permuted partners"),
            Column("language", STRING, "language of the sentences whose translations are searched for"),
            Column("other", STRING, "language of the translations"),
            Column("n", INT64, "sentences with a translation"),
            Column("reciprocal_rank", FLOAT32, "mean of 1 / rank of the translation by cosine among all `n`"),
            *interval("", ", by document; null if all are from one document", FLOAT32),
            Column("chance", FLOAT32, "value for a random order"),
        ),
        ("space", "language", "other"),
    ),
    "meaning/hashing": TableSpec(
        "a label, and the method, kind and size of a code of sentences",
        (
            Column("label", STRING, "what defines the classes: `topic`, `category`, `dataset`, or `--label`"),
            Column(
                "method",
                STRING,
                "`autoencoder`, `pca`; `states`: no code; `shuffled`: no code, with the queries' classes permuted",
            ),
            Column("code", STRING, "`real` or `bits`"),
            Column("size", INT32, "dimensions or bits; for `states` and `shuffled`, the model's width"),
            Column("classes", INT32, "classes of the label"),
            Column("n", INT64, "held-out sentences used as queries"),
            Column("neighbours", INT32, "nearest sentences of other documents found for each query"),
            Column("precision", FLOAT32, "mean share of the neighbours that have the query's class"),
            *interval("", ", by document; null if all are from one document", FLOAT32),
            Column("chance", FLOAT32, "precision of the same neighbours with permuted classes"),
            Column("error", FLOAT32, "share of the variance lost when states are reconstructed from codes", True),
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
