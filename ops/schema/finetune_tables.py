"""The tables of the job finetune."""

from ops.schema.columns import tables

_SENTENCE = """
sent_id int64: sentence
text string: its text
dataset string: data set of its document
doc_id string: its document; all sentences of a document are on the same side
label string: the document's label in the corpus
"""

TABLES = tables(f"""
table finetune/train by sent_id: a sentence of a document that the model was trained on
    {_SENTENCE}
    trained_as string: label used in training; with `--shuffle-labels`, that of another document

table finetune/test by sent_id: a sentence of a document that the model was not trained on
    {_SENTENCE}

table finetune/epochs by epoch: one epoch of the training
    epoch int32: number of epochs so far, counted from 1
    steps int64: number of steps so far, of one batch each
    loss float32: mean cross-entropy in training, in nats
    test_loss float32: mean cross-entropy on the test documents, in nats
    test_accuracy float32: share of the test documents whose label is predicted
    test_macro_f1 float32: F1 on the test documents, mean over labels
    majority_accuracy float32: accuracy of always predicting the most frequent label in training
    n int64: test documents

table finetune/labels by label: a label
    label string: its name
    train int64: training documents that have it
    test int64: test documents that have it
    predicted int64: test documents for which it is predicted
    correct int64: test documents for which it is predicted and that have it
    f1 float32?: 2 `correct` / (`test` + `predicted`); null if both of these are 0
""")
