"""Each step of the job `compare`, item by item: done only where its files are, which come in the order stated."""

import shutil
from pathlib import Path

from jobs.steps.compare.ablation import AblationArgs, ablation_step
from jobs.steps.compare.dimensions import RotationArgs, rotations_step
from jobs.steps.compare.diversity import curves_step, draw_step, embed_step
from jobs.steps.compare.diversity_workers import DiversityArgs, drawn_sentences
from jobs.steps.compare.groups import GroupArgs, groups_step
from jobs.steps.compare.neighbours import NeighbourArgs, nearest_step, neighbours_step
from jobs.steps.compare.shift import distances_step, read_step, runs_step
from jobs.steps.compare.shift_workers import ShiftArgs, blocks_of
from ops.model.activations import ScoreOptions
from ops.model.load import read_facts
from ops.shards import Shards
from ops.sources.spec import parse_source
from ops.storage.store import Store
from ops.topk.neurons import Neurons
from tests.jobs.steps import do_in_reverse


def test_every_step_keeps_its_promises(small_run: tuple[Path, Path], source: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    shutil.copytree(small_run[0], out)
    store, neurons, facts = Store(str(out)), Neurons((12, 12)), read_facts(str(small_run[1]))
    scoring = ScoreOptions("hidden", "cls")
    do_in_reverse(rotations_step(RotationArgs(store, "f", neurons.widths, 0), 2), str(out))
    near = NeighbourArgs(store, "f", neurons, 2, 360, 0)
    do_in_reverse(neighbours_step(near), str(out))
    do_in_reverse(nearest_step(near), str(out))
    do_in_reverse(groups_step(GroupArgs(store, "f", neurons, 4, (2, 3), 40, 0)), str(out))
    diverse = DiversityArgs(store, "f", facts, scoring, 256, Shards(360, 100), 2, (1, 3), 100, 0)
    do_in_reverse(draw_step(diverse), str(out))
    do_in_reverse(embed_step(diverse, drawn_sentences(store, 2), {}, 1), str(out))
    do_in_reverse(curves_step(diverse), str(out))
    reading = {"text_column": "text", "split": "none"}
    shift = ShiftArgs(store, "f", facts, facts, scoring, 256, neurons, reading, 50, 0)
    do_in_reverse(read_step(shift, ["docs"], [parse_source(str(source))]), str(out))
    do_in_reverse(distances_step(shift, blocks_of([50]), 50, {}, 1), str(out))
    do_in_reverse(runs_step(shift, store), str(out))
    ablation = AblationArgs(store, "f", facts, ScoreOptions(), 256, neurons, 6, 0)
    do_in_reverse(ablation_step(ablation, [0, 3, 5, 7, 9], {}, 1), str(out))
