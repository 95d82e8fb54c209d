"""What holds for the steps of every job: what workers return, and that one that loads a model is an actor."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from transformers import PreTrainedModel

from jobs.engine.fan_out import Spread
from jobs.engine.item import Item
from jobs.meaning import job as meaning
from jobs.meaning.job import MeaningConfig
from jobs.mixing import job as mixing
from jobs.stage.outputs import file_of, read_partials
from jobs.stage.step import Step
from ops.storage.store import Store
from tests.jobs.finished_runs.meaning import meaning_options, with_heads
from tests.jobs.finished_runs.mixing import mixing_config
from tests.jobs.in_process import InProcess, do_in_reverse
from tests.unit.damaged_file import UNSOUND, damage


class Watch(InProcess):
    """Notes which steps load a model."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded = 0  # models, so far
        self.actors: dict[str, bool] = {}  # whether the workers of a step that loads one are actors

    def __call__(
        self, items: list[Item], make: Any, args: Item, how: Spread, *, name: str, **options: Any
    ) -> Iterator[Item]:
        before = self.loaded
        yield from super().__call__(items, make, args, how, name=name, **options)
        if self.loaded > before:
            self.actors[name] = how.actors


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    """Watch steps, and every model that transformers loads."""
    own, load = Watch(), PreTrainedModel.from_pretrained.__func__

    def counted(cls: type[PreTrainedModel], *args: Any, **options: Any) -> Any:
        own.loaded += 1
        return load(cls, *args, **options)

    monkeypatch.setattr(PreTrainedModel, "from_pretrained", classmethod(counted))
    monkeypatch.setattr("jobs.stage.runner.fan_out", own)
    return own


@pytest.fixture(scope="module")
def model(make_model: Callable[..., Path], small_bert: Any) -> Path:
    return with_heads(make_model(small_bert), small_bert)


def run_meaning(out: Path, source: Path, model: Path) -> None:
    options = meaning_options(out, source, model, workers=1, confusion="the a", limit=120, shard_size=60)
    meaning.JOB.run(MeaningConfig.model_validate(options))


def run_mixing(out: Path, source: Path, model: Path) -> None:
    mixing.JOB.run(mixing_config(out, source, model, workers=1, limit=40))


def test_a_worker_returns_the_contents_of_an_only_file_alone(tmp_path: Path) -> None:
    def double(item: Item) -> pa.Table:
        return pa.table({"n": [2 * item["place"]]})

    step = Step(
        name="doubles", items=[{"place": 1}, {"place": 4}], outputs=file_of("psi", "double", "place"), worker=double,
        args={},
    )  # fmt: skip
    do_in_reverse(step, str(tmp_path))
    tables = read_partials(Store(str(tmp_path)), step.files)
    assert [table["n"].to_pylist() for table in tables] == [[2], [8]]
    damage(tmp_path / step.files[0].path)
    with pytest.raises(OSError, match=UNSOUND):
        list(read_partials(Store(str(tmp_path)), step.files))
    two = replace(step, outputs=lambda item: 2 * step.outputs(item))
    make, args = two.committing(Store(str(tmp_path)), "other")
    with pytest.raises(ValueError, match="too many values"):
        make(**args)(step.items[0], None)


@pytest.mark.parametrize(
    ("run", "steps"),
    [
        (run_meaning, {"meaning/offsets", "meaning/confusion", "meaning: sentences", "meaning/hashing"}),
        (run_mixing, {"mixing"}),
    ],
)
@pytest.mark.slow
def test_steps_that_load_a_model_are_done_by_actors(
    watch: Watch, tmp_path: Path, source: Path, model: Path, run: Callable[..., None], steps: set[str]
) -> None:
    run(tmp_path / "run", source, model)
    assert watch.actors == dict.fromkeys(steps, True)
