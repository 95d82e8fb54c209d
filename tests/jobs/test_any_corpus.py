"""Windows of code and chats through the main job, with every number of workers, after a stop, and on S3.

With three other kinds of corpora, they also go through `respond` and `contrast`.
"""

import json
import re
import shutil
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch

from jobs.contrast import job as contrast_job
from jobs.contrast.job import ContrastConfig
from jobs.respond import job as respond_job
from jobs.respond.job import RespondConfig
from jobs.run import job as run_job
from jobs.stage import runner
from ops import penn
from ops.sentences.word_spans import word_spans
from ops.storage.store import Store
from tests.jobs.finished_runs.contrast import probe_quickly
from tests.jobs.finished_runs.main import config
from tests.jobs.in_process import InProcess, Stopped
from tests.jobs.test_same_rows import EVERY

TABLES = (*EVERY, "token_activations", "peaks", "explanations")
CODE = '''"""Counts what the {kind} number {i} carries across the {place}."""


def weigh({kind}{i}, cars={i}):
    # Heavy cars of {kind} {i} go first. The captain wants {i} in the middle!
    for car in {kind}{i}.cars[:cars]:
        if car.weight > {i}00:
            return "car {i} is too heavy for the {kind}"

    return sum(car.weight for car in {kind}{i}.cars) + {i}
'''
QUESTIONS = ("Where does ferry {i} go today?", "How many cars are on ferry {i} now?", "Is ferry {i} late again?")
ANSWERS = (
    "It crosses the lake at {i} o'clock. Bring a coat.",
    "It carries {i} cars and one old bus.",
    "No, it left at {i}.",
)
WRAPPED = """The {i}th night on the {place} was cold, and the
{kind} made little way. Nobody on the {kind} slept before
the lamp of house {i} was lit.

"Who keeps the {kind}?" asked boy {i}. "My uncle
keeps {kind} {i}," said the girl from the
{place}.

"""
MOODS = {"glad": "Ferry {i} was on time and the tea was hot.", "cross": "Ferry {i} was late and the tea was cold."}


class Case(NamedTuple):
    """A corpus: the sources, the options with which they are read, two groups of its sentences, and one of them."""

    sources: tuple[str, ...]
    options: dict[str, object]
    groups: tuple[str, str]
    sentence: str


def texts_of(folder: Path, template: str, suffix: str) -> tuple[str, ...]:
    """Write eight files about boats and eight about trains, and return both as sources."""
    for kind, place in (("boat", "lake"), ("train", "moor")):
        for i in range(1, 9):
            text = template.replace("{i}", str(i)).replace("{kind}", kind).replace("{place}", place)
            (folder / f"{kind}{i}{suffix}").write_text(text)
    return f"boats={folder}/boat*{suffix}", f"trains={folder}/train*{suffix}"


def write_talks(path: Path) -> None:
    talks = []
    for i in range(30):
        pairs = zip(QUESTIONS[: 1 + i % 3], ANSWERS, strict=False)
        texts = [text.replace("{i}", str(i)) for pair in pairs for text in pair]
        turns = [{"role": ("user", "bot")[turn % 2], "content": text} for turn, text in enumerate(texts)]
        talks.append({"messages": turns})
    path.write_text("".join(json.dumps(talk) + "\n" for talk in talks))


def write_reviews(path: Path) -> None:
    rows = [
        {"text": text.replace("{i}", str(i)), "mood": mood, "doc_id": f"traveller {i}"}
        for i in range(30)
        for mood, text in MOODS.items()
    ]
    if path.suffix == ".tsv":
        lines = ["\t".join(rows[0]), *("\t".join(row.values()) for row in rows)]
        path.write_text("".join(f"{line}\n" for line in lines))
    else:
        path.write_text(json.dumps(rows, indent=2))


@pytest.fixture(scope="module", params=["windows", pytest.param("chats", marks=pytest.mark.slow)])
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    """The files of a corpus, and the options with which they are read."""
    folder: Path = tmp_path_factory.mktemp(request.param)
    less = {"k": 12, "activation_sample": 10_000, "null_sets": 3, "k_per_dataset": 5}
    kinds = ("dataset=boats", "dataset=trains")
    if request.param == "windows":
        windows = {**less, "split": "tokens:16", "shard_size": 50}
        return Case(texts_of(folder, CODE, ".py"), windows, kinds, "weight for car in boat1.cars) + 1\n")
    sentences = {**less, "split": "sentences", "shard_size": 40}
    if request.param == "wrapped":
        said = "Nobody on the train slept before the lamp of house 3 was lit."
        return Case(texts_of(folder, WRAPPED, ".txt"), {**sentences, "paragraphs": True}, kinds, said)
    if request.param == "chats":
        write_talks(folder / "talks.jsonl")
        return Case((f"{folder}/talks.jsonl",), sentences, ("role=user", "role=bot"), "Bring a coat.")
    write_reviews(folder / f"reviews.{request.param}")
    moods = ("mood=glad", "mood=cross")
    return Case((f"{folder}/reviews.{request.param}",), sentences, moods, MOODS["cross"].replace("{i}", "9"))


@pytest.fixture(scope="module")
def model(make_model: Callable[..., Path], small_bert: object) -> str:
    return str(make_model(small_bert))


@pytest.fixture(scope="module")
def run(case: Case, model: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "any"
    do(out, case, model)
    return out


def do(out: Path | str, case: Case, model: str, **options: object) -> None:
    whole = {**case.options, "corpus": case.sources, "model": model, "no_tokens": False, "no_explain": False, **options}
    run_job.JOB.run(config(out, Path(), **whole))


def test_sentences_are_those_of_the_files(case: Case, run: Path) -> None:
    corpus = pq.read_table(run / "corpus").to_pylist()
    found = pq.read_table(run / "sentences").to_pylist()
    assert {row["text"] for row in found} <= {row["text"] for row in corpus}
    trees = [penn.read(row["tree"]) for row in found]
    assert [[leaf.word for leaf in penn.leaves(tree)] for tree in trees] == [row["words"] for row in found]
    assert all(None not in word_spans(row["text"], row["words"]) for row in found)
    if case.options["split"] == "sentences":
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
        assert texts["boat1.py"] == CODE.replace("{i}", "1").replace("{kind}", "boat").replace("{place}", "lake")
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


@pytest.mark.slow
@pytest.mark.parametrize("case", ["windows", "chats", "wrapped", "tsv", "json"], indirect=True)
def test_respond_and_contrast_know_the_sentences_and_groups(
    case: Case, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = pq.read_table(run / "corpus").to_pylist()
    assert case.sentence in {row["text"] for row in corpus}
    some = corpus[3::20]
    capsys.readouterr()
    respond_job.JOB.run(RespondConfig(out=str(run), text=tuple(row["text"] for row in some), json_=True))
    texts = json.loads(capsys.readouterr().out)["texts"]
    assert [(text["sent_id"], text["text"]) for text in texts] == [(row["sent_id"], row["text"]) for row in some]
    copy = shutil.copytree(run, tmp_path / "run")
    probe_quickly(monkeypatch)
    a, b = case.groups
    contrast_job.JOB.run(ContrastConfig(out=str(copy), a=(a,), b=(b,), workers=1))
    first, *_ = capsys.readouterr().out.splitlines()
    assert re.match(rf"{a}: one unit \(AUC [01]\.\d\d\) does .* than words \([01]\.\d\d\); 8 units", first)
    key = a.partition("=")[0]
    sizes = Counter(f"{key}={row[key] if key == 'dataset' else row['meta'][key]}" for row in corpus)
    units = pq.read_table(copy / "contrast" / "units")
    assert set(zip(units["n_a"].to_pylist(), units["n_b"].to_pylist(), strict=True)) == {(sizes[a], sizes[b])}
    assert units.num_rows == 24
