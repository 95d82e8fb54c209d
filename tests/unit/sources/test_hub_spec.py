"""Sources from a hub on loopback."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ops.sources.presets import PRESETS
from tests.unit.hub import COMMIT, Hub

ROOT = Path(__file__).parent.parent.parent.parent


def _put(path: Path, table: pa.Table) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path)


READ = """
import json, sys
from ops.errors import InputError
from ops.sources.pieces import check_source, pieces, read_piece, source_fingerprint
from ops.sources.spec import parse_source
found = {}
for spec in sys.argv[1:]:
    try:
        source = parse_source(spec)
        check_source(source)
        rows = [row for piece in pieces(source) for row in read_piece(piece)]
        found[spec] = [pieces(source)[0].part["revision"], len(pieces(source)), source_fingerprint(source), rows]
    except InputError as error:
        found[spec] = str(error)
print(json.dumps(found))
"""


@pytest.mark.slow
def test_sources_on_a_hub(hub: tuple[dict[str, str], Path, list[str]]) -> None:
    variables, root, asked = hub
    for split in ("train", "test", "unsupervised"):
        texts = [f"The {split} film number {number}." for number in range(3)]
        labels = [-1] * 3 if split == "unsupervised" else [0, 1, 1]
        path = root / PRESETS["imdb"].hub / "plain_text" / f"{split}-00000-of-00001.parquet"
        _put(path, pa.table({"text": texts, "label": labels}))
    for shard in range(2):
        texts = [f"Note {number} of shard {shard}." for number in range(2)]
        _put(root / "org" / "notes" / "data" / f"train-{shard:05d}.parquet", pa.table({"text": texts, "n": [1, 2]}))
    wrong = {
        "hf:org/none": "has no dataset org/none",
        "hf:org/notes@nowhere": "has no revision 'nowhere'",
        "hf:org/notes::dev": "has no split 'dev'; it has train",
        "hf:org/notes:other": "'other' not found",
        "reuters": "has no dataset ucirvine/reuters21578",
    }
    specs = ["imdb", "hf:org/notes@refs/convert/parquet", *wrong]
    environment = {**os.environ, **variables}
    done = subprocess.run(
        [sys.executable, "-c", READ, *specs], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)
    sentiments = [{"sentiment": name} for name in ("negative", "positive", "positive")]
    revision, size, first, rows = found["imdb"]
    assert (revision, size) == (COMMIT, 3)
    assert [row[1:] for row in rows] == [
        [f"imdb:{split}:0:{number}", meta]
        for split, metas in (("train", sentiments), ("test", sentiments), ("unsupervised", [{}] * 3))
        for number, meta in enumerate(metas)
    ]
    revision, size, second, rows = found["hf:org/notes@refs/convert/parquet"]
    assert (revision, size) == (COMMIT, 2)
    assert first != second
    assert rows == [
        [f"Note {number} of shard {shard}.", f"notes:train:{shard}:{number}", {"n": str(number + 1)}]
        for shard in range(2)
        for number in range(2)
    ]
    for spec, message in wrong.items():
        assert message in found[spec]
        assert "\n" not in found[spec]
    pinned = f"/api/datasets/{PRESETS['imdb'].hub}/revision/{PRESETS['imdb'].revision}"
    assert any(path.startswith(pinned) for path in asked)
    assert any("/org/notes/revision/refs%2Fconvert%2Fparquet" in path for path in asked)


WITHOUT_PAUSES = """
from ops.sources import hub
hub.PAUSE_S = 0
"""


@pytest.mark.slow
def test_broken_connections_are_made_again_while_a_dataset_is_opened(
    hub: tuple[dict[str, str], Path, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    variables, root, asked = hub
    _put(root / "org" / "notes" / "data" / "train.parquet", pa.table({"text": ["One note.", "Another note."]}))
    broken: set[str] = set()
    monkeypatch.setattr(Hub, "broken", broken)
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_PAUSES + READ, "hf:org/notes"],
        cwd=ROOT, env={**os.environ, **variables}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    [(revision, pieces, _, rows)] = json.loads(done.stdout).values()
    assert (revision, pieces, [row[0] for row in rows]) == (COMMIT, 1, ["One note.", "Another note."])
    assert done.stderr.count("the connection to the Hugging Face hub broke") >= 2
    assert broken == set(asked)
