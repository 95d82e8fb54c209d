"""`python -m bench calibration`: on a small corpus whose documents have a topic each, and on a small run."""

import json
from pathlib import Path

import numpy as np
import pytest

from bench import mined_calibration
from bench.explained_sets import ExplainedSets, MinedRun, fresh_f1
from bench.harness import run
from bench.null_verdicts import DOCUMENTS, MATCHED_DOCUMENTS, WAYS, NullSets, planted_sets
from bench.verdict_stability import other_folds
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
    found = mined_calibration.calibrate(store, rows, SETS, K, 0, subtree_max_nodes=3, tag_max_length=2)
    assert mined_calibration.beyond_limits(found) == []
    few = {name: ways["few"] for name, ways in found.items() if "few" in ways}
    assert few["profiles author"]["by_sentence"] > 0.5
    assert few["profiles author"]["share"] < 0.2
    assert few[mined_calibration.ANY]["by_sentence"] > few[mined_calibration.ANY]["share"]
    assert found["patterns word"]["real"]["kept"] > 0
    assert list(found)[-1] == mined_calibration.ANY


def test_a_share_far_above_the_limit_is_named() -> None:
    rates = {"share": 0.2, "low": 0.15, "high": 0.3, "by_sentence": 0.3}
    fine = rates | {"low": 0.069}
    assert mined_calibration.beyond_limits({"a": {"uniform": rates, "mild": fine, "few": rates, "real": rates}}) == [
        "a, uniform",
        "a, few",
    ]


@pytest.fixture(scope="module")
def mined_run(small_run: tuple[Path, Path]) -> MinedRun:
    return MinedRun(str(small_run[0]))


@pytest.mark.parametrize("way", WAYS)
def test_random_sets_are_as_large_as_winners_and_drawn_as_they_say(mined_run: MinedRun, way: str) -> None:
    real = mined_run.winners(6, np.random.default_rng(1)).rows.to_arrays()
    sets = NullSets(mined_run, real, 1).draw(way, 6)
    document, baseline = np.asarray(mined_run.sentences.doc), mined_run.baseline
    assert len({tuple(own.tolist()) for own in sets}) == 6
    for rows in sets:
        assert (np.diff(rows) > 0).all()
        assert np.isin(rows, baseline).all()
        assert len(rows) == mined_run.scored.k
        if way in (DOCUMENTS, MATCHED_DOCUMENTS):
            missing = np.setdiff1d(baseline[np.isin(document[baseline], document[rows])], rows)
            assert len(np.unique(document[missing])) <= 1  # only the last document is cut


def test_the_word_of_a_planted_set_has_the_wanted_f1(mined_run: MinedRun) -> None:
    words = mined_run.matrix[np.flatnonzero(np.array(mined_run.pool["kind"]) == "word")].toarray() > 0
    for rows in planted_sets(mined_run, 0.3, 5, np.random.default_rng(1)):
        won = np.isin(mined_run.known, rows)
        f1 = 2 * (words & won).sum(1) / (words.sum(1) + won.sum())
        assert np.abs(f1 - 0.3).min() < 0.02


def test_a_card_is_asked_about_other_documents(mined_run: MinedRun) -> None:
    seen = other_folds(mined_run, 1)[mined_run.baseline] < 5
    one, other = mined_run.baseline[seen], mined_run.baseline[~seen]
    words = np.flatnonzero(np.array(mined_run.pool["kind"]) == "word")
    size = mined_run.matrix[words][:, np.searchsorted(mined_run.known, one)].sum(1)
    word = mined_run.matrix[[words[np.abs(size - 25).argmin()]]].toarray()[0] > 0
    having = mined_run.known[word]
    (assessed,) = ExplainedSets(mined_run, one).assess([having[np.isin(having, one)]], mined_run.other_numbers(1))
    assert assessed.evidence.f1.value > 0.9
    fresh = having[np.isin(having, other)]
    assert fresh_f1(mined_run, assessed, other, fresh) > 0.9
    assert fresh_f1(mined_run, assessed, other, np.setdiff1d(other, fresh)) < 0.1


def test_a_run_is_checked_and_its_counts_add_up(
    audit_run: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("ATLAS_CACHE", str(tmp_path))  # the benchmark sets it too
    flags = ["--null-sets", "6", "--audit-sets", "2", "--planted", "2", "--stability", "64"]
    status = run("calibration", ["--out", str(audit_run[0]), *flags])
    found = json.loads(capsys.readouterr().out)
    assert status == bool(found["beyond"])
    assert [sum(own["verdicts"].values()) for own in found["nulls"].values()] == [6, 6, 2, 2]
    assert [sum(own["verdicts"].values()) for own in found["audits"].values()] == [2, 2]
    assert [sum(verdicts.values()) for verdicts in found["planted"].values()] == [2, 2, 2]
    # Some units of this run detect a word.
    folds, seed, neurons = (found["stability"][name] for name in ("other_folds", "other_seed", "neurons"))
    assert 0 < folds["remain"] <= folds["rules"]
    assert seed["changed"] == sum(seed["changes"].values()) < seed["sets"] == neurons["sets"]
    assert 0 < neurons["confirmed"] <= neurons["rules"]
    assert neurons["fresh_f1"] > 0.5
