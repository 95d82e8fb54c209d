"""One finished run of the main job that the tests of this folder share."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import torch
from transformers import BertForPreTraining, GPT2Config

from bench.planted import write_planted_datasets
from jobs import run as run_job
from jobs.audit import job as audit
from jobs.audit.job import AuditConfig
from jobs.compare import job as compare
from jobs.compare.job import CompareConfig
from jobs.explain import job as explain
from jobs.explain.job import ExplainConfig
from jobs.finetune import job as finetune
from jobs.finetune.job import FinetuneConfig
from jobs.meaning import job as meaning
from jobs.meaning.job import MeaningConfig
from jobs.mixing import job as mixing
from jobs.mixing.job import MixingConfig
from jobs.outputs import job as outputs
from jobs.outputs.job import OutputsConfig
from jobs.positions import job as positions
from jobs.positions.job import PositionsConfig
from jobs.psi import job as psi
from jobs.psi.job import PsiConfig
from jobs.run import RunConfig
from jobs.tokens import job as tokens
from jobs.tokens.job import TokensConfig
from jobs.topk import job as topk
from jobs.topk.job import TopkConfig
from ops.corpus.split_sentences import SentenceSplitter
from ops.schema import TABLES
from ops.sources.docstrings.packages import read_pydocs
from ops.sources.rows import Row

SENTENCES = 360
EXPLAINED = {"explanations", "explanation_terms", "families", "examples", "negative_tokens"}
K, K_PER_DATASET = 40, 10


@pytest.fixture(scope="session")
def texts() -> list[str]:
    """Real sentences of mixed length, one of them far over the model's limit."""
    splitter = SentenceSplitter()
    rows = [row for row in read_pydocs("stdlib:0") if isinstance(row, Row)]
    found = dict.fromkeys(" ".join(s.split()) for row in rows for s in splitter.split(row.text) if len(s) > 12)
    chosen = list(found)[:: len(found) // SENTENCES][: SENTENCES - 1]
    return [*chosen, " ".join(list(found)[:60])]


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> Path:
    path = tmp_path_factory.mktemp("source") / "docs.jsonl"
    lines = [{"text": t, "topic": f"t{i % 3}", "doc_id": f"d{i // 5}", "n": i % 4} for i, t in enumerate(texts)]
    lines += [lines[7], lines[7], {"text": "  "}, {"text": "Hm"}, {"text": None}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def config(out: Path | str, source: Path, **options: object) -> RunConfig:
    values = {"out": str(out), "corpus": (str(source),), "split": "none", "k": K, "shard_size": 100, "workers": 2}
    less = {"activation_sample": 50, "k_per_dataset": K_PER_DATASET, "no_tokens": True, "no_explain": True}
    return RunConfig.model_validate({**values, **less, **options})


@pytest.fixture(scope="session")
def finished(shared_ray: None, tmp_path_factory: pytest.TempPathFactory, source: Path) -> Path:
    out = tmp_path_factory.mktemp("runs") / "a"
    run_job.JOB.run(config(out, source, no_scores=True))
    return out


@pytest.fixture(scope="session")
def small_run(
    shared_ray: None,
    tmp_path_factory: pytest.TempPathFactory,
    source: Path,
    make_model: Callable[..., Path],
    small_bert: object,
) -> tuple[Path, Path]:
    """The main job on a small random model: its run directory and the model's folder."""
    model = make_model(small_bert)
    out = tmp_path_factory.mktemp("runs") / "small"
    run_job.JOB.run(config(out, source, model=str(model), no_tokens=False, null_sets=6))
    return out, model


@pytest.fixture(scope="session")
def explain_run(small_run: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A copy of the small run, explained, with hard negatives token by token: its directory and the model's folder."""
    out = tmp_path_factory.mktemp("runs") / "explain"
    shutil.copytree(small_run[0], out)
    explain.JOB.run(ExplainConfig(out=str(out), workers=1))
    tokens.JOB.run(TokensConfig(out=str(out), workers=1))
    return out, small_run[1]


def mixing_config(out: Path, source: Path, model: Path, **options: Any) -> MixingConfig:
    values = {"out": str(out), "corpus": (str(source),), "model": str(model), "split": "none", "shard_size": 20}
    return MixingConfig.model_validate({**values, "workers": 2, "per_token": True, "token_budget": 256, **options})


@pytest.fixture(scope="session")
def mixing_run(
    shared_ray: None,
    tmp_path_factory: pytest.TempPathFactory,
    source: Path,
    make_model: Callable[..., Path],
    small_bert: object,
) -> tuple[Path, Path]:
    """The job mixing on a small random model by two workers: the run directory, partials kept, and the model."""
    model = make_model(small_bert)
    out = tmp_path_factory.mktemp("runs") / "mixing"
    mixing.JOB.run(mixing_config(out, source, model, keep_partials=True))
    return out, model


def psi_options(out: Path, model: Path, **more: Any) -> dict[str, Any]:
    small = {"clusters": 12, "cluster_seeds": 2, "split": "none", "shard_size": 40}
    return {"out": str(out), "model": str(model), **small, **more}


@pytest.fixture(scope="session")
def psi_run(
    shared_ray: None,
    tmp_path_factory: pytest.TempPathFactory,
    source: Path,
    make_model: Callable[..., Path],
    small_bert: object,
) -> tuple[Path, Path]:
    """The job psi on a small random model by two workers: its run directory, partials kept, and the model's folder."""
    model = make_model(small_bert)
    out = tmp_path_factory.mktemp("runs") / "psi"
    more = {"corpus": (str(source),), "workers": 2, "keep_partials": True}
    psi.JOB.run(PsiConfig.model_validate(psi_options(out, model, **more)))
    return out, model


def positions_config(out: Path, source: Path, model: Path, **options: Any) -> PositionsConfig:
    values = {"out": str(out), "corpus": (str(source),), "model": str(model), "split": "none", "shard_size": 20}
    return PositionsConfig.model_validate(
        {**values, "workers": 2, "token_budget": 512, "label": "topic", "limit": 160, **options}
    )


@pytest.fixture(scope="session")
def small_gpt2() -> GPT2Config:
    """A GPT-2 of 2 layers of 12 units that takes 40 positions."""
    sizes = {"n_embd": 12, "n_layer": 2, "n_head": 2, "n_inner": 20, "n_positions": 40, "vocab_size": 30522}
    return GPT2Config(**sizes, bos_token_id=101, eos_token_id=102)


@pytest.fixture(scope="session")
def positions_run(
    shared_ray: None,
    tmp_path_factory: pytest.TempPathFactory,
    source: Path,
    make_model: Callable[..., Path],
    small_gpt2: GPT2Config,
) -> tuple[Path, Path]:
    """The job positions on a small random decoder by two workers: its run directory, partials kept, and the model."""
    model = make_model(small_gpt2)
    out = tmp_path_factory.mktemp("runs") / "positions"
    positions.JOB.run(positions_config(out, source, model, keep_partials=True))
    return out, model


def outputs_config(out: Path, **options: Any) -> OutputsConfig:
    small = {"workers": 2, "sentences": 120, "random": 40, "check": 6, "check_sentences": 10, "token_budget": 256}
    return OutputsConfig.model_validate({"out": str(out), **small, **options})


@pytest.fixture(scope="session")
def scored_gpt2(
    shared_ray: None,
    tmp_path_factory: pytest.TempPathFactory,
    source: Path,
    make_model: Callable[..., Path],
    small_gpt2: GPT2Config,
) -> tuple[Path, Path]:
    """The job topk on the feed-forward units of a small random decoder: its run directory and the model's folder."""
    model = make_model(small_gpt2, change=lambda own: [w.normal_(std=0.3) for w in own.parameters()])
    out = tmp_path_factory.mktemp("runs") / "scored_gpt2"
    options = {"out": str(out), "corpus": (str(source),), "model": str(model), "site": "mlp", "split": "none"}
    small = {"k": 10, "shard_size": 100, "activation_sample": 20, "workers": 2}
    topk.JOB.run(TopkConfig.model_validate({**options, **small}))
    return out, model


@pytest.fixture(scope="session")
def outputs_run(scored_gpt2: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The job outputs on a copy of that run by two workers: the run directory, partials kept, and the model."""
    out = tmp_path_factory.mktemp("runs") / "outputs"
    shutil.copytree(scored_gpt2[0], out)
    outputs.JOB.run(outputs_config(out, keep_partials=True))
    return out, scored_gpt2[1]


def compare_config(out: Path, **options: Any) -> CompareConfig:
    small = {"permutations": 50, "rotations": 3, "nearest": 2, "group_count": 4, "group_range": (2, 4)}
    small |= {"diversity_clusters": (1, 4), "resamples": 50, "split": "none", "figure_units": "2:9", "workers": 1}
    return CompareConfig.model_validate({"out": str(out), **small, **options})


@pytest.fixture(scope="session")
def control_run(small_run: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the small run whose scores are halved, as those of another run over the same corpus."""
    out = tmp_path_factory.mktemp("runs") / "control"
    shutil.copytree(small_run[0], out)
    record = json.loads((out / "run.json").read_text())
    for file in record["tables"]["scores"]:
        table = pq.read_table(out / file["name"], schema=TABLES["scores"].arrow)
        place = table.schema.get_field_index("auc")
        table = table.set_column(place, table.schema.field("auc"), pc.multiply(table["auc"], 0.5))
        pq.write_table(table, out / file["name"])
        file |= {"bytes": (out / file["name"]).stat().st_size, "fingerprint": "control"}
    (out / "run.json").write_text(json.dumps(record))
    return out


@pytest.fixture(scope="session")
def compare_run(
    small_run: tuple[Path, Path],
    control_run: Path,
    source: Path,
    texts: list[str],
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Path, Path]:
    """The job compare on a copy of the small run, against its own model: the run directory and the model's folder."""
    folder = tmp_path_factory.mktemp("runs")
    shutil.copytree(small_run[0], folder / "compare")
    (folder / "some.txt").write_text("\n".join([*texts[:30], *texts[:5]]), encoding="utf-8")
    sets = (f"docs={source}", f"some={folder / 'some.txt'}")
    ablate = {"ablate": 2, "ablate_most": 8, "ablate_random": 2, "ablate_sentences": 8}
    others = {"against": str(small_run[1]), "against_run": str(control_run), "with_": str(control_run)}
    compare.JOB.run(compare_config(folder / "compare", **others, text_set=sets, **ablate))
    return folder / "compare", small_run[1]


def meaning_options(out: Path, source: Path, model: Path, **more: Any) -> dict[str, Any]:
    values = {"out": str(out), "corpus": (str(source),), "model": str(model), "split": "none", "shard_size": 40}
    small = {"workers": 2, "min_count": 2, "context_words": "60", "dimensions": 12, "token_budget": 256}
    less = {"sentence_pairs": 150, "masked_sentences": 90, "hashed_sentences": 300, "label": "topic", "epochs": 2}
    return {**values, **small, **less, "word_case": "lower", **more}


def with_heads(model: Path, bert: Any) -> Path:
    """Put a model with random heads for the next sentence and for masked words in a small model's place."""
    torch.manual_seed(3)
    BertForPreTraining(bert).save_pretrained(model)
    return model


@pytest.fixture(scope="session")
def meaning_run(
    shared_ray: None,
    tmp_path_factory: pytest.TempPathFactory,
    source: Path,
    make_model: Callable[..., Path],
    small_bert: object,
) -> tuple[Path, Path]:
    """The job meaning on a small random BERT with both heads by two workers: its run, partials kept, and the model."""
    model = with_heads(make_model(small_bert), small_bert)
    out = tmp_path_factory.mktemp("runs") / "meaning"
    questions = out.parent / "questions.txt"
    questions.write_text(": made up\na the is of\nthe a of is\n: unknown\nman woman king queen\n", encoding="utf-8")
    more = {"keep_partials": True, "analogies": str(questions), "confusion": "the a"}
    meaning.JOB.run(MeaningConfig.model_validate(meaning_options(out, source, model, **more)))
    return out, model


def translations_options(out: Path, model: Path) -> dict[str, Any]:
    """Return options of a run over forty sentences in two languages; the source is next to the run's folder."""
    more = {"parts": "sentences", "translation_column": "key", "shard_size": 50}
    return meaning_options(out, out.parent / "two.jsonl", model, **more)


@pytest.fixture(scope="session")
def translations_run(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], meaning_run: tuple[Path, Path]
) -> Path:
    """Run part `sentences` of the job meaning on sentences with fake translations; return the run directory."""
    out = tmp_path_factory.mktemp("translations") / "run"
    rows = [
        {"text": f"{text} {language}", "language": language, "doc_id": "book", "same": "x", "key": str(place)}
        for language in ("en", "xx")
        for place, text in enumerate(texts[:40])
    ]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (out.parent / "two.jsonl").write_text(lines, encoding="utf-8")
    meaning.JOB.run(MeaningConfig.model_validate(translations_options(out, meaning_run[1])))
    return out


@pytest.fixture(scope="session")
def labelled(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> Path:
    """Documents of two sentences, in turn of topic a and b; a copy of the first but for the case; and unusable ones."""
    rows = [{"text": t, "doc_id": f"d{i // 2}", "topic": "ab"[i // 2 % 2]} for i, t in enumerate(texts[:80])]
    rows += [{"text": t.upper(), "doc_id": "copy", "topic": "a"} for t in texts[:2]]
    rows += [{"text": texts[90 + i], "doc_id": "both", "topic": "ab"[i]} for i in range(2)]
    rows += [{"text": texts[92], "doc_id": "rare", "topic": "c"}, {"text": texts[93], "doc_id": "unlabelled"}]
    path = tmp_path_factory.mktemp("labelled") / "docs.jsonl"
    path.write_text("".join(json.dumps({"one": "x", **row}) + "\n" for row in rows), encoding="utf-8")
    return path


def finetune_config(out: Path, labelled: Path | None, model: Path | str, **options: Any) -> FinetuneConfig:
    """Options of a run from sources, or of one whose corpus is there."""
    values: dict[str, Any] = {"out": str(out), "model": str(model), "workers": 1, "label": "topic"}
    small = {"epochs": 2, "learning_rate": 0.01, "checkpoint_steps": 3}
    ingest = {"corpus": (str(labelled),), "split": "none", "shard_size": 30} if labelled else {}
    return FinetuneConfig.model_validate({**values, **small, **ingest, **options})


@pytest.fixture(scope="session")
def finetune_run(
    labelled: Path, tmp_path_factory: pytest.TempPathFactory, make_model: Callable[..., Path], small_bert: object
) -> tuple[Path, Path]:
    """The job finetune on the small random model, without Ray: its run directory and the model's folder."""
    model = make_model(small_bert)
    out = tmp_path_factory.mktemp("runs") / "finetune"
    finetune.JOB.run(finetune_config(out, labelled, model))
    return out, model


@pytest.fixture(scope="session")
def audit_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The main job on planted units and a corpus of three data sets, with its audit, and the corpus."""
    folder = tmp_path_factory.mktemp("audited")
    model, corpus = write_planted_datasets(folder)
    options = {
        "out": str(folder / "run"), "model": str(model), "split": "none", "k": 60, "k_per_dataset": 25,
        "corpus": tuple(map(str, sorted(corpus.iterdir()))), "site": "mlp", "pool": "last",
        "activation_sample": 2_000, "workers": 1, "no_tokens": True,
    }  # fmt: skip
    run_job.JOB.run(RunConfig.model_validate(options))
    audit.JOB.run(AuditConfig(out=options["out"], workers=1))
    return folder / "run", corpus


@pytest.fixture
def run_with(finished: Path, request: pytest.FixtureRequest) -> Callable[..., Path]:
    """Find a finished run that holds some tables: that of the fixture `NAME_run` for those of a side job."""

    def find(*tables: str) -> Path:
        if "meaning/translations" in tables:
            run: Path = request.getfixturevalue("translations_run")
            return run
        jobs = [table.partition("/")[0] for table in tables if "/" in table]
        if not EXPLAINED.isdisjoint(tables) and "audit" not in jobs:
            jobs = ["explain"]
        if not jobs and {"scores", "chance", "token_activations", "peaks"}.isdisjoint(tables):
            return finished
        runs: tuple[Path, Path] = request.getfixturevalue(f"{jobs[0] if jobs else 'small'}_run")
        return runs[0]

    return find
