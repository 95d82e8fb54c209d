"""A corpus of three data sets in which units detect the same word everywhere, another word in each, or the data set."""

import json
from pathlib import Path

import numpy as np

from bench.planted import DOCUMENT, EITHER, MARK, OTHER_MARKS, make_model, make_texts

# The units of `write_planted_datasets`, which detect: the same word everywhere, another word in each data set, and the
# data set.
EVERYWHERE, HERE_AND_THERE, THE_DATASET = 0, 1, 3


def write_planted_datasets(folder: Path, sentences: int = 1_680, on: int = 120, seed: int = 0) -> tuple[Path, Path]:
    """Write the model and a corpus of three data sets, and return the model and the folder of the corpus's files.

    Each data set contains a third of the sentences, in complete documents. Unit 0 is on at the same word in all data
    sets. Unit 1 is on at one word in `first` and at another word in `second`; `third` contains neither word. Unit 3 is
    on at the mark that ends every sentence of `third` and no other sentence.
    """
    rng = np.random.default_rng(seed)
    files: dict[str, list[str]] = {"first": [], "second": [], "third": []}
    (folder / "corpus").mkdir()
    one, other = EITHER
    for place, text in enumerate(make_texts(sentences, on, rng)):
        document = place // DOCUMENT
        name = list(files)[document % 3]
        words = {"first": {other: one}, "second": {one: other}, "third": {one: "w1", other: "w2"}}[name]
        row = [words.get(word, word) for word in text.split()]
        row[-1] = MARK if name == "third" else row[-1].replace(MARK, OTHER_MARKS[0])
        files[name].append(json.dumps({"text": " ".join(row), "doc_id": f"d{document}"}))
    for name, lines in files.items():
        (folder / "corpus" / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return make_model(folder / "planted", sentences, rng), folder / "corpus"
