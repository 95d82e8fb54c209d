"""The steps of `ingest` against a plain reference, with partitions and runs so small that all cuts occur."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jobs.ingest.deduplicate import find_first_copies, first_copies_step, open_first_copies
from jobs.ingest.read import open_pieces, read_step
from jobs.ingest.write import corpus_tables_step, lengths, open_kept_sentences
from jobs.run_folder.stages import TOKENS
from ops.corpus.accounts import account
from ops.corpus.numbering import number
from ops.model.load import read_facts
from ops.sources.pieces import pieces
from ops.sources.spec import parse_source
from ops.storage.store import Store
from tests.jobs.in_process import do_in_reverse
from tests.unit.paired_store import PairedStore
from tests.unit.sources.files import pieces_of

WORDS = ["apple", "river", "window", "garden", "music", "paper", "yellow"]


def write_sources(folder: Path, rng: np.random.Generator) -> list[list[dict[str, str]]]:
    """Seven files of two sources: short and empty rows, copies within and between files, documents that come again."""
    files = []
    for file in range(7):
        rows = []
        for _ in range(int(rng.integers(0, 60)) if file else 40):
            words = [
                WORDS[i]
                for i in rng.integers(0, len(WORDS), int(rng.choice([0, 1, 3, 4, 5], p=[0.1, 0.1, 0.3, 0.3, 0.2])))
            ]
            rows.append({"text": " ".join(words), "doc_id": f"d{rng.integers(0, 9)}", "k": str(rng.integers(0, 3))})
        files.append(rows)
        folder.joinpath(f"{'ab'[file >= 4]}{file}.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    return files


def reference(files: list[list[dict[str, str]]]) -> tuple[list[dict[str, object]], list[str]]:
    """All distinct sentences in order, and the rejects' reasons."""
    kept: dict[str, dict[str, object]] = {}
    reasons = []
    places: dict[tuple[int, str], int] = {}
    for number_, rows in enumerate(files):
        for row in rows:
            key = (number_ >= 4, row["doc_id"])
            place = places.get(key, 0)
            places[key] = place + 1
            if len(row["text"].split()) < 3:
                reasons.append("too_short" if row["text"] else "empty")
            elif row["text"] in kept:
                kept[row["text"]]["n_copies"] += 1  # type: ignore[operator]
            else:
                own = {"text": row["text"], "doc_id": row["doc_id"], "sent_in_doc": place, "n_copies": 1}
                kept[row["text"]] = {**own, "dataset": "ab"[number_ >= 4], "meta": {"k": row["k"]}}
    return list(kept.values()), reasons


@pytest.mark.parametrize(("seed", "limit"), [(0, None), (1, None), (2, 25), (3, 60)])
def test_every_cut_gives_the_plain_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, limit: int | None
) -> None:
    rng = np.random.default_rng(seed)
    (tmp_path / "in").mkdir()
    files = write_sources(tmp_path / "in", rng)
    sources = [parse_source(f"{name}={tmp_path}/in/{name}*.jsonl") for name in "ab"]
    plan = [(i, piece) for i, source in enumerate(sources) for piece in pieces(source)]
    expected, reasons = reference(files)
    results = []
    for partition, unit, together in ((10_000, 1 << 16, 200_000), (17, 8, 11)):
        monkeypatch.setattr("jobs.ingest.deduplicate.PARTITION", partition)
        monkeypatch.setattr("ops.corpus.numbering.UNIT", unit)
        monkeypatch.setattr("jobs.ingest.write.SENTENCES_PER_ITEM", together)
        out = str(tmp_path / f"out{partition}")
        store = Store(out)
        options = {"text_column": "text", "on_error": "fail", "split": "none"}
        args = {"store": store, "fingerprint": "f"}
        reading = {**args, "facts": read_facts("sample"), "options": options}
        do_in_reverse(read_step([piece for _, piece in plan], reading), out)
        found = open_pieces(store, [i for i, _ in plan])
        assert found.rows.tolist() == [len(rows) for rows in files]
        copies = first_copies_step(found, seed if limit else None, store)
        assert (len(copies.items) > 3) == (partition == 17)
        do_in_reverse(copies, out)
        ranges = list(copies.items)
        texts = open_first_copies(store, ranges, near=False)
        numbering = number(found, texts, 2, limit)
        kept = open_kept_sentences(found, texts, numbering, ["a", "b"], ranges)
        tables = corpus_tables_step(kept, numbering, 7, 30_521, "f")
        assert (len(tables.items) > 2) == (together == 11)
        do_in_reverse(tables, out)
        total = int(numbering.before[-1])
        shards = store.files("corpus")
        assert len(shards) == -(-total // 7)
        rows = [row for name in shards for row in pq.read_table(f"{out}/corpus/{name}").to_pylist()]
        assert [row.pop("sent_id") for row in rows] == list(range(total))
        assert all(row.pop("n_tokens") == len(row["text"].split()) + 2 for row in rows)
        results.append(rows)
        assert total == min(limit or len(expected), len(expected))
        assert [row for row in expected if row in rows] == rows
        assert numbering.distinct.tolist() == [sum(r["dataset"] == name for r in expected) for name in "ab"]
        assert numbering.kept.tolist() == [sum(r["dataset"] == name for r in rows) for name in "ab"]
        assert lengths(store, len(shards), 2).tolist() == [
            [sum(len(r["text"].split()) + 2 for r in rows if r["dataset"] == name) for name in "ab"], [0, 0], [0, 0]
        ]  # fmt: skip
        gone = [row for name in store.files("rejects") for row in pq.read_table(f"{out}/rejects/{name}").to_pylist()]
        assert [row["reason"] for row in gone] == reasons
    assert results[0] == results[1]


@pytest.mark.parametrize(("seed", "limit"), [(0, None), (2, 25)])
def test_a_file_that_is_cut_gives_the_tables_of_the_whole_file(tmp_path: Path, seed: int, limit: int | None) -> None:
    (tmp_path / "in").mkdir()
    rows = [row for rows in write_sources(tmp_path / "in", np.random.default_rng(seed)) for row in rows]
    rows[5]["text"] = "not\0 valid text"
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet", row_group_size=9)
    source = parse_source(f"{tmp_path}/a.parquet")
    found = []
    for name, plan in (("whole", pieces(source)), ("cut", pieces_of(source, 1))):
        store = Store(str(tmp_path / name))
        args = {"store": store, "fingerprint": "f"}
        options = {"text_column": "text", "on_error": "fail", "split": "sentences"}
        do_in_reverse(read_step(plan, {**args, "facts": read_facts("sample"), "options": options}), store.uri)
        read = open_pieces(store, [0] * len(plan))
        copies = first_copies_step(read, seed if limit else None, store)
        do_in_reverse(copies, store.uri)
        ranges = list(copies.items)
        texts = open_first_copies(store, ranges, near=False)
        numbering = number(read, texts, 1, limit)
        kept = open_kept_sentences(read, texts, numbering, ["a"], ranges)
        do_in_reverse(corpus_tables_step(kept, numbering, 7, 30_521, "f"), store.uri)
        shards = len(store.files("corpus"))
        accounts = account(["a"], ["a"], read, numbering, lengths(store, shards, 1), near=False)
        tables = {
            f"{table}/{file}": pq.read_table(f"{store.uri}/{table}/{file}").to_pylist()
            for table in ("corpus", "rejects", TOKENS)
            for file in store.files(table)
        }
        assert [name for name in tables if name.startswith(TOKENS)]
        found.append((tables, accounts))
        assert shards > 3
    assert len(plan) == -(-len(rows) // 9) > 10
    assert found[0] == found[1]


def test_what_all_pieces_have_of_a_range_is_read_side_by_side(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for file in range(4):
        (tmp_path / "in" / f"{file}.txt").write_text(f"the {file} of all words\nwords of every file\n")
    plan = pieces(parse_source(f"{tmp_path}/in/*.txt"))
    out, paired = str(tmp_path / "out"), PairedStore(str(tmp_path / "out"))
    options = {"text_column": "text", "on_error": "fail", "split": "none"}
    reading = {"store": Store(out), "fingerprint": "f", "facts": read_facts("sample"), "options": options}
    do_in_reverse(read_step(plan, reading), out)
    found = open_pieces(paired, [0] * 4)
    assert found.sentences.tolist() == [2, 2, 2, 2]
    copies = first_copies_step(found, None, paired)
    for output, table in find_first_copies(copies.items[0], **copies.args).items():
        output.commit(paired, table, "f")
    ranges = list(copies.items)
    texts = open_first_copies(Store(out), ranges, near=False)
    numbering = number(found, texts, 1, None)
    assert numbering.distinct.tolist() == [5]
    kept = open_kept_sentences(found, texts, numbering, ["a"], ranges)
    do_in_reverse(corpus_tables_step(kept, numbering, 3, 30_521, "f"), out)
    assert lengths(paired, 2, 1)[1:].tolist() == [[0], [0]]
