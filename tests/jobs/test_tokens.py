"""The job `tokens`: what each token gives, the same tables however it ran, and wrong calls."""

import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch

from jobs.run_folder.run import Run
from jobs.tokens import job as tokens
from jobs.tokens.job import TokensConfig
from jobs.tokens.steps import WANTED, PieceReader, TokensArgs, prepare_piece
from ops.errors import InputError
from ops.model.activations import ScoreOptions
from ops.model.load import read_facts
from ops.schema import schema
from ops.shards import Shards
from ops.tokens.winners import first_winners
from ops.topk.neurons import Neurons
from tests.jobs.finished_runs.main import K
from tests.jobs.in_process import InProcess, Stopped

TABLES = ("token_activations", "peaks")
TOP = 20


def same(a: Path, b: Path) -> bool:
    return all(pq.read_table(a / t).equals(pq.read_table(b / t)) for t in TABLES)


@pytest.fixture(scope="module")
def rows(small_run: tuple[Path, Path]) -> list[dict[str, Any]]:
    return pq.read_table(small_run[0] / "token_activations").to_pylist()


@pytest.fixture(scope="module")
def sentences(small_run: tuple[Path, Path]) -> dict[int, dict[str, Any]]:
    return {row["sent_id"]: row for row in pq.read_table(small_run[0] / "sentences").to_pylist()}


def test_the_first_winners_are_there_and_their_mean_is_topk_s(
    small_run: tuple[Path, Path], rows: list[dict[str, Any]]
) -> None:
    out, _ = small_run
    assert pq.read_table(out / "token_activations").schema.equals(schema("token_activations"))
    assert pq.read_table(out / "peaks").schema.equals(schema("peaks"))
    keys = ("layer", "unit", "pole", "rank")
    first = [row for row in pq.read_table(out / "topk").to_pylist() if row["rank"] <= TOP]
    assert [[row[k] for k in (*keys, "sent_id")] for row in rows] == [[w[k] for k in (*keys, "sent_id")] for w in first]
    for row, winner in zip(rows, first, strict=True):
        assert np.mean(np.float64(row["activations"])) == pytest.approx(winner["activation"], abs=1e-5)
    counts = Run(str(out)).require("tokens")["counts"]
    assert (counts["winners"], counts["activations_differ"]) == (len(rows), 0)
    assert counts["sentences"] == len({row["sent_id"] for row in rows})
    assert 0 < counts["largest_difference"] < 1e-5
    assert counts["truncated"] > 0


def test_tokens_stand_where_the_tokenizer_says_and_have_the_model_s_values(
    small_run: tuple[Path, Path], rows: list[dict[str, Any]], sentences: dict[int, dict[str, Any]]
) -> None:
    from transformers import AutoModel, AutoTokenizer

    model, tokenizer = AutoModel.from_pretrained(small_run[1]).eval(), AutoTokenizer.from_pretrained(small_run[1])
    by_sentence: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        by_sentence.setdefault(row["sent_id"], []).append(row)
    for sent_id in [*sorted(by_sentence)[::9], max(by_sentence)]:
        text = sentences[sent_id]["text"]
        given = tokenizer(text, return_tensors="pt", return_offsets_mapping=True, truncation=True, max_length=40)
        spans = given.pop("offset_mapping")[0].tolist()
        with torch.inference_mode():
            states = model(**given, output_hidden_states=True).hidden_states
        for row in by_sentence[sent_id]:
            assert row["tokens"] == tokenizer.convert_ids_to_tokens(given["input_ids"][0])
            assert row["starts"] == [None, *(s for s, _ in spans[1:-1]), None]
            assert row["ends"] == [None, *(e for _, e in spans[1:-1]), None]
            own = states[row["layer"]][0, :, row["unit"]].numpy()
            np.testing.assert_allclose(row["activations"], own, atol=1e-5)


def peak_word(row: dict[str, Any], sentence: dict[str, Any]) -> int:
    """The word that shares the most characters with the highest (bottom: lowest) token that is not an added one."""
    letters: dict[int, int] = {}
    at = 0
    for number, word in enumerate(sentence["words"]):
        at = sentence["text"].index(word, at)
        letters |= dict.fromkeys(range(at, at + len(word)), number)
        at += len(word)
    sign = 1 if row["pole"] == "top" else -1
    own = [i for i, start in enumerate(row["starts"]) if start is not None]
    best = max(own, key=lambda i: sign * row["activations"][i])
    return Counter(letters[i] for i in range(row["starts"][best], row["ends"][best])).most_common(1)[0][0]


def test_peaks_are_counted_against_a_peak_at_any_word_of_each_sentence(
    small_run: tuple[Path, Path], rows: list[dict[str, Any]], sentences: dict[int, dict[str, Any]]
) -> None:
    found: dict[tuple[Any, ...], tuple[int, int, float]] = {}
    for column, name in (("words", "peak_word"), ("tags", "peak_tag")):
        peaks: dict[tuple[Any, ...], Counter[str]] = {}
        expected: dict[tuple[Any, ...], Counter[str]] = {}
        for row in rows:
            which, sentence = (row["layer"], row["unit"], row["pole"], name), sentences[row["sent_id"]]
            peaks.setdefault(which, Counter())[sentence[column][peak_word(row, sentence)]] += 1
            own = expected.setdefault(which, Counter())
            for value, times in Counter(sentence[column]).items():
                own[value] += times / len(sentence[column])  # type: ignore[assignment]
        for which, counter in peaks.items():
            for value, count in counter.items():
                found[(*which, value)] = (count, counter.total(), expected[which][value] / counter.total())
    published = pq.read_table(small_run[0] / "peaks").to_pylist()
    assert len(published) == len(found)
    for row in published:
        count, n, share = found[row["layer"], row["unit"], row["pole"], row["property"], row["value"]]
        assert (row["count"], row["n"]) == (count, n) == (row["count"], TOP)
        assert row["share"] == pytest.approx(count / n)
        assert row["baseline_share"] == pytest.approx(share)


def test_a_stopped_job_goes_on_and_other_options_are_refused(
    small_run: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out, engine = tmp_path / "copy", InProcess()
    shutil.copytree(small_run[0], out)
    monkeypatch.setattr("jobs.stage.runner.fan_out", engine)
    with pytest.raises(InputError, match=r"tokens was run with other options: top \(was 20, is 3\)"):
        tokens.JOB.run(TokensConfig(out=str(out), top=3))
    engine.most = 3  # the choice of the pieces, and two of them
    with pytest.raises(Stopped):
        tokens.JOB.run(TokensConfig(out=str(out), redo=True, workers=1))
    assert same(out, small_run[0]), "the results of before stay until the new ones are whole"
    engine.most = None
    capsys.readouterr()
    tokens.JOB.run(TokensConfig(out=str(out), redo=True, workers=1))
    assert "tokens: read: 2 of 4 pieces were already done" in capsys.readouterr().err
    assert same(out, small_run[0])
    assert not (out / "_partials" / "tokens").exists()
    tokens.JOB.run(TokensConfig(out=str(out)))
    assert f"tokens: already done, {24 * 2 * TOP:,} winners token by token" in capsys.readouterr().err
    tokens.JOB.run(TokensConfig(out=str(out), redo=True, top=3))
    few_rows = pq.read_table(out / "token_activations")
    assert few_rows.num_rows == 24 * 2 * 3
    whole = pq.read_table(small_run[0] / "token_activations").to_pylist()
    assert few_rows["sent_id"].to_pylist() == [row["sent_id"] for row in whole if row["rank"] <= 3]
    tokens.JOB.run(TokensConfig(out=str(out), redo=True, top=10**6))
    assert pq.read_table(out / "token_activations").num_rows == 24 * 2 * K


def test_reading_apart_as_with_gpus_gives_the_same_partial_file(small_run: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "copy"
    shutil.copytree(small_run[0], out)
    args = TokensArgs(
        store=Run(str(out)).store, facts=read_facts(str(small_run[1])), options=ScoreOptions(), seed=0,
        neurons=Neurons((12, 12)), shards=Shards(360, 100), top=TOP, token_budget=2048, equal_lengths=False,
        dictionaries=(), block=None,
    )  # fmt: skip
    wanted = first_winners(args.store, args.neurons, TOP)
    WANTED.commit(args.store, wanted, "f")
    item = {"piece": 2, "shard": 2, "first": 200, "last": 299}
    [together], [apart] = (PieceReader(args)(item, prepared).values() for prepared in (None, prepare_piece(item, args)))
    assert together.table.equals(apart.table)
    assert together.table.num_rows > 0


def test_what_is_missing_or_another_is_named(
    small_run: tuple[Path, Path], tmp_path: Path, make_model: Callable[..., Path], small_bert: Any
) -> None:
    with pytest.raises(InputError, match=r"corpus/ is missing"):
        tokens.JOB.run(TokensConfig(out=str(tmp_path / "none")))
    other = make_model(small_bert, seed=5)
    with pytest.raises(InputError, match=rf"--model {other}: is not the model of topk/"):
        tokens.JOB.run(TokensConfig(out=str(small_run[0]), model=str(other)))
    out = tmp_path / "copy"
    shutil.copytree(small_run[0], out)
    record = json.loads((out / "run.json").read_text())
    del record["stages"]["annotate"]
    (out / "run.json").write_text(json.dumps(record))
    with pytest.raises(InputError, match=r"sentences/ is missing.*atlas annotate"):
        tokens.JOB.run(TokensConfig(out=str(out)))
