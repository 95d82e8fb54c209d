"""Windows of code and chats through the main job, with every number of workers, after a stop, and on S3."""

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch

from jobs.run import job as run_job
from jobs.stage import runner
from ops import penn
from ops.sentences.word_spans import word_spans
from ops.storage.store import Store
from tests.jobs.finished_runs.main import config
from tests.jobs.in_process import InProcess, Stopped
from tests.jobs.test_same_rows import EVERY

TABLES = (*EVERY, "token_activations", "peaks", "explanations")
Case = tuple[tuple[str, ...], dict[str, object]]
CODE = '''"""Counts what the ferry number {i} carries across the lake."""


def weigh(boat, cars={i}):
    # Heavy cars go first. The captain wants them in the middle!
    for car in boat.cars[:cars]:
        if car.weight > {i}00:
            return "too heavy"

    return sum(car.weight for car in boat.cars) + {i}
'''
QUESTIONS = ("Where does ferry {i} go today?", "How many cars are on ferry {i} now?", "Is ferry {i} late again?")
ANSWERS = (
    "It crosses the lake at {i} o'clock. Bring a coat.",
    "It carries {i} cars and one old bus.",
    "No, it left at {i}.",
)


@pytest.fixture(scope="module", params=["windows", "chats"])
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    """The files of a corpus, and the options with which they are read."""
    folder = tmp_path_factory.mktemp(request.param)
    less = {"k": 12, "activation_sample": 10_000, "null_sets": 3, "k_per_dataset": 5}
    if request.param == "windows":
        for i in range(1, 9):
            (folder / f"boat{i}.py").write_text(CODE.replace("{i}", str(i)))
        return (f"code={folder}/*.py",), {**less, "split": "tokens:16", "shard_size": 25}
    talks = []
    for i in range(30):
        pairs = zip(QUESTIONS[: 1 + i % 3], ANSWERS, strict=False)
        texts = [text.replace("{i}", str(i)) for pair in pairs for text in pair]
        turns = [{"role": ("user", "bot")[turn % 2], "content": text} for turn, text in enumerate(texts)]
        talks.append({"messages": turns})
    (folder / "talks.jsonl").write_text("".join(json.dumps(talk) + "\n" for talk in talks))
    return (f"{folder}/talks.jsonl",), {**less, "split": "sentences", "shard_size": 40}


@pytest.fixture(scope="module")
def model(make_model: Callable[..., Path], small_bert: object) -> str:
    return str(make_model(small_bert))


@pytest.fixture(scope="module")
def run(case: Case, model: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "any"
    do(out, case, model)
    return out


def do(out: Path | str, case: Case, model: str, **options: object) -> None:
    files, own = case
    whole = {**own, "corpus": files, "model": model, "no_tokens": False, "no_explain": False, **options}
    run_job.JOB.run(config(out, Path(), **whole))


def test_sentences_are_those_of_the_files(case: Case, run: Path) -> None:
    corpus = pq.read_table(run / "corpus").to_pylist()
    found = pq.read_table(run / "sentences").to_pylist()
    assert {row["text"] for row in found} <= {row["text"] for row in corpus}
    trees = [penn.read(row["tree"]) for row in found]
    assert [[leaf.word for leaf in penn.leaves(tree)] for tree in trees] == [row["words"] for row in found]
    assert all(None not in word_spans(row["text"], row["words"]) for row in found)
    if case[1]["split"] == "sentences":
        assert {row["doc_id"] for row in corpus} == {f"talks.jsonl:{i}" for i in range(30)}
        assert {row["meta"]["role"] for row in corpus} == {"user", "bot"}
        lasts = [row for row in corpus if row["text"].startswith("It crosses")]
        assert [row["meta"]["last"] for row in lasts] == ["true" if i % 3 == 0 else "false" for i in range(30)]
        profiles = pq.read_table(run / "profiles").to_pydict()
        assert {"role", "turn", "last"} <= {*profiles["property"]}
    else:
        assert any(len(tree.children) > 1 for tree in trees)
        texts: dict[str, str] = {}
        for row in corpus:
            texts[row["doc_id"]] = texts.get(row["doc_id"], "") + row["text"]
        assert texts["boat1.py"] == CODE.replace("{i}", "1")
        assert max(row["n_tokens"] for row in corpus) == 18


def test_activations_are_those_of_plain_transformers(run: Path, model: str) -> None:
    from transformers import AutoModel, AutoTokenizer

    network, tokenizer = AutoModel.from_pretrained(model).eval(), AutoTokenizer.from_pretrained(model)
    table, texts = pq.read_table(run / "activations"), pq.read_table(run / "corpus")["text"].to_pylist()
    assert table["sent_id"].to_pylist() == list(range(len(texts)))
    for row, text in list(enumerate(texts))[::5]:
        with torch.inference_mode():
            given = tokenizer(text, return_tensors="pt")
            assert given["input_ids"].shape[1] <= 40
            states = network(**given, output_hidden_states=True).hidden_states
        for layer in (1, 2):
            alone = states[layer][0].mean(0).numpy()
            assert np.abs(table[f"layer_{layer}"][row].as_py() - alone).max() < 1e-5


@pytest.mark.slow
def test_one_worker_or_a_stop_in_every_stage_gives_the_same_tables(
    case: Case, run: Path, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stops = 0
    while True:
        monkeypatch.setattr(runner, "fan_out", InProcess(most=4))
        with suppress(Stopped):
            do(tmp_path / "b", case, model, workers=1)
            break
        stops += 1
    assert stops >= 3
    for table in TABLES:
        assert pq.read_table(run / table).equals(pq.read_table(tmp_path / "b" / table)), table


@pytest.mark.slow
@pytest.mark.usefixtures("on_ray")
def test_s3_and_two_workers_on_ray_give_the_same_tables(case: Case, run: Path, model: str, bucket: str) -> None:
    do(f"{bucket}/run", case, model)
    store = Store(f"{bucket}/run")
    for table in TABLES:
        found = pq.read_table(f"{bucket.removeprefix('s3://')}/run/{table}", filesystem=store.filesystem)
        assert found.equals(pq.read_table(run / table)), table
