"""The tables of the job finetune."""

from ops.schema.columns import FLOAT32, INT32, INT64, STRING, Column, TableSpec

_SENTENCE = (
    Column("sent_id", INT64, "sentence"),
    Column("text", STRING, "its text"),
    Column("dataset", STRING, "data set of its document"),
    Column("doc_id", STRING, "its document; all of its sentences are on this side"),
    Column("label", STRING, "the document's label, as the corpus has it"),
)

TABLES: dict[str, TableSpec] = {
    "finetune/train": TableSpec(
        "a sentence of a document that the model was trained on",
        (*_SENTENCE, Column("trained_as", STRING, "label in training: another's under `--shuffle-labels`")),
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
            Column("epoch", INT32, "epochs that are done, counted from 1"),
            Column("steps", INT64, "steps that are done, a batch each"),
            Column("loss", FLOAT32, "mean cross-entropy in training, in nats"),
            Column("test_loss", FLOAT32, "mean cross-entropy on the test documents, in nats"),
            Column("test_accuracy", FLOAT32, "share of the test documents whose label is predicted"),
            Column("test_macro_f1", FLOAT32, "F1 on the test documents, mean over labels"),
            Column("majority_accuracy", FLOAT32, "accuracy of always giving the label most frequent in training"),
            Column("n", INT64, "test documents"),
        ),
        ("epoch",),
    ),
    "finetune/labels": TableSpec(
        "a label",
        (
            Column("label", STRING, "its name"),
            Column("train", INT64, "documents that have it, in training"),
            Column("test", INT64, "test documents that have it"),
            Column("predicted", INT64, "test documents for which it is predicted"),
            Column("correct", INT64, "those of them that have it"),
            Column("f1", FLOAT32, "2 correct / (test + predicted); null where no test document is either", True),
        ),
        ("label",),
    ),
}
