"""The job `meaning`: counts that equal a recount, the same tables however it ran, and what `show` says of a word."""

import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from jobs.meaning import job as meaning
from jobs.meaning.job import MeaningConfig
from jobs.run_folder.publish import under
from jobs.run_folder.run import Run
from jobs.show import job as show
from jobs.show import printing
from jobs.show.job import ShowConfig
from ops.errors import InputError
from ops.meaning.words import split_words
from tests.jobs.finished_runs.meaning import meaning_options, translations_options

pytestmark = pytest.mark.usefixtures("blank_figures")
TABLES = (
    *("meaning/contexts", "meaning/words", "meaning/neighbours", "meaning/analogies"),
    *("meaning/analogy_differences", "meaning/confusion", "meaning/sentences"),
    *("meaning/masked_words", "meaning/hashing", "meaning/plane"),
)
SPACES = ["counts", "embedding", "layer:1", "layer:2"]


@pytest.fixture
def whole(meaning_run: tuple[Path, Path]) -> Path:
    return meaning_run[0]


def same(a: Path, b: Path) -> bool:
    return all(pq.read_table(a / t).equals(pq.read_table(b / t)) for t in TABLES)


def again(out: Path, source: Path, whole: Path, model: Path, **more: Any) -> MeaningConfig:
    questions = str(whole.parent / "questions.txt")
    return MeaningConfig.model_validate(
        meaning_options(out, source, model, analogies=questions, confusion="the a", **more)
    )


def test_counts_equal_a_recount_of_the_corpus(whole: Path) -> None:
    texts = pq.read_table(whole / "corpus")["text"].to_pylist()
    contexts = pq.read_table(whole / "meaning/contexts")
    words = pq.read_table(whole / "meaning/words")
    occurrences = Counter(w for text in texts for w in split_words(text, "lower"))
    counted = dict(zip(words["word"].to_pylist(), words["count"].to_pylist(), strict=True))
    assert counted == {w: n for w, n in occurrences.items() if n >= 2}
    chosen = set(contexts["context"].to_pylist())
    assert len(chosen) == 60
    expected: Counter[tuple[str, str]] = Counter()
    for text in texts:
        sentence = split_words(text, "lower")
        for i, word in enumerate(sentence):
            near = sentence[max(i - 5, 0) : i] + sentence[i + 1 : i + 6]
            expected.update((word, c) for c in near if word in counted and c in chosen)
    found = {(r["word"], r["context"]): r["count"] for r in contexts.to_pylist()}
    assert found == expected
    counts = Run(str(whole)).require("meaning/counts")["counts"]
    assert counts["counted"] == sum(expected.values())
    assert (counts["words"], counts["pairs"], counts["sentences"]) == (len(counted), len(expected), len(texts))
    total = sum(expected.values())
    smoothed = Counter[str]()
    own = Counter[str]()
    for (word, context), n in expected.items():
        smoothed[context] += n
        own[word] += n
    powers = {c: n**0.75 for c, n in smoothed.items()}
    for row in contexts.slice(0, 500).to_pylist():
        share = powers[row["context"]] / sum(powers.values())
        information = np.log(row["count"] / total / (own[row["word"]] / total * share))
        assert row["ppmi"] == pytest.approx(max(information, 0), abs=1e-5)


def test_every_space_has_its_neighbours_and_answers(whole: Path) -> None:
    counts = Run(str(whole)).require("meaning/offsets")["counts"]
    assert counts["spaces"] == SPACES
    assert counts["read"] == counts["scored"] == counts["sentences"] == pq.read_table(whole / "corpus").num_rows
    rows = pq.read_table(whole / "meaning/neighbours").to_pylist()
    assert {r["space"] for r in rows} == set(SPACES)
    assert [(r["space"], r["word"].encode(), r["rank"]) for r in rows] == sorted(
        (r["space"], r["word"].encode(), r["rank"]) for r in rows
    )
    assert len(rows) == counts["neighbours"]
    answers = pq.read_table(whole / "meaning/analogies").to_pylist()
    assert len(answers) == 4 * 3 * 3 * 2
    for row in answers:
        known = {"made up": 2, "unknown": 0, "all": 2}[row["category"]]
        assert row["n_known"] == known
        assert (row["accuracy"] is None) == (known == 0)
    # Differences of shares over the same questions are those of the shares.
    found = {(r["space"], r["category"], r["rule"], r["excluded"]): r["accuracy"] for r in answers}
    differences = pq.read_table(whole / "meaning/analogy_differences").to_pylist()
    assert len(differences) == 6 * 3 * 3 * 2
    for row in differences:
        key = row["category"], row["rule"], row["excluded"]
        own, other = (found[row[name], *key] for name in ("space", "other"))
        assert row["difference"] == (None if own is None else pytest.approx(own - other))
    for name in counts["figures"]:
        assert (whole / name).stat().st_size > 5_000


def test_every_occurrence_of_a_confusion_set_is_found(whole: Path) -> None:
    counts = Run(str(whole)).require("meaning/confusion")["counts"]
    texts = pq.read_table(whole / "corpus")["text"].to_pylist()
    words = Counter(w for text in texts for w in split_words(text, "lower"))
    assert counts["found"] == {"the a": words["the"] + words["a"]}
    rows = pq.read_table(whole / "meaning/confusion").to_pylist()
    assert {r["features"] for r in rows} == {"majority", "words", "shuffled", "layer:1", "layer:2"}
    assert len({r["n_test"] for r in rows}) == 1
    assert all(r["low"] <= r["accuracy"] <= r["high"] for r in rows)
    assert all(r["balanced_low"] <= r["balanced_accuracy"] <= r["balanced_high"] for r in rows)
    assert {r["features"] for r in rows if r["c"] is None} == {"majority"}
    assert 0 < max(r["n"] for r in rows) + rows[0]["n_test"] <= counts["found"]["the a"]


def test_next_sentences_are_told_by_layers_and_by_the_model_s_own_head(whole: Path) -> None:
    counts = Run(str(whole)).require("meaning/sentences")["counts"]
    corpus = pq.read_table(whole / "corpus").to_pylist()
    places = {(r["doc_id"], r["sent_in_doc"]) for r in corpus}
    sizes = Counter(r["doc_id"] for r in corpus)
    followed = [r for r in corpus if (r["doc_id"], r["sent_in_doc"] + 1) in places and sizes[r["doc_id"]] > 2]
    assert 100 < counts["pairs"] <= min(150, len(followed))
    rows = pq.read_table(whole / "meaning/sentences").to_pylist()
    assert {r["space"] for r in rows} == {"tokens", "layer:1", "layer:2", "head", "shuffled"}
    assert len(rows) == 10
    assert all(r["low"] <= r["auc"] <= r["high"] for r in rows)
    assert {r["n"] for r in rows if r["against"] == "other_document"} == {counts["pairs"]}
    assert {r["n"] for r in rows if r["against"] == "same_document"} == {counts["pairs"] - counts["without_distant"]}
    control = [r for r in rows if r["space"] == "shuffled"]
    assert all(abs(r["auc"] - 0.5) < 1.6 * (r["high"] - r["low"]) / 2 for r in control)
    assert counts["heads"] == ["next_sentence", "masked_word"]
    words = pq.read_table(whole / "meaning/masked_words").to_pylist()
    by_group = {g: sum(r["n"] for r in words if r["property"] == g) for g in ("all", "tag", "frequency")}
    assert set(by_group.values()) == {counts["masked_places"]}
    assert {r["value"] for r in words if r["property"] == "tag"} > {"NN", "IN", "DT"}
    assert any("translations (no two languages share 10 of the drawn keys" in line for line in counts["left_out"])
    assert not (whole / "meaning/translations").exists()


def test_codes_of_every_size_are_measured_beside_whole_states_and_chance(whole: Path) -> None:
    counts = Run(str(whole)).require("meaning/hashing")["counts"]
    rows = pq.read_table(whole / "meaning/hashing").to_pylist()
    sizes = [2, 4, 8]
    expected = {(m, c, s) for m in ("autoencoder", "pca") for c in ("real", "bits") for s in sizes}
    assert {(r["method"], r["code"], r["size"]) for r in rows} == {
        *expected, ("states", "real", 12), ("shuffled", "real", 12),
    }  # fmt: skip
    assert {r["label"] for r in rows} == {"topic"}
    assert {r["classes"] for r in rows} == {3}
    assert {r["n"] for r in rows} == {counts["held_out"]}
    lost = {r["size"]: r["error"] for r in rows if (r["method"], r["code"]) == ("pca", "real")}
    assert lost[2] > lost[4] > lost[8] > 0
    control = next(r for r in rows if r["method"] == "shuffled")
    assert abs(control["precision"] - control["chance"]) < 1.6 * (control["high"] - control["low"]) / 2
    plane = pq.read_table(whole / "meaning/plane")
    assert plane.num_rows == 2 * counts["held_out"]
    for name in counts["figures"]:
        assert (whole / name).stat().st_size > 5_000


def test_a_column_of_languages_gives_translations_and_one_class_is_refused(
    translations_run: Path, meaning_run: tuple[Path, Path]
) -> None:
    table = pq.read_table(translations_run / "meaning/translations").to_pylist()
    assert {(r["language"], r["other"], r["n"]) for r in table} == {("en", "xx", 40), ("xx", "en", 40)}
    last = {r["space"]: r for r in table if r["language"] == "en"}
    assert last["layer:2"]["reciprocal_rank"] > 5 * last["layer:2"]["chance"]
    assert last["shuffled"]["low"] < last["shuffled"]["chance"] < last["shuffled"]["high"]
    own = translations_options(translations_run, meaning_run[1])
    again = {**own, "parts": "hashing"}
    for label, named in (("same", "has only the value 'x'"), ("key", "has 40 values")):
        with pytest.raises(InputError, match=f"--label {label}.*{named}"):
            meaning.JOB.run(MeaningConfig.model_validate({**again, "label": label}))
    with pytest.raises(InputError, match="--language-column tongue"):
        meaning.JOB.run(MeaningConfig.model_validate({**again, "parts": "sentences", "language_column": "tongue"}))


@pytest.mark.slow
def test_one_worker_other_shards_and_lost_partials_give_the_same(
    tmp_path: Path, whole: Path, source: Path, meaning_run: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    out, model = tmp_path / "run", meaning_run[1]
    shutil.copytree(whole, out)
    folder = out / "_partials" / "meaning" / "counts"
    for name in ("sentences/results-00001", "sentences/shard-00003", "hashing/shard-00002", "hashing/codes-pca-4"):
        (folder.parent / f"{name}.parquet").unlink()
    lost = [folder / f"{name}.parquet" for name in ("words-00002", "shard-00001", "shard-00004", "range-00000")]
    for path in lost:
        path.unlink()
    (folder / "shard-00003.parquet").write_bytes((folder / "shard-00003.parquet").read_bytes()[:-30])
    record = json.loads((out / "run.json").read_text())
    record["stages"]["meaning/counts"]["complete"] = False
    for stage in ("offsets", "confusion", "sentences", "hashing"):
        record["stages"].pop(f"meaning/{stage}")
    (out / "run.json").write_text(json.dumps(record))
    own = out / under("meaning/counts") / "meaning"
    own.mkdir(parents=True)
    for table in ("contexts", "words"):
        shutil.move(out / "meaning" / table, own / table)
    meaning.JOB.run(again(out, source, whole, model, workers=1))
    said = capsys.readouterr().err
    assert "meaning: contexts: 6 of 9 shards were already done" in said
    assert same(out, whole)
    meaning.JOB.run(again(out, source, whole, model))
    assert "meaning/counts: already done" in capsys.readouterr().err
    with pytest.raises(InputError, match=r"window \(was 5, is 4\).*--redo"):
        meaning.JOB.run(again(out, source, whole, model, window=4))


def test_show_prints_a_word(whole: Path, capsys: pytest.CaptureFixture[str]) -> None:
    contexts = [r for r in pq.read_table(whole / "meaning/contexts").to_pylist() if r["ppmi"] > 0]
    word = max(contexts, key=lambda r: r["count"])["word"]
    own = sorted((r for r in contexts if r["word"] == word), key=lambda r: -r["ppmi"])
    facts, _ = printing.word(Run(str(whole), create=False), ShowConfig(out=str(whole), word=word.upper(), rows=3))
    assert facts["word"] == word
    assert [c["ppmi"] for c in facts["contexts"]] == [c["ppmi"] for c in own[:3]]
    assert list(facts["neighbours"]) == SPACES
    show.JOB.run(ShowConfig(out=str(whole), word=word, rows=2))
    said = capsys.readouterr().out
    assert said.startswith(f"{word}: {facts['count']:,} occurrences")
    assert said.count("Nearest in ") == len(SPACES)
    show.JOB.run(ShowConfig(out=str(whole), word=word, format="json"))
    assert json.loads(capsys.readouterr().out)["count"] == facts["count"]
    for wrong, named in (("zzzz", "occurs fewer than 2 times"), ("a b", "is not one word")):
        with pytest.raises(InputError, match=named):
            show.JOB.run(ShowConfig(out=str(whole), word=wrong))
    with pytest.raises(InputError, match="--word with --neuron"):
        show.JOB.run(ShowConfig(out=str(whole), word=word, neuron="1:1"))


def test_what_the_corpus_does_not_have_is_told_and_nothing_is_lost(tmp_path: Path) -> None:
    words, source = tmp_path / "words.txt", tmp_path / "rows.csv"
    words.write_text("the\nzebra\n")
    source.write_text("text\nThe cat sat on the mat.\nA dog ran over the hill.\nIt rained on the cat.\n")
    own = meaning_options(tmp_path / "run", source, Path("sample"), parts="counts", workers=1)
    for wrong, named in (
        ({"context_words": str(words)}, "'zebra' never occurs"),
        ({"min_count": 9_999}, "--min-count"),
        ({"parts": "sentences"}, "--parts sentences: no document of the corpus has three sentences"),
    ):
        with pytest.raises(InputError, match=named):
            meaning.JOB.run(MeaningConfig.model_validate({**own, **wrong}))
    meaning.JOB.run(MeaningConfig.model_validate(own))
    assert Run(str(tmp_path / "run")).complete("meaning/counts")


def test_a_column_that_does_not_fit_is_refused_before_the_first_part(tmp_path: Path) -> None:
    table, lines = tmp_path / "rows.csv", tmp_path / "rows.jsonl"
    table.write_text("text,topic\n" + "".join(f"The cat number {n} sat on the mat.,cats\n" for n in range(40)))
    lines.write_text('{"text": "The cat sat on the mat.", "topic": "cats"}\n')
    # A line may have keys of its own, so that those of .jsonl are known once they are read.
    for name, source in (("language_column", table), ("translation_column", table), ("label", table), ("label", lines)):
        out = tmp_path / f"{name}{source.suffix}"
        own = meaning_options(out, source, Path("sample"), workers=1, **{name: "nope"})
        with pytest.raises(InputError, match=f"--{name.replace('_', '-')} nope: the corpus has no such column"):
            meaning.JOB.run(MeaningConfig.model_validate(own))
        assert (out / "corpus").exists() == (source == lines)
        assert not (out / under("meaning/counts")).exists()
    out = tmp_path / "one"
    with pytest.raises(InputError, match="--label topic: has only the value"):
        meaning.JOB.run(MeaningConfig.model_validate(meaning_options(out, table, Path("sample"), workers=1)))
    assert set(Run(str(out)).record["stages"]) == {"ingest"}


def test_a_corpus_without_spaces_has_words_without_contexts(
    tmp_path: Path, make_model: Callable[..., Path], small_bert: Any
) -> None:
    model, out, source = make_model(small_bert), tmp_path / "run", tmp_path / "zh.txt"
    source.write_text(
        "\n".join(f"\u8fd9\u662f\u4e00\u4e2a\u53e5\u5b50{chr(0x4E00 + i)}" for i in range(20)), encoding="utf-8"
    )
    options = {"parts": "counts,offsets", "workers": 1, "min_count": 1, "label": None}
    meaning.JOB.run(MeaningConfig.model_validate(meaning_options(out, source, model, **options)))
    assert pq.read_table(out / "meaning/contexts").num_rows == 0
    assert {row["space"] for row in pq.read_table(out / "meaning/neighbours").to_pylist()} == set(SPACES[1:])
    assert not any(pq.read_table(out / "meaning/words")["vector"].combine_chunks().flatten().to_pylist())
