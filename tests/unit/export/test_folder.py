"""The folder of an export: complete or known as not, and nothing in it is touched that export did not write."""

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ops.errors import InputError
from ops.export.folder import Export, check_folder, provenance
from ops.export.manifest import CARD, MANIFEST, PROVENANCE, UNDER_WAY, check_listed
from ops.storage.lock import LOCK, Lock
from ops.storage.store import Store
from tests.unit.export.small_export import CORPUS, TOPK, SmallRun, export, files, write_export


@pytest.fixture
def run(tmp_path: Path) -> SmallRun:
    return SmallRun(tmp_path / "run")


@pytest.fixture
def to(tmp_path: Path) -> Path:
    return tmp_path / "to"


def said(run: SmallRun, to: Path | str, **more: Any) -> str:
    """The one line by which an export is refused."""
    with pytest.raises(InputError) as found:
        export(run, to, **more)
    assert "\n" not in str(found.value)
    return str(found.value)


def listed_files(to: Path, names: set[str]) -> dict[str, Any]:
    """The list of an export, which names these files, each with its size and hash."""
    found = files(to)
    listed: dict[str, Any] = json.loads(found.pop(MANIFEST))
    assert found.keys() == names
    assert {f["name"]: (f["bytes"], f["sha256"]) for f in listed["files"]} == {
        name: (len(data), hashlib.sha256(data).hexdigest()) for name, data in found.items()
    }
    return listed


def test_the_list_names_every_file_with_its_size_and_hash(run: SmallRun, to: Path) -> None:
    assert not export(run, to).edited
    listed, found = listed_files(to, {CARD, PROVENANCE, CORPUS, TOPK}), files(to)
    assert (found[CORPUS], found[TOPK]) == (b"a corpus", b"the top")
    assert listed["run"] == {"model": "m", "stages": {"topk": "t"}}
    assert (listed["tool"], listed["version"]) == ("neuron-atlas", "1.0")
    assert {f["name"]: f.get("fingerprint") for f in listed["files"]}[TOPK] == "topk"
    assert check_listed(to, "--to to") == [*sorted(found.keys() - {MANIFEST}), MANIFEST]


def test_again_writes_nothing_but_what_is_missing_unless_the_export_is_to_be_complete(run: SmallRun, to: Path) -> None:
    export(run, to)
    before = {p: p.stat().st_mtime_ns for p in to.rglob("*") if p.is_file()}
    assert export(run, to).bytes == 0
    assert {p: p.stat().st_mtime_ns for p in to.rglob("*") if p.is_file()} == before
    (to / TOPK).unlink()
    assert f"--to {to}: missing: {TOPK}" in said(run, to, complete=True)
    with pytest.raises(InputError, match=TOPK):
        check_listed(to, "--to to")
    assert not (to / TOPK).exists()
    assert export(run, to).bytes == len(b"the top")
    check_listed(to, "--to to")


def export_and_change(run: SmallRun, to: Path) -> None:
    """Export a run, then replace one of its tables, remove another one and add a third."""
    run.write("patterns", b"one", b"two")
    run.write("psi/tokens", b"three")
    export(run, to)
    run.write("patterns", b"another", fingerprint="other")
    del run.tables["psi/tokens"]
    run.write("mixing/norms", b"new")


def test_an_export_follows_its_run(run: SmallRun, to: Path) -> None:
    export_and_change(run, to)
    assert export(run, to, card="another card").bytes == len(b"another") + len(b"new")
    found = files(to)
    assert found[CARD] == b"another card"
    assert {name: data for name, data in found.items() if "/" in name} == run.files()
    assert {p.name for p in to.iterdir()} == {CARD, PROVENANCE, MANIFEST, "corpus", "topk", "patterns", "mixing"}
    check_listed(to, "--to to")


def test_an_edited_card_stays(run: SmallRun, to: Path) -> None:
    export(run, to)
    (to / CARD).write_text("mine")
    run.write("patterns", b"new")
    for card in ("a card", "another card"):
        assert export(run, to, card=card).edited
        assert (to / CARD).read_text() == "mine"
        assert CARD in check_listed(to, "--to to")
    (to / CARD).unlink()
    assert not export(run, to, complete=True).edited
    assert (to / CARD).read_text() == "a card"


def test_a_changed_file_is_named_and_stays(run: SmallRun, to: Path) -> None:
    run.write("patterns", b"one", b"two", b"three", b"four")
    export(run, to)
    for change in (TOPK, PROVENANCE):
        kept = (to / change).read_bytes()
        (to / change).write_bytes(kept[:-1] + b"!")
        assert f"--to {to}: not as export wrote it: {change}" in said(run, to)
        with pytest.raises(InputError, match=change):
            check_listed(to, "--to to")
        assert (to / change).read_bytes() == kept[:-1] + b"!"
        (to / change).write_bytes(kept)
    # Those that the run has no more are removed only as they were written.
    del run.tables["patterns"]
    for path in (to / "patterns").iterdir():
        path.write_bytes(b"mine")
    assert "not as export wrote them: patterns/part-00000.parquet, " in said(run, to)
    assert len(list((to / "patterns").iterdir())) == 4


def put(path: Path, held: str = "mine") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(held)


FOREIGN: dict[str, Callable[[Path], object]] = {
    ".env": lambda to: put(to / ".env", "SECRET=1"),
    ".git": lambda to: put(to / ".git" / "config"),
    "empty": lambda to: (to / "empty").mkdir(parents=True),
    "topk/part-00001.parquet": lambda to: put(to / "topk" / "part-00001.parquet"),
    "topk/.part-00000.parquet.0123456789ab": lambda to: put(to / "topk" / ".part-00000.parquet.0123456789ab"),
    ".under-way/mine": lambda to: put(to / UNDER_WAY / "mine"),
    "_lock.json": lambda to: put(to / LOCK, '{"mine": 1}'),
    "a link": lambda to: (to / "a link").symlink_to(to.parent),
    "a pipe": lambda to: os.mkfifo(to / "a pipe"),
    "a\\nb": lambda to: put(to / "a\nb"),
    "\\udcff": lambda to: put(to / os.fsdecode(b"\xff")),
    "corpus": lambda to: (shutil.rmtree(to / "corpus", True), (to / "corpus").symlink_to(to.parent / "run" / "corpus")),
}


@pytest.mark.parametrize("name", FOREIGN)
@pytest.mark.parametrize("exported", [True, False])
def test_what_export_did_not_write_is_named_and_stays(run: SmallRun, to: Path, name: str, exported: bool) -> None:
    to.mkdir()
    if exported:
        export(run, to)
    FOREIGN[name](to)
    before = files(to)
    names = sorted(os.listdir(to))
    found = said(run, to)
    assert f"--to {to}: holds other files" in found
    assert f"({name})" in found or not exported
    assert files(to) == before
    assert sorted(os.listdir(to)) == names
    if exported:
        with pytest.raises(InputError, match="holds other files"):
            check_listed(to, "--to to")


@pytest.mark.parametrize("held", ["{", "[]", '{"tool": "other", "files": []}', "[" * 100_000, "a pipe"])
def test_a_list_of_others_is_theirs(run: SmallRun, to: Path, held: str) -> None:
    to.mkdir()
    if held == "a pipe":
        os.mkfifo(to / MANIFEST)
    else:
        (to / MANIFEST).write_text(held)
    assert f"holds other files ({MANIFEST})" in said(run, to)


@pytest.mark.parametrize(
    "entry",
    [
        {"name": "../victim", "bytes": 4, "sha256": hashlib.sha256(b"mine").hexdigest()},
        {"name": "/victim", "bytes": 4},
        {"name": ".env", "bytes": 4},
        {"name": MANIFEST, "bytes": 4},
        {"name": "a", "bytes": "4"},
        "a",
    ],
)
def test_a_list_that_names_what_no_export_has_is_none(run: SmallRun, to: Path, entry: Any) -> None:
    """Files are removed and uploaded by these names."""
    victim = to.parent / "victim"
    victim.write_bytes(b"mine")
    export(run, to)
    listed = json.loads((to / MANIFEST).read_text())
    listed["files"].append(entry)
    (to / MANIFEST).write_text(json.dumps(listed))
    assert "holds other files" in said(run, to)
    assert victim.read_bytes() == b"mine"


def test_a_link_to_a_folder_is_that_folder(run: SmallRun, to: Path) -> None:
    real = to.parent / "real"
    real.mkdir()
    to.symlink_to(real)
    export(run, to)
    assert to.is_symlink()
    assert {CARD, PROVENANCE, MANIFEST, CORPUS, TOPK} == files(real).keys()
    run.write("patterns", b"new")
    export(run, to)
    check_listed(real, "--to to")


def test_what_is_no_folder_is_refused_and_nothing_is_touched(
    run: SmallRun, to: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(to.parent))
    assert check_folder("~/to", run.store) == to.resolve()
    (to.parent / "nowhere").symlink_to(to.parent / "none")
    (to.parent / "circle").symlink_to(to.parent / "circle")
    (to.parent / "file").write_text("mine")
    (to.parent / "inside").symlink_to(run.folder)
    os.mkfifo(to.parent / "pipe")
    for names, why in (
        (("nowhere", "circle"), "is a broken link"),
        (("circle/new", "file/new", "x" * 300), "cannot be read and written"),
        (("file", "pipe"), "is a file"),
        (("inside", "inside/new", "run", "run/../run/topk"), "is inside the run's own folder"),
    ):
        for name in names:
            assert f"--to {to.parent}/{name}: {why}" in said(run, to.parent / name)
    assert "not a path on this machine" in said(run, "s3://bucket/key")
    assert "--to is missing" in said(run, "")
    assert sorted(os.listdir(to.parent)) == ["circle", "file", "inside", "nowhere", "pipe", "run"]
    assert {str(p) for p in files(run.folder)} == {CORPUS, TOPK}


def test_more_than_there_is_room_for_is_refused(run: SmallRun, to: Path) -> None:
    run.tables["topk"][0]["bytes"] = 1 << 62
    assert "bytes are to be copied, but only" in said(run, to)
    assert not to.exists(), "nothing is left of it"


def test_a_run_that_changes_meanwhile_is_refused(run: SmallRun, to: Path) -> None:
    for change in (lambda p: p.write_bytes(b"another top"), Path.unlink):
        change(run.folder / TOPK)
        assert f"{TOPK} changed while it was copied" in said(run, to)
        assert not (to / MANIFEST).exists()
    run.write("topk", b"the top")
    export(run, to)
    check_listed(to, "--to to")


def test_a_folder_that_another_export_holds_is_refused(
    run: SmallRun, to: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    to.mkdir()
    held = Lock(Store(str(to)), "export")
    held.take()
    monkeypatch.setattr("ops.storage.lock._is_gone", lambda held: False)
    # Files that the other export writes meanwhile are not mistaken for foreign ones.
    (to / "topk").mkdir()
    assert f"--to {to}: another job holds this folder: export, process {os.getpid()}" in said(run, to)
    monkeypatch.undo()
    held.release()
    (to / "topk").rmdir()
    export(run, to)
    assert not (to / LOCK).exists()


class Killed(BaseException):
    pass


def killed_at(step: int, do: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> bool:
    """Do something, and end it before the step of this number that changes the disk; tell whether it came so far."""
    steps = 0

    def counted(real: Callable[..., object]) -> Callable[..., object]:
        def call(*args: Any, **more: Any) -> object:
            nonlocal steps
            if steps == step:
                raise Killed
            steps += 1
            return real(*args, **more)

        return call

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", counted(os.replace))
        patch.setattr(Store, "delete", counted(Store.delete))
        patch.setattr(Path, "rmdir", counted(Path.rmdir))
        try:
            do()
        except Killed:
            return True
    return False


def do_export(run: SmallRun, to: Path, card: str) -> None:
    """Export without the lock, whose release is no part of a killed process."""
    to.mkdir(exist_ok=True)
    made = Export(Store(str(to)), str(to), run.contents(card))
    made.copy(run.store, lambda size: None)
    made.finish()


@pytest.mark.parametrize(("edited", "again"), [(False, None), (True, 6)])
def test_a_killed_export_is_never_taken_for_complete_and_is_resumed(
    run: SmallRun, to: Path, edited: bool, again: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At each step that changes the disk, of an export that replaces, removes and adds files; some ended twice."""
    export_and_change(run, to)
    if edited:
        (to / CARD).write_text("mine")
    shutil.copytree(to, to.parent / "before")
    step, came_so_far = 0, True
    while came_so_far:
        shutil.rmtree(to)
        shutil.copytree(to.parent / "before", to)
        came_so_far = killed_at(step, lambda: do_export(run, to, "another card"), monkeypatch)
        if again is not None:
            killed_at(again, lambda: do_export(run, to, "another card"), monkeypatch)
        if (to / MANIFEST).exists() and not (to / UNDER_WAY / MANIFEST).exists():
            check_listed(to, "--to to")
        else:
            with pytest.raises(InputError, match="the export is not complete"):
                check_listed(to, "--to to")
        # As long as the previous list is there, so are its tables.
        if (to / MANIFEST).exists() and again is None and step < 5:
            assert files(to.parent / "before").items() <= files(to).items()
        export(run, to, "another card")
        listed = check_listed(to, "--to to")
        assert {*listed} == files(to).keys() == run.files().keys() | {CARD, PROVENANCE, MANIFEST}
        assert {name: data for name, data in files(to).items() if "/" in name} == run.files()
        assert (to / CARD).read_text() == ("mine" if edited else "another card")
        assert sorted(p.name for p in to.iterdir() if p.is_dir()) == ["corpus", "mixing", "patterns", "topk"]
        step += 1
    assert step > 15


def test_the_provenance_has_tables_with_rows_and_no_place() -> None:
    file = {"name": "topk/part-00000.parquet", "rows": 2, "bytes": 5, "fingerprint": "f"}
    stage = {"started": "a", "finished": "b", "seconds": 1.0, "fingerprint": "f", "counts": {}, "config": {"out": "/x"}}
    run = {"tool": "neuron-atlas", "schema_version": "1", "versions": {}, "model": {"name": "/home/me/model"}}
    run |= {"stages": {"topk": {**stage, "identity": {"corpus": "/home/me/a.csv"}}}}
    run |= {"tables": {"topk": [file, file], "psi/figures": [file]}}
    found = provenance(run, ["topk"], ["topk", "neurons", "psi/figures"])
    assert found["tables"] == {"topk": {"rows": 4, "bytes": 10, "fingerprint": "f"}}
    assert "/home" not in json.dumps(found)
    assert "config" not in found["stages"]["topk"]


TEXTS = {"a/one": "1", "a/two": "22", "three": "333"}


def test_written_files_are_listed_and_are_not_written_again(run: SmallRun, to: Path) -> None:
    assert write_export(run, to, TEXTS).files == 3
    assert {name: data.decode() for name, data in files(to).items() if name in TEXTS} == TEXTS
    assert listed_files(to, {CARD, PROVENANCE, *TEXTS})["format"] == "delphi"
    assert write_export(run, to, dict.fromkeys(TEXTS, "another text of the same run")).files == 0
    assert {name: (to / name).read_text() for name in TEXTS} == TEXTS
    (to / "three").unlink()
    assert write_export(run, to, TEXTS).files == 1


def test_other_options_replace_the_files_and_remove_those_that_are_no_more(run: SmallRun, to: Path) -> None:
    write_export(run, to, TEXTS)
    assert write_export(run, to, {"a/one": "other"}, units=["1:0"]).files == 1
    assert {name: data for name, data in files(to).items() if name not in (MANIFEST, CARD, PROVENANCE)} == {
        "a/one": b"other"
    }
    assert check_listed(to, "--to to")


def test_another_format_and_another_run_are_refused(run: SmallRun, to: Path) -> None:
    write_export(run, to, TEXTS)
    before = files(to)
    for form, topk, why in (("neuronpedia", "t", "delphi, not neuronpedia"), ("delphi", "other", "of another run")):
        with pytest.raises(InputError, match=f"--to {to}: holds an export .*{why}"):
            write_export(run, to, TEXTS, form, topk)
    assert "delphi, not hub" in said(run, to)
    assert files(to) == before
    hub = to.parent / "hub"
    export(run, hub)
    before = files(hub)
    with pytest.raises(InputError, match="hub, not delphi"):
        write_export(run, hub, TEXTS)
    run.write("topk", b"the top", fingerprint="of another run")
    assert "holds an export of other tables" in said(run, hub)
    assert files(hub) == before
