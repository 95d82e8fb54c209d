"""The tables of the job finetune."""

from ops.schema.columns import FLOAT32, INT32, INT64, STRING, Column, TableSpec

_SENTENCE = (
    Column("sent_id", INT64, "sentence"),
    Column("text", STRING, "its text"),
    Column("dataset", STRING, "data set of its document"),
    Column("doc_id", STRING, "its document; all sentences of a document are on the same side"),
    Column("label", STRING, "the document's label in the corpus"),
)

TABLES: dict[str, TableSpec] = {
    "finetune/train": TableSpec(
        "a sentence of a document that the model was trained on",
        (
            *_SENTENCE,
            Column("trained_as", STRING, "label used in training; with `--shuffle-labels`, that of another document"),
        ),
        ("sent_id",),
    ),
    "finetune/test": TableSpec(
        "a sentence of a document that the model was not trained on",
        _SENTENCE,
        ("sent_id",),
    ),
    "finetune/epochs": TableSpec(
        "one epoch of the training",
        (
            Column("epoch", INT32, "number of epochs so far, counted from 1"),
            Column("steps", INT64, "number of steps so far, of one batch each"),
            Column("loss", FLOAT32, "mean cross-entropy in training, in nats"),
            Column("test_loss", FLOAT32, "mean cross-entropy on the test documents, in nats"),
            Column("test_accuracy", FLOAT32, "share of the test documents whose label is predicted"),
            Column("test_macro_f1", FLOAT32, "F1 on the test documents, mean over labels"),
            Column("majority_accuracy", FLOAT32, "accuracy of always predicting the most frequent label in training"),
            Column("n", INT64, "test documents"),
        ),
        ("epoch",),
    ),
    "finetune/labels": TableSpec(
        "a label",
        (
            Column("label", STRING, "its name"),
            Column("train", INT64, "training documents that have it"),
            Column("test", INT64, "test documents that have it"),
            Column("predicted", INT64, "test documents for which it is predicted"),
            Column("correct", INT64, "test documents for which it is predicted and that have it"),
            Column("f1", FLOAT32, "2 `correct` / (`test` + `predicted`); null if both of these are 0", True),
        ),
        ("label",),
    ),
}
