"""The tokens that ingest keeps: every pass that reads them finds what it finds by tokenizing."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from jobs.compare import job as compare
from jobs.ingest import job as ingest
from jobs.ingest.job import IngestConfig
from jobs.meaning import job as meaning
from jobs.meaning.job import MeaningConfig
from jobs.mixing import job as mixing
from jobs.mixing.job import MixingConfig
from jobs.positions import job as positions
from jobs.positions.job import PositionsConfig
from jobs.run_folder.run import Run
from jobs.run_folder.stages import TOKENS
from jobs.stage.corpus_pass import PassArgs, kept_tokens
from jobs.topk import job as topk
from jobs.topk.job import TopkConfig
from ops.corpus.corpus_tokens import CorpusTokens
from ops.model.load import read_facts
from ops.model.tokenizer import Tokenizer, Tokens
from tests.jobs.finished_runs.compare import compare_config

Runs = tuple[Path, Path]
SHARDS = 4  # of 100 sentences


def do_topk(out: Path, model: str) -> None:
    more = {"k": 20, "activation_sample": 30, "token_budget": 300}
    topk.JOB.run(TopkConfig.model_validate({"out": str(out), "model": model, "workers": 1, **more}))


def do_mixing(out: Path, model: str) -> None:
    more = {"per_token": True, "mask_rate": 0.2}
    mixing.JOB.run(MixingConfig.model_validate({"out": str(out), "model": model, "workers": 1, **more}))


def do_positions(out: Path, model: str) -> None:
    positions.JOB.run(PositionsConfig.model_validate({"out": str(out), "model": model, "workers": 1}))


def do_hashing(out: Path, model: str) -> None:
    more = {"parts": "hashing", "hashed_sentences": 200, "label": "topic", "epochs": 1}
    meaning.JOB.run(MeaningConfig.model_validate({"out": str(out), "model": model, "workers": 1, **more}))


def do_diversity(out: Path, model: str) -> None:
    compare.JOB.run(compare_config(out, part=("diversity",)))


def forget_tokens(out: Path) -> None:
    """Make of a run what an earlier version of ingest left."""
    shutil.rmtree(out / TOKENS)
    record = json.loads((out / "run.json").read_text())
    del record["tables"][TOKENS]
    (out / "run.json").write_text(json.dumps(record))


@pytest.fixture(scope="module")
def model(make_model: Callable[..., Path], small_bert: object) -> str:
    return str(make_model(small_bert))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, source: Path, model: str) -> Runs:
    """A finished corpus with the tokens that ingest kept, and one without."""
    out = tmp_path_factory.mktemp("runs") / "kept"
    more = {"corpus": (str(source),), "split": "none", "shard_size": 100, "workers": 1}
    ingest.JOB.run(IngestConfig.model_validate({"out": str(out), "model": model, **more}))
    shutil.copytree(out, out.parent / "earlier")
    forget_tokens(out.parent / "earlier")
    return out, out.parent / "earlier"


@pytest.fixture
def tokenized(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """All texts that are tokenized from here on."""
    texts: list[str] = []
    encode = Tokenizer.encode

    def seen(self: Tokenizer, own: list[str]) -> list[Tokens]:
        texts.extend(own)
        return encode(self, own)

    monkeypatch.setattr(Tokenizer, "encode", seen)
    return texts


def files(out: Path) -> dict[str, bytes]:
    """The bytes of all files of all tables but those of ingest."""
    tables = json.loads((out / "run.json").read_text())["tables"]
    names = [f["name"] for table, own in tables.items() if table not in ("corpus", "rejects", TOKENS) for f in own]
    return {name: (out / name).read_bytes() for name in names}


def test_a_shard_s_file_holds_what_the_tokenizer_says(runs: Runs, model: str) -> None:
    corpus = pq.read_table(runs[0] / "corpus")
    kept = pq.read_table(runs[0] / TOKENS)
    expected = Tokenizer(read_facts(model)).encode(corpus["text"].to_pylist())
    assert kept["sent_id"].equals(corpus["sent_id"])
    assert [str(kept.schema.field(name).type.value_type) for name in ("ids", "added")] == ["uint16", "bool"]
    found = zip(*(kept[name].to_pylist() for name in ("ids", "added", "cut")), strict=True)
    assert [Tokens(ids, list(map(int, added)), cut) for ids, added, cut in found] == expected
    assert any(tokens.cut for tokens in expected)
    assert [len(ids) for ids in kept["ids"].to_pylist()] == corpus["n_tokens"].to_pylist()
    names = sorted(path.name for path in (runs[0] / "corpus").iterdir())
    assert sorted(path.name for path in (runs[0] / TOKENS).iterdir()) == names
    assert len(names) == SHARDS
    assert kept_tokens(Run(str(runs[0]))) is not None
    assert kept_tokens(Run(str(runs[1]))) is None


@pytest.mark.parametrize(
    ("jobs", "others"),
    [
        ([do_topk, do_diversity], 0),
        pytest.param([do_mixing], 0, marks=pytest.mark.slow),
        pytest.param([do_positions], 0, marks=pytest.mark.slow),
        pytest.param([do_hashing], 0, marks=pytest.mark.slow),
    ],
    ids=["topk and diversity", "mixing", "positions", "hashing"],
)
def test_every_pass_finds_the_same_without_them(
    runs: Runs, model: str, tmp_path: Path, tokenized: list[str], jobs: list[Callable[[Path, str], None]], others: int
) -> None:
    found = []
    for out, name in zip(runs, ("kept", "earlier"), strict=True):
        shutil.copytree(out, tmp_path / name)
        tokenized.clear()
        for do in jobs:
            do(tmp_path / name, model)
        texts = set(pq.read_table(out / "corpus")["text"].to_pylist())
        found.append(len(texts & set(tokenized)))
    # Of the drawn sentences alone, where a part reads no others.
    assert found[0] == others
    assert found[1] >= (200 if jobs == [do_hashing] else len(texts))
    kept, earlier = files(tmp_path / "kept"), files(tmp_path / "earlier")
    assert sum(name.endswith(".parquet") for name in kept) > 0
    assert sorted(kept) == sorted(earlier)
    assert [name for name in kept if kept[name] != earlier[name]] == []


def test_psi_reads_the_same_batches_without_them(runs: Runs, model: str) -> None:
    facts = read_facts(model)
    found = []
    for out in runs:
        run = Run(str(out))
        args = PassArgs(
            store=run.store, facts=facts, device="cpu", dtype="float32", threads=1, token_budget=300, seed=0,
            kept=kept_tokens(run),
        )  # fmt: skip
        batches = args.batches({"parts": [1, 2], "rows": None}, lambda: Tokenizer(facts))
        found.append([(ids.tolist(), list(tokens)) for ids, tokens in batches])
    assert found[0] == found[1]
    assert sorted(i for ids, _ in found[0] for i in ids) == list(range(100, 300))


def damage(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 0xFF
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (Path.unlink, "note: _tokens/part-00001.parquet is missing: such sentences are tokenized again"),
        (lambda path: path.write_bytes(path.read_bytes()[:-9]), "is not as ingest wrote it"),
        (damage, ""),
    ],
    ids=["gone", "cut", "damaged"],
)
def test_files_that_are_lost_are_no_loss(
    runs: Runs, model: str, tmp_path: Path, tokenized: list[str], change: Any, said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    out = tmp_path / "lost"
    shutil.copytree(runs[0], out)
    change(out / TOKENS / "part-00001.parquet")
    do_topk(out, model)
    assert said in capsys.readouterr().err
    texts = pq.read_table(out / "corpus" / "part-00001.parquet")["text"].to_pylist()
    assert set(texts) == set(tokenized) & set(pq.read_table(out / "corpus")["text"].to_pylist())
    shutil.copytree(runs[0], tmp_path / "sound")
    do_topk(tmp_path / "sound", model)
    assert files(out) == files(tmp_path / "sound")


def test_tokens_of_another_ingest_are_not_read(runs: Runs, source: Path, model: str, tmp_path: Path) -> None:
    """As where an earlier version did ingest again, which knows nothing of the files and leaves them recorded."""
    out = tmp_path / "stale"
    shutil.copytree(runs[0], out)
    old = json.loads((out / "run.json").read_text())["tables"][TOKENS]
    stale = {path.name: path.read_bytes() for path in (out / TOKENS).iterdir()}
    more = {"corpus": (str(source),), "split": "none", "shard_size": 100, "workers": 1, "limit": 120, "redo": True}
    ingest.JOB.run(IngestConfig.model_validate({"out": str(out), "model": model, **more}))
    for name, data in stale.items():
        (out / TOKENS / name).write_bytes(data)
    record = json.loads((out / "run.json").read_text())
    record["tables"][TOKENS] = old
    (out / "run.json").write_text(json.dumps(record))
    run, tokenizer = Run(str(out)), Tokenizer(read_facts(model))
    tokens = CorpusTokens(run.store, kept_tokens(run), lambda: tokenizer)
    texts = pq.read_table(out / "corpus" / "part-00001.parquet")["text"].to_pylist()
    assert len(texts) == 20
    assert list(tokens.read(1)[1]) == tokenizer.encode(texts)
