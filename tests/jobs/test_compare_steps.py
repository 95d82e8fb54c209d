"""Each step of the job `compare`, item by item: done only where its files are, which come in the order stated."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from jobs.compare.ablation import AblationArgs, ablation_step
from jobs.compare.compared_run import PartArgs
from jobs.compare.dimensions import bases_step
from jobs.compare.diversity import DiversityArgs, check_clusters, curves_step, draw_step, drawn_sentences, embed_step
from jobs.compare.groups import GroupArgs, groups_step
from jobs.compare.matches import MatchArgs, layers_step, tables_step
from jobs.compare.neighbours import NeighbourArgs, nearest_step, neighbours_step
from jobs.compare.shift import ShiftArgs, blocks_of, distances_step, read_step, runs_step
from jobs.stage.corpus_pass import kept_tokens
from jobs.stage.placement import Placement
from jobs.stage.run import Run
from ops.errors import InputError
from ops.model.activations import ScoreOptions
from ops.model.load import read_facts
from ops.shards import Shards
from ops.sources.spec import parse_source
from ops.storage.store import Store
from ops.topk.neurons import Neurons
from tests.jobs.in_process import do_in_reverse


def test_every_step_keeps_its_promises(
    small_run: tuple[Path, Path], source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    shutil.copytree(small_run[0], out)
    store, facts, place = Store(str(out)), read_facts(str(small_run[1])), Placement("cpu", 256, 1, 1, {})
    own = (store, "f", Neurons((12, 12)), 0)
    model = (*own, facts, ScoreOptions("hidden", "cls"), place)
    do_in_reverse(bases_step(PartArgs(*own), 2), str(out))
    near = NeighbourArgs(*own, nearest=2, sentences=360)
    do_in_reverse(neighbours_step(near), str(out))
    do_in_reverse(nearest_step(near), str(out))
    matches = MatchArgs(*own, store, Neurons((12, 12)), same_ids=True, rotated=True, memory=0)
    do_in_reverse(layers_step(matches), str(out))
    do_in_reverse(tables_step(matches), str(out))
    do_in_reverse(groups_step(GroupArgs(*own, groups=4, numbers=(2, 3), sentences=40)), str(out))
    kept = kept_tokens(Run(str(out)))
    diverse = DiversityArgs(*model, shards=Shards(360, 100), clusters=(1, 3), sample=100, kept=kept)
    do_in_reverse(draw_step(diverse), str(out))
    check_clusters(diverse)
    assert capsys.readouterr().err == ""
    check_clusters(replace(diverse, clusters=(1, 500)))
    assert "500 clusters are skipped for layers with fewer sentences" in capsys.readouterr().err
    with pytest.raises(InputError, match=r"--diversity-clusters 500: no layer has more than \d+ sentences"):
        check_clusters(replace(diverse, clusters=(500, 900)))
    do_in_reverse(embed_step(diverse, drawn_sentences(diverse)), str(out))
    do_in_reverse(curves_step(diverse), str(out))
    shift = ShiftArgs(*model, against=facts, text_column="text", splits=False, most=50)
    do_in_reverse(read_step(shift, ["docs"], [parse_source(str(source))]), str(out))
    do_in_reverse(distances_step(shift, blocks_of([50])), str(out))
    do_in_reverse(runs_step(shift, store), str(out))
    ablation = AblationArgs(*own, facts, ScoreOptions(), place, sentences=6)
    do_in_reverse(ablation_step(ablation, [0, 3, 5, 7, 9]), str(out))
