"""The job `respond`: its activations, ranks and tails are those of the corpus, and its wrong calls are one line."""

import io
import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch

import ops.respond.corpus
from jobs.respond import job, steps
from jobs.respond.job import RespondConfig
from jobs.run_folder.run import RunReader
from jobs.topk import job as topk
from jobs.topk.job import TopkConfig
from ops.errors import InputError
from ops.schema import layer_columns
from ops.schema.responses import RESPONSES
from ops.storage.lock import LOCK
from ops.topk.activation_sample import dense, read_layer
from tests.jobs.in_process import InProcess
from tests.jobs.test_dictionaries import LAYER, sparse_dictionary
from tests.unit.respond.made_corpus import brute_tails

K = 40
Row = dict[str, Any]


@pytest.fixture(scope="module")
def runs(
    tmp_path_factory: pytest.TempPathFactory, source: Path, make_model: Callable[..., Path], small_bert: object,
    small_gpt2: object,
) -> Callable[[str], Path]:  # fmt: skip
    """A run whose activation sample is its whole corpus: of neurons, of a decoder, and of a dictionary's features."""
    made: dict[str, Path] = {}

    def run(kind: str) -> Path:
        if kind not in made:
            out = tmp_path_factory.mktemp("respond") / kind
            model = make_model(small_gpt2 if kind == "decoder" else small_bert)
            given = {"out": str(out), "corpus": (str(source),), "split": "none", "model": str(model), "k": K}
            more: dict[str, Row] = {
                "neurons": {},
                "decoder": {"site": "mlp", "pool": "max"},
                "features": {"dictionary": (f"{LAYER}={sparse_dictionary(out.parent / 'sae')}",)},
            }
            sizes = {"shard_size": 100, "workers": 1, "activation_sample": 1_000}
            topk.JOB.run(TopkConfig.model_validate(given | sizes | more[kind]))
            made[kind] = out
        return made[kind]

    return run


def stored(out: Path) -> np.ndarray:
    """The activations of all sentences in the order of their ids, `[sentences, units]`."""
    store = RunReader(str(out), create=False).store
    names = pq.read_schema(out / "activations" / "part-00000.parquet").names
    layers = [layer for layer in range(3) if set(layer_columns(layer, names)) <= set(names)]
    return np.concatenate([dense(read_layer(store, layer)) for layer in layers], axis=1)


def responses(out: Path, to: Path, texts: list[str], **options: Any) -> dict[str, np.ndarray]:
    """What --to writes for these texts, as `[texts, units]`."""
    file = to.with_suffix(".txt")
    file.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    job.JOB.run(RespondConfig.model_validate({"out": str(out), "file": str(file), "to": str(to), **options}))
    table = pq.read_table(to)
    assert table.schema.equals(RESPONSES.arrow)
    assert table.equals(table.sort_by([(name, "ascending") for name in RESPONSES.order]))
    return {name: table[name].to_numpy(zero_copy_only=False).reshape(len(texts), -1) for name in table.column_names}


@pytest.mark.parametrize("kind", ["neurons", "decoder", "features"])
def test_sentences_of_the_corpus_are_where_the_run_has_them(
    runs: Callable[[str], Path], kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ops.respond.corpus, "LEAST", 20)
    out, chosen = runs(kind), np.arange(0, 350)
    corpus = pq.read_table(out / "corpus").to_pylist()
    found = responses(out, tmp_path / "to.parquet", [corpus[i]["text"] for i in chosen])
    values, sparse = stored(out), kind == "features"
    assert np.abs(found["activation"] - values[chosen]).max() <= 1e-5
    expected = brute_tails(values, values[chosen], np.ones(len(chosen), bool), sparse)
    silent = pq.read_table(out / "neurons")["is_silent"].to_numpy(zero_copy_only=False)
    known = ~np.isnan(expected) & ~silent
    assert np.array_equal(~np.isnan(found["tail"]), known)
    counts = np.array(pq.read_table(out / "neurons")["histogram_counts"].to_pylist())
    edges = pq.read_table(out / "neurons")["histogram_edges"].to_pylist()
    columns = zip(edges, values[chosen].T, strict=True)
    bins = np.array([np.searchsorted(own, column, "right") for own, column in columns])
    share = 2 * (np.take_along_axis(counts, bins, 1).T + 1) / len(values)
    assert (np.abs(found["tail"] - np.abs(expected)) <= share + 2e-3)[known].all()
    rows = pq.read_table(out / "topk").to_pylist()
    names = zip(found["layer"][0].tolist(), found["unit"][0].tolist(), strict=True)
    units = {name: at for at, name in enumerate(names)}
    ranked = 0
    for row in rows:
        at, unit = row["sent_id"], units[row["layer"], row["unit"]]
        if at >= len(chosen) or found["pole"][at, unit] != row["pole"] or silent[unit]:
            continue
        near = np.abs(values[:, unit] - values[at, unit]) <= 2e-5
        if np.isnan(found["rank"][at, unit]):  # the last winner, which is now a rounding error below itself
            assert row["rank"] == max(other["rank"] for other in rows)
            continue
        assert abs(found["rank"][at, unit] - row["rank"]) < near.sum(), row
        ranked += 1
    assert ranked > 300
    lengths = np.array([row["n_tokens"] for row in corpus])
    for at in (3, 50, 200):
        distance = np.abs(lengths - lengths[at])
        order = np.lexsort((np.arange(len(lengths)), distance))
        order = order[(order != at) & (distance[order] <= lengths[at] / 4)]
        like = values[order[:1_000]]
        brute = np.abs(brute_tails(like, found["activation"][[at]], np.zeros(1, bool), sparse)[0])
        near = (np.abs(like - values[at]) <= 2e-5).sum(0)
        close = np.abs(found["tail_like"][at] - brute) <= 2 * near / len(like) + 1e-6
        assert len(order) >= 20
        assert close[known[at]].all()


def shown(out: Path, capsys: pytest.CaptureFixture[str], *texts: str, **options: Any) -> str:
    capsys.readouterr()
    job.JOB.run(RespondConfig.model_validate({"out": str(out), "text": texts, **options}))
    return capsys.readouterr().out


def as_json(out: Path, capsys: pytest.CaptureFixture[str], *texts: str, **options: Any) -> Row:
    found: Row = json.loads(shown(out, capsys, *texts, json_=True, **options))
    return found


def test_a_unit_that_follows_a_word_is_far_out_and_peaks_there(
    source: Path,
    make_model: Callable[..., Path],
    small_bert: object,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from ops.model.load import read_facts
    from ops.model.tokenizer import Tokenizer

    (word,) = [t for t, a in zip(*(Tokenizer(read_facts("sample")).encode(["zebra"])[0])[:2], strict=True) if not a]

    def plant(model: torch.nn.Module) -> None:
        weight: Any = model.embeddings.word_embeddings.weight  # type: ignore[union-attr]
        with torch.no_grad():
            weight[word] = 0
            weight[word, 5] = 50.0

    model = make_model(small_bert, change=plant)
    given = {"out": str(tmp_path / "run"), "corpus": (str(source),), "split": "none", "model": str(model), "k": K}
    topk.JOB.run(TopkConfig.model_validate({**given, "shard_size": 200, "workers": 1, "pool": "max", "dictionary": ()}))
    found = as_json(tmp_path / "run", capsys, "At noon the zebra drank from the pool.", layer=1, all=True)
    (text,) = found["texts"]
    (row,) = [row for row in text["rows"] if row["unit"] == 5]
    assert {row["layer"] for row in text["rows"]} == {1}
    assert (row["pole"], row["rank"], row["peak"]) == ("top", 1, "zebra")
    assert row["tail"] == pytest.approx(2 / 361)
    start, end = row["span"]
    assert text["text"][start:end] == "zebra"
    at = text["starts"].index(start)
    assert row["tokens"][at] == max(row["tokens"])
    without = as_json(tmp_path / "run", capsys, "At noon the farmer drank from the pool.", all=True)["texts"][0]
    (row,) = [row for row in without["rows"] if (row["layer"], row["unit"]) == (1, 5)]
    assert row["rank"] is None


def test_what_is_printed_of_a_text(explain_run: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    out = explain_run[0]
    printed = shown(out, capsys, "The storm tore the roof off the old barn.", top=3)
    first, head, *lines = printed.splitlines()
    assert first == '"The storm tore the roof off the old barn."'
    assert "of 24 neurons are in the outer 1 % of the corpus" in head
    numbered = [line for line in lines if line.lstrip()[:2] in ("1:", "2:")]
    assert len(numbered) == 3
    verdicts = ("rule", "tendency", "source", "unconfirmed", "none", "weak")
    assert sum(line.startswith("      ") and line.strip().startswith(verdicts) for line in lines) == 3
    assert "note:" not in printed
    everything = shown(out, capsys, "The storm tore the roof off the old barn.", all=True).splitlines()
    assert len([line for line in everything if line.lstrip()[:2] in ("1:", "2:")]) == 24


def test_a_sentence_of_the_corpus_is_named_and_left_out(
    explain_run: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    sentence = pq.read_table(explain_run[0] / "corpus").to_pylist()[17]
    (text,) = as_json(explain_run[0], capsys, f"  {sentence['text']} ")["texts"]
    assert (text["sent_id"], text["dataset"]) == (17, sentence["dataset"])
    assert "It is sentence 17 of the corpus" in " ".join(shown(explain_run[0], capsys, sentence["text"]).split())


def test_several_texts_begin_with_what_they_have_in_common(
    explain_run: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    texts = [f"Chapter {number}." for number in range(3, 30)]
    found = as_json(explain_run[0], capsys, *texts)
    assert (found["common"]["texts"], len(found["texts"])) == (27, 27)
    printed = shown(explain_run[0], capsys, *texts)
    assert printed.startswith("In common: ")
    assert printed.count('"Chapter ') == 20
    assert "7 more texts" in printed
    assert as_json(explain_run[0], capsys, texts[0])["common"] is None


def test_a_run_without_explanations_says_so(runs: Callable[[str], Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert "this run has no explanations" in shown(runs("neurons"), capsys, "The kettle sang all night.")
    (text,) = as_json(runs("neurons"), capsys, "The kettle sang all night.")["texts"]
    assert {row["explanation"] for row in text["rows"]} == {None}


def test_many_texts_are_scored_by_the_engine(
    runs: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [f"The {word} was closed on day {number}." for number, word in enumerate(["inn", "mill", "port"] * 5)]
    here = responses(runs("neurons"), tmp_path / "here.parquet", texts)
    monkeypatch.setattr(steps, "MANY", 4)
    monkeypatch.setattr(steps, "BLOCK", 4)
    # Blocks come as they are done, so not in the order of the texts.
    monkeypatch.setattr(steps, "fan_out", lambda items, *given, **named: InProcess()(items[::-1], *given, **named))
    there = responses(runs("neurons"), tmp_path / "there.parquet", texts)
    for name in ("number", "text", "layer", "unit"):
        assert np.array_equal(here[name], there[name])
    for name in ("activation", "tail_like", "tail"):
        assert np.allclose(here[name], there[name], atol=1e-5, equal_nan=True)


def test_the_run_is_only_read_even_while_a_job_holds_it(
    explain_run: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    shutil.copytree(explain_run[0], out)
    (out / LOCK).write_text("{}")

    def listed() -> dict[str, tuple[int, int]]:
        return {str(p): (os.stat(p).st_size, os.stat(p).st_mtime_ns) for p in sorted(out.rglob("*"))}

    before = listed()
    shown(out, capsys, "The kettle sang all night.")
    assert listed() == before


def test_standard_input_and_splitting(
    explain_run: tuple[Path, Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = "The kettle\x85 sang. Nobody heard\u2028 it.\r\n\r\n  \nOne\f more line came.\n"
    for split, texts in ((False, 2), (True, 3)):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines.encode())))
        assert len(as_json(explain_run[0], capsys, file="-", split=split)["texts"]) == texts


def test_wrong_calls_are_one_line(
    runs: Callable[[str], Path], small_run: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, fine = str(runs("neurons")), ["--text", "The kettle sang all night."]
    (tmp_path / "image.txt").write_bytes(b"\x89PNG\r\n\x1a\n\x00\xff")
    (tmp_path / "zero.txt").write_bytes(b"a\x00b\n")
    (tmp_path / "blank.txt").write_text("\n \n")
    (tmp_path / "folder.parquet").mkdir()
    calls = [
        ([], "there is no text; give --text"),
        (["--text", "   "], "--text "),
        (["--text", "\U000131f0"], "knows none of it"),
        (["--file", str(tmp_path / "image.txt")], "is not text in UTF-8"),
        (["--file", str(tmp_path / "zero.txt")], "zero byte"),
        (["--file", str(tmp_path / "blank.txt")], "there is no text"),
        (["--file", str(tmp_path / "none.txt")], "No such file"),
        ([*fine, "--layer", "3"], "--layer 3: there is no such layer; layers run from 1 to 2"),
        (["--file", "~nobody/texts.txt"], "No such file"),
        ([*fine, "--to", str(tmp_path / "to.csv")], "ends with .parquet"),
        ([*fine, "--to", str(tmp_path / "folder.parquet")], "is a folder"),
        ([*fine, "--to", f"{out}/to.parquet"], "is inside the run"),
        ([*fine, "--to", str(tmp_path / "none" / "to.parquet")], "its folder does not exist"),
        ([*fine, "--model", str(tmp_path / "gone")], "there is no such directory"),
        ([*fine, "--model", "sample"], "is not the model of topk/"),
        ([*fine, "--device", "cuda"], "there is no GPU here"),
        ([*fine, "--top", "0"], "--top"),
    ]
    if torch.cuda.is_available():
        calls = [call for call in calls if "cuda" not in call[0]]
    for words, message in calls:
        assert job.JOB.main(["--out", out, *words]) == 2, words
        printed = capsys.readouterr()
        (line,) = printed.err.splitlines()
        assert message in line
        assert printed.out == ""
    for missing in ("topk", "activations"):
        shutil.copytree(out, tmp_path / missing)
        shutil.rmtree(tmp_path / missing / missing)
        assert job.JOB.main(["--out", str(tmp_path / missing), *fine]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert missing in line


def test_a_model_that_changed_or_is_gone_is_named(
    runs: Callable[[str], Path], make_model: Callable[..., Path], small_bert: object, tmp_path: Path
) -> None:
    shutil.copytree(runs("neurons"), tmp_path / "run")
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    place = Path(record["stages"]["topk"]["config"]["model"])
    moved = tmp_path / "moved"
    shutil.copytree(place, moved)
    record["stages"]["topk"]["config"]["model"] = str(moved)
    (tmp_path / "run" / "run.json").write_text(json.dumps(record))
    given = RespondConfig(out=str(tmp_path / "run"), text=("The kettle sang.",))
    job.JOB.run(given)
    for file in make_model(small_bert, seed=5).iterdir():
        shutil.copy(file, moved)
    with pytest.raises(InputError, match="a model that has changed since"):
        job.JOB.run(given)
    shutil.rmtree(moved)
    with pytest.raises(InputError, match="there is no such directory"):
        job.JOB.run(given)
