"""The tables of the side job meaning."""

from ops.schema.columns import interval, tables

_WORD = "word string: word, in lower case with `--word-case lower`"
_SPACE = "space string: `counts`, `embedding` (the model's token table), `layer:1`, ..."
_QUESTIONS = """
category string: category of the questions, as named in their file; `all`: all questions
rule string: `add`: 3CosAdd; `mul`: 3CosMul; `nearest_c`: the word nearest to c
excluded bool: whether a, b and c were excluded from the answers
"""

TABLES = tables(f"""
table meaning/contexts by word, context: a word and a context word near it
    {_WORD}
    context string: context word
    count int64: how often the two words occur within the window of each other
    ppmi float32: positive pointwise mutual information, in nats

table meaning/words by word in groups of 8192: a word that occurs often enough
    {_WORD}
    count int64: occurrences in the corpus
    vector list[float32]: its vector, a truncated SVD of the PPMI; zeros without a context

table meaning/neighbours by space, word, rank: a word and one of the words nearest to it in a space
    {_SPACE}
    {_WORD}
    rank int32: rank by cosine; 1: the nearest
    other string: the near word
    cosine float32: cosine of the two vectors
    inner float32: inner product of the two vectors

table meaning/analogies by space, category, rule, excluded: a space, category of questions (`all`: all questions), \
    rule, and whether the given words were excluded
    {_SPACE}
    {_QUESTIONS}
    n int64: questions
    n_known int64: questions whose four words have a vector in the space
    pairs int64: pairs of words in the known questions
    correct int64: known questions answered with the word that the file gives
    accuracy float32?: `correct` divided by `n_known`; null if no question is known
    {interval("", ", from a bootstrap over pairs", "float32?")}

table meaning/analogy_differences by space, other, category, rule, excluded: a space and an earlier one, category of \
    questions (`all`: all questions), rule, and whether the given words were excluded
    {_SPACE}
    other string: the earlier space that it is compared with
    {_QUESTIONS}
    n_known int64: questions whose four words have a vector in both spaces
    pairs int64: pairs of words in these questions
    difference float32?: accuracy in `space` minus accuracy in `other`, over these questions; null if there are none
    {interval("", ", from a bootstrap over pairs, the same for both spaces", "float32?")}

table meaning/confusion by set, features, n: a confusion set, what a classifier sees, and how many examples it was \
    trained on
    set string: the words to choose from, separated by spaces
    features string: `words` around the blank, `layer:N` (the model's state there), `majority` (the most frequent \
        word), `shuffled` (`words` with permuted labels)
    n int64: examples that it was trained on
    c float32?: inverse strength of its L2 penalty (scikit-learn's C), chosen by cross-validation on training \
        documents; null for `majority`
    n_test int64: examples of held-out documents that it was tested on
    documents int64: documents of these examples
    correct int64: examples for which it chose the right word
    accuracy float32: `correct` divided by `n_test`
    {interval("", ", from a bootstrap over documents", "float32")}
    balanced_accuracy float32: share of a word's examples for which it chose the right word, mean over the words
    {interval("balanced", ", from a bootstrap over documents", "float32")}

table meaning/sentences by space, against: a way to compare sentences, and the kind of sentence that the next one is \
    compared with
    space string: `layer:N` (cosine of the mean states), `tokens` (shared tokens), `head` (the model's own), \
        `shuffled` (the last layer, with the two sentences swapped at random)
    against string: where the other sentence is from: `same_document` (at least three sentences away) or \
        `other_document`
    n int64: sentences, each with its next sentence and another one
    documents int64: documents of these sentences
    auc float64: how often the next sentence is the nearer one, over all pairs (area under the ROC curve)
    {interval("", ", by document", "float32")}

table meaning/masked_words by property, value: a group of masked positions; only for models with a head for masked words
    property string: `all`, `tag`, `frequency`
    value string: `all`, Penn tag of the word, or occurrences of the token per million tokens
    n int64: masked positions
    rank_median float32: median rank of the true token; 1: most likely
    reciprocal_rank float32: mean of 1 / rank
    first float32: share of positions where the true token is the most likely
    {interval("first", ", by document; null if all are from one document", "float32?")}
    within_10 float32: share of positions where it is among the ten most likely
    probability float32: mean probability of the true token

table meaning/translations by space, language, other: a space and two languages; only for a corpus with a language \
    column
    space string: `layer:N`; `shuffled`: the last layer with permuted partners
    language string: language of the sentences whose translations are searched for
    other string: language of the translations
    n int64: sentences with a translation
    reciprocal_rank float32: mean of 1 / rank of the translation by cosine among all `n`
    {interval("", ", by document; null if all are from one document", "float32?")}
    chance float32: value for a random order

table meaning/hashing by label, method, code, size: a label, and the method, kind and size of a code of sentences
    label string: what defines the classes: `topic`, `category`, `dataset`, or `--label`
    method string: `autoencoder`, `pca`; `states`: no code; `shuffled`: no code, with the queries' classes permuted
    code string: `real` or `bits`
    size int32: dimensions or bits; for `states` and `shuffled`, the model's width
    classes int32: classes of the label
    n int64: held-out sentences used as queries
    neighbours int32: nearest sentences of other documents found for each query
    precision float32: mean share of the neighbours that have the query's class
    {interval("", ", by document; null if all are from one document", "float32?")}
    chance float32: precision of the same neighbours with permuted classes
    error float32?: share of the variance lost when states are reconstructed from codes

table meaning/plane by method, sent_id: a held-out sentence in two dimensions
    method string: `autoencoder` or `pca`
    sent_id int64: the sentence
    x float32: first dimension of its code
    y float32: second dimension
""")
