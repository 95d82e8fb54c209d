"""The search finds the neurons that a rule of its own on the words finds, on the packaged model and real corpora."""

from pathlib import Path

import pytest

from bench.search import measure_run
from jobs.run import job as run_job
from jobs.run.job import RunConfig
from jobs.run_folder.run import RunReader
from jobs.stage.shown import read_facts

CORPORA = ("books", "news", "newsgroups", "reviews", "tweets", "wikipedia")
PHRASES = ["!", "past tense", "number"]


@pytest.mark.slow
def test_the_first_hits_are_among_the_units_that_tell_a_phenomenon_best(test_data: Path, tmp_path: Path) -> None:
    sources = tuple(f"{test_data}/corpora/{name}.parquet" for name in CORPORA)
    run_job.JOB.run(
        RunConfig.model_validate(
            {
                "out": str(tmp_path / "run"), "corpus": sources, "limit": 3_000, "k": 60, "workers": 1,
                "activation_sample": 3_000, "no_tokens": True, "no_explain": True, "no_scores": True, "seed": 3,
            }
        )
    )  # fmt: skip
    for row in measure_run(read_facts(RunReader(str(tmp_path / "run"), create=False)), PHRASES):
        assert row["of"] >= 5, row
        assert row["hits"] >= 5, row
