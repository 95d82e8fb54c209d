"""The corpora that `--corpus` accepts by name: their place on the Hugging Face hub and the meaning of their columns."""

from dataclasses import dataclass, field

_SENTIMENT = {"0": "negative", "neg": "negative", "1": "positive", "pos": "positive"}
_STARS = {"0": "negative", "2": "neutral", "4": "positive"}
CONVERSION = "refs/convert/parquet"  # the branch in which the hub stores Parquet files of a dataset with a script


@dataclass(frozen=True)
class Column:
    """A column of a dataset on the hub, and the conversion of its values to text.

    Attributes:
        name: the column's name; if the column contains lists, the first entry of each list is used.
        values: maps the text of a value to its meaning; a value that is not listed becomes null. If the mapping is
            empty, the text itself is used.
        strip: characters that do not belong to a value and are removed from its ends.
    """

    name: str
    values: dict[str, str] = field(default_factory=dict)
    strip: str = ""


@dataclass(frozen=True)
class Preset:
    """A corpus on the hub.

    Attributes:
        hub: the dataset's id.
        revision: the commit to which the files are pinned, or a branch that is resolved when a run begins.
        files: the splits in the order in which they are read, each with the pattern of its files.
        text: the column of the text.
        doc_id: the column of the document's id; without one, each row is a document.
        meta: the metadata keys, each with its column.
        batch_rows: number of rows decoded at a time; 0 leaves the choice to the library (a row group).
    """

    hub: str
    revision: str
    files: dict[str, str]
    text: str
    doc_id: Column | None = None
    meta: dict[str, Column] = field(default_factory=dict)
    batch_rows: int = 0


# docs/corpora.md names the source of each id, revision and column. The fingerprint of a run's corpus includes the text
# of its preset, with the names of classes and fields: renaming one would make finished runs look different.
PRESETS = {
    "bookcorpus": Preset("bookcorpus/bookcorpus", CONVERSION, {"train": "plain_text/train/*.parquet"}, "text"),
    "wikipedia": Preset(
        "wikimedia/wikipedia",
        "b04c8d1ceb2f5cd4588862100d08de323dccfbaa",
        {"train": "20231101.en/train-*.parquet"},
        "text",
        Column("id"),
        {"entity": Column("title")},
    ),
    "sentiment140": Preset(
        "stanfordnlp/sentiment140",
        "807548e523c44caceeb4cb7f950caf7fb5008711",
        {"train": "sentiment140/train/*.parquet", "test": "sentiment140/test/*.parquet"},
        "text",
        meta={"sentiment": Column("sentiment", _STARS), "author": Column("user")},
    ),
    "imdb": Preset(
        "stanfordnlp/imdb",
        "e6281661ce1c48d982bc483cf8a173c1bbeb5d31",
        {
            "train": "plain_text/train-*.parquet",
            "test": "plain_text/test-*.parquet",
            "unsupervised": "plain_text/unsupervised-*.parquet",
        },
        "text",
        meta={"sentiment": Column("label", _SENTIMENT)},
    ),
    "newsgroups": Preset(
        "SetFit/20_newsgroups",
        "f1b91292074e7cfb69be58b642d583ec262f30ed",
        {"train": "train.jsonl", "test": "test.jsonl"},
        "text",
        meta={"topic": Column("label_text")},
    ),
    "reuters": Preset(
        "ucirvine/reuters21578",
        CONVERSION,
        {"train": "ModApte/train/*.parquet", "test": "ModApte/test/*.parquet"},
        "text",
        Column("new_id", strip='"'),
        {"category": Column("topics")},
    ),
    "gutenberg": Preset(
        "incredible45/Gutenberg-BookCorpus-Cleaned-Data-English",
        "b639684dd6545d6b1e82fe724e33dba85f5587ff",
        {"train": "data/train-*.parquet"},
        "context",
        Column("etextno"),
        {"author": Column("author"), "title": Column("book_title")},
        batch_rows=16,
    ),
}
