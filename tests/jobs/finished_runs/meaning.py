"""Runs of the job meaning."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import BertForPreTraining

from jobs.meaning import job as meaning
from jobs.meaning.job import MeaningConfig
from tests.jobs.finished_runs.published import published


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
    return published(out), model


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
        {"text": f"{text} {language}", "language": language, "doc_id": place // 4, "same": "x", "key": str(place)}
        for language in ("en", "xx")
        for place, text in enumerate(texts[:40])
    ]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (out.parent / "two.jsonl").write_text(lines, encoding="utf-8")
    meaning.JOB.run(MeaningConfig.model_validate(translations_options(out, meaning_run[1])))
    return published(out)
