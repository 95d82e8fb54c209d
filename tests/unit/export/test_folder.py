import json
from pathlib import Path
from typing import Any

import pytest

from ops.errors import InputError
from ops.export.folder import begin_folder, check_folder, copy_file, finish_folder, provenance
from ops.storage.store import Store

FOUND: dict[str, Any] = {"tool": "neuron-atlas", "tables": {"topk": {"rows": 1, "bytes": 3, "fingerprint": "f"}}}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    (tmp_path / "run" / "topk").mkdir(parents=True)
    (tmp_path / "run" / "topk" / "part-00000.parquet").write_bytes(b"abc")
    return Store(str(tmp_path / "run"))


def test_a_folder_is_whole_or_absent_and_an_export_of_the_same_tables_goes_on(store: Store, tmp_path: Path) -> None:
    folder = check_folder(str(tmp_path / "to"), store, FOUND)
    name = "topk/part-00000.parquet"
    under_way = begin_folder(folder, FOUND, 3)
    copy_file(store, name, under_way / name, 3)
    assert not folder.exists()
    assert (begin_folder(folder, FOUND, 3) / name).is_file()
    assert not (begin_folder(folder, {**FOUND, "tables": {}}, 3) / name).exists(), "one of other tables begins anew"
    copy_file(store, name, under_way / name, 3)
    finish_folder(under_way, folder, FOUND, "card")
    assert not under_way.exists()
    assert (folder / name).read_bytes() == b"abc"
    assert sorted(p.name for p in folder.iterdir()) == ["README.md", "provenance.json", "topk"]
    assert json.loads((folder / "provenance.json").read_text()) == FOUND
    assert check_folder(str(folder), store, FOUND) == folder
    with pytest.raises(InputError, match="holds an export of other tables"):
        check_folder(str(folder), store, {**FOUND, "tables": {}})


def test_more_than_there_is_room_for_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"bytes are to be copied, and .* are free"):
        begin_folder(tmp_path / "to", FOUND, 1 << 62)


def test_the_provenance_has_tables_with_rows_and_no_place() -> None:
    file = {"name": "topk/part-00000.parquet", "rows": 2, "bytes": 5, "fingerprint": "f"}
    stage = {"started": "a", "finished": "b", "seconds": 1.0, "fingerprint": "f", "counts": {}, "config": {"out": "/x"}}
    run = {
        "tool": "neuron-atlas",
        "schema_version": "1",
        "versions": {},
        "model": {"name": "/home/me/model"},
        "stages": {"topk": {**stage, "identity": {"corpus": "/home/me/a.csv"}}},
        "tables": {"topk": [file, file], "psi/figures": [file]},
    }
    found = provenance(run, ["topk"], ["topk", "neurons", "psi/figures"])
    assert found["tables"] == {"topk": {"rows": 4, "bytes": 10, "fingerprint": "f"}}
    assert "/home" not in json.dumps(found)
    assert "config" not in found["stages"]["topk"]
