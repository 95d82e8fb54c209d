"""`--near-dedup` against a plain reference, with runs and partitions so small that all cuts occur, and as a job."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from jobs.ingest import job as ingest
from jobs.ingest.deduplicate import NEAR_DUPLICATES, first_copies_step, open_first_copies
from jobs.ingest.job import IngestConfig
from jobs.ingest.near_duplicates import near_duplicate_steps
from jobs.ingest.read import open_pieces, read_step
from jobs.ingest.write import corpus_tables_step, open_kept_sentences
from ops.corpus.minhash import fold
from ops.corpus.numbering import number
from ops.errors import InputError
from ops.model.load import read_facts
from ops.sources.pieces import pieces
from ops.sources.spec import parse_source
from ops.storage.store import Store
from tests.jobs.in_process import do_in_reverse

WORDS = ("apple", "river", "window", "garden", "music", "paper", "yellow", "seven", "houses", "quiet", "slowly", "turn")


def spellings(rng: np.random.Generator, text: str) -> str:
    """The text with its case and its symbols changed at random: what folds to the same."""
    words = [w.upper() if rng.random() < 0.3 else w.title() if rng.random() < 0.3 else w for w in text.split()]
    return " ".join(words) + str(rng.choice(["", ".", "!", "!!", " ...", "?"]))


def write_sources(folder: Path, seed: int) -> list[list[str]]:
    """Five files of two sources: 40 sentences of twelve words in up to ten spellings, some of them many times."""
    rng = np.random.default_rng(seed)
    meant = [" ".join(rng.choice(WORDS, 12)) for _ in range(40)]
    files = []
    for file in range(5):
        texts = [spellings(rng, meant[i]) for i in rng.integers(0, 40, int(rng.integers(20, 60)))]
        texts[3:3] = ["Hm", texts[0], texts[-1]]
        files.append(texts)
        lines = [json.dumps({"text": text}) for text in texts]
        folder.joinpath(f"{'ab'[file >= 3]}{file}.jsonl").write_text("".join(line + "\n" for line in lines))
    return files


def reference(files: list[list[str]]) -> tuple[list[dict[str, object]], list[int]]:
    """The first of the texts that fold to the same, in order, with their number; near-duplicates of each source."""
    kept: dict[str, dict[str, object]] = {}
    near, seen = [0, 0], set()
    copies = Counter(fold(text) for texts in files for text in texts)
    for place, texts in enumerate(files):
        for text in texts:
            if len(text.split()) < 3 or text in seen:
                continue
            seen.add(text)
            if fold(text) in kept:
                near[place >= 3] += 1
            else:
                dataset = "ab"[place >= 3]
                kept[fold(text)] = {"text": text, "dataset": dataset, "n_copies": copies[fold(text)]}
    return list(kept.values()), near


# Blocks and ranges of hashes that are small enough for several items of each step.
SMALL = {
    "jobs.ingest.deduplicate.PARTITION": 17,
    "jobs.ingest.near_duplicates.BLOCK": 23,
    "jobs.ingest.near_duplicates.PARTITION": 150,
    "jobs.ingest.write.SENTENCES_PER_ITEM": 11,
    "ops.corpus.numbering.UNIT": 8,
}


def steps(folder: Path, out: str, limit: int | None, threshold: float, small: bool) -> tuple[list[dict], list[int]]:
    """Take all steps of ingest, with small blocks or the usual ones; return the rows and near-duplicates by source."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in SMALL.items() if small else ():
            patch.setattr(name, value)
        return taken(folder, out, limit, threshold, small)


def taken(folder: Path, out: str, limit: int | None, threshold: float, small: bool) -> tuple[list[dict], list[int]]:
    """Take all steps of ingest, the items of each in reverse."""
    store = Store(out)
    sources = [parse_source(f"{name}={folder}/{name}*.jsonl") for name in "ab"]
    plan = [(i, piece) for i, source in enumerate(sources) for piece in pieces(source)]
    args = {"store": store, "fingerprint": "f"}
    options = {"text_column": "text", "on_error": "fail", "split": "none"}
    do_in_reverse(read_step([p for _, p in plan], {**args, "facts": read_facts("sample"), "options": options}), out)
    found = open_pieces(store, [i for i, _ in plan])
    copies = first_copies_step(found, 5 if limit else None, store)
    do_in_reverse(copies, out)
    ranges = list(copies.items)
    near = near_duplicate_steps(found, ranges, threshold, 5, store, "f")
    assert [len(step.items) > 3 for step in near] == [small, small, small, small, False]
    for step in near:
        do_in_reverse(step, out)

    texts = open_first_copies(store, ranges, near=True)
    numbering = number(found, texts, 2, limit)
    assert texts.total() == numbering.distinct.sum()
    kept = open_kept_sentences(found, texts, numbering, ["a", "b"], ranges)
    do_in_reverse(corpus_tables_step(kept, numbering, 7, 30_521, "f"), out)
    written = [row for name in store.files("corpus") for row in pq.read_table(f"{out}/corpus/{name}").to_pylist()]
    assert [row["sent_id"] for row in written] == list(range(int(numbering.kept.sum())))
    return written, numbering.near.tolist()


@pytest.mark.parametrize(("seed", "limit"), [(0, None), (1, None), (2, 15)])
def test_every_cut_gives_the_plain_result(tmp_path: Path, seed: int, limit: int | None) -> None:
    (tmp_path / "in").mkdir()
    expected, near = reference(write_sources(tmp_path / "in", seed))
    results = [steps(tmp_path / "in", str(tmp_path / f"out{small}"), limit, 0.9, small) for small in (False, True)]
    assert results[0] == results[1]
    rows = [{name: row[name] for name in ("text", "dataset", "n_copies")} for row in results[0][0]]
    assert sum(near) > 30
    assert results[0][1] == near
    assert len(rows) == (limit or len(expected))
    assert [row for row in expected if row in rows] == rows


@pytest.mark.slow
def test_small_cuts_change_nothing_where_similarity_is_a_matter_of_degree(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    rng = np.random.default_rng(9)
    meant = [list(rng.choice(WORDS, 12)) for _ in range(15)]
    for name in "ab":
        lines = []
        for _ in range(120):
            words = list(meant[rng.integers(0, 15)])
            words[rng.integers(0, 12)] = str(rng.choice(WORDS))
            lines.append(json.dumps({"text": " ".join(words)}) + "\n")
        (tmp_path / "in" / f"{name}0.jsonl").write_text("".join(lines))
    one, other = (steps(tmp_path / "in", str(tmp_path / f"out{s}"), None, 0.7, s) for s in (False, True))
    assert one == other
    assert sum(row["n_copies"] for row in one[0]) == 240
    assert 30 < sum(one[1]) < 225
    near = pq.read_table(tmp_path / "outTrue" / NEAR_DUPLICATES.path).to_pydict()
    kept = dict(zip(near["position"], near["first"], strict=True))
    assert near["position"] == sorted(kept)
    assert all(first <= position and kept[first] == first for position, first in kept.items())


def config(out: Path, source: Path, **options: object) -> IngestConfig:
    corpus = tuple(f"{name}={source}/{name}*.jsonl" for name in "ab")
    return IngestConfig.model_validate({"out": str(out), "corpus": corpus, "split": "none", "workers": 1, **options})


def test_the_job_accounts_for_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in").mkdir()
    files = write_sources(tmp_path / "in", 3)
    expected, near = reference(files)
    ingest.JOB.run(config(tmp_path / "a", tmp_path / "in", near_dedup=0.9))
    record = json.loads((tmp_path / "a" / "run.json").read_text())["stages"]["ingest"]
    assert record["identity"]["near_dedup"] == 0.9
    accounts = record["counts"]["sources"]
    assert [a["near_copies"] for a in accounts] == near
    assert [a["kept"] for a in accounts] == [sum(row["dataset"] == name for row in expected) for name in "ab"]
    assert [a["sentences"] for a in accounts] == [sum(map(len, files[:3])), sum(map(len, files[3:]))]
    assert all(a["sentences"] == a["kept"] + a["copies"] + a["rejected"] and a["copies"] > a["near_copies"] > 0
               for a in accounts)  # fmt: skip
    assert f"({near[0]:,} of them near-copies)" in capsys.readouterr().err
    assert not (tmp_path / "a" / "_partials" / "ingest").exists()

    for name, value in SMALL.items():
        monkeypatch.setattr(name, value)
    ingest.JOB.run(config(tmp_path / "b", tmp_path / "in", near_dedup=0.9, workers=2))
    assert pq.read_table(tmp_path / "a" / "corpus").equals(pq.read_table(tmp_path / "b" / "corpus"))

    with pytest.raises(InputError, match="near_dedup"):
        ingest.JOB.run(config(tmp_path / "a", tmp_path / "in", near_dedup=0.8))
    ingest.JOB.run(config(tmp_path / "c", tmp_path / "in"))
    assert "nearly" not in capsys.readouterr().err.rpartition("first copies")[2]
    plain = json.loads((tmp_path / "c" / "run.json").read_text())["stages"]["ingest"]
    assert plain["identity"]["near_dedup"] is None
    assert "near_copies" not in plain["counts"]["sources"][0]
    found = [p["kept"] - a["kept"] for p, a in zip(plain["counts"]["sources"], accounts, strict=True)]
    assert found == near


@pytest.mark.parametrize("value", [0, -0.1, 1.01, float("nan"), "much"])
def test_what_is_no_similarity_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="near_dedup"):
        IngestConfig.model_validate({"near_dedup": value})
