"""`python -m bench calibration` on a small corpus whose documents have a topic each."""

from pathlib import Path

import numpy as np
import pytest

from bench import calibration
from tests.unit.small_corpus import Sentence, open_corpus

pytestmark = pytest.mark.slow

SETS, K = 30, 100


def topical(documents: int) -> list[Sentence]:
    """Return documents of one to nineteen sentences, each about one thing, and of one author."""
    random = np.random.default_rng(2)
    found = []
    for document in range(documents):
        topic, author = (f"{name}{random.integers(12)}" for name in ("thing", "author"))
        for _ in range(random.integers(1, 20)):
            words = ["the", topic if random.random() < 0.7 else f"thing{random.integers(12)}", "was", "old"]
            words = words[: random.integers(2, 5)]
            tags = ["DT", "NN", "VBD", "JJ"][: len(words)]
            place = {"doc_id": f"d{document}", "meta": {"author": author}}
            leaves = " ".join(f"({tag} {word})" for tag, word in zip(tags, words, strict=True))
            found.append(Sentence(words, tags, f"(ROOT (S {leaves}))", dataset="ab"[document % 2], **place))
    return found


def test_random_sets_of_whole_documents_show_no_more_than_they_should(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sentences = topical(80)
    store = open_corpus(tmp_path, monkeypatch, sentences)
    # Winners with one thing in common, of many documents.
    about = [i for i, s in enumerate(sentences) if "thing3" in s.words]
    rows = [np.array(about)]
    real = calibration.Sets(rows, lambda: calibration.random_peaks(store, rows, 1))
    found = calibration.calibrate(store, real, SETS, K, 0, subtree_max_nodes=3, tag_max_length=2)
    assert calibration.beyond(found) == []
    few = {name: ways["few"] for name, ways in found.items() if "few" in ways}
    assert few["profiles author"]["by_sentence"] > 0.5
    assert few["profiles author"]["share"] < 0.2
    assert few[calibration.ANY]["by_sentence"] > few[calibration.ANY]["share"]
    assert "peaks peak_word" in found
    assert found["patterns word"]["real"]["kept"] > 0
    lines = calibration.layout(found).splitlines()
    assert len(lines) == 2 + len(found)
    assert lines[-1].startswith(f"| {calibration.ANY} | ")


def test_a_share_far_above_the_limit_is_named() -> None:
    rates = {"share": 0.2, "low": 0.15, "high": 0.3, "by_sentence": 0.3}
    fine = rates | {"low": 0.069}
    assert calibration.beyond({"a": {"uniform": rates, "mild": fine, "few": rates, "real": rates}}) == [
        "a, uniform",
        "a, few",
    ]
