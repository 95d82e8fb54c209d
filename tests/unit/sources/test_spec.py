from pathlib import Path

import pytest

from ops.errors import InputError
from ops.sources.source import Source
from ops.sources.spec import parse_source
from tests.unit.sources.files import write


def test_what_is_not_read_from_files_has_none() -> None:
    assert parse_source("pydocs") == Source("pydocs", "pydocs", "pydocs", ())
    source = parse_source("imdb")
    assert (source.dataset, source.kind, source.files) == ("imdb", "hub", ())
    assert parse_source("hf:org/some.set:config:test").dataset == "some.set"
    for spec in ("pydocs", "imdb", "hf:org/set"):
        assert parse_source(f"n={spec}").dataset == "n"


def test_kind_and_dataset_come_from_the_file(tmp_path: Path) -> None:
    for file, dataset, kind in (
        ("a.b.txt", "a.b", "txt"),
        ("x.CSV", "x", "csv"),
        ("x.jsonl.gz", "x", "jsonl"),
        ("x.ndjson.zst", "x", "jsonl"),
        ("x.tsv.gz", "x", "csv"),
        ("x.json.zst", "x", "json"),
        ("x.arrow", "x", "arrow"),
        ("x.parquet", "x", "parquet"),
    ):
        path = write(tmp_path / file)
        assert parse_source(path) == Source(path, dataset, kind, (path,))
    assert parse_source(f"news={path}").dataset == "news"


def test_a_path_with_an_equals_sign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "year=2020" / "x.txt")
    assert parse_source(path).files == (path,)
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "a=b.txt")
    assert parse_source("a=b.txt") == Source("a=b.txt", "a=b", "txt", (str(tmp_path / "a=b.txt"),))
    assert parse_source("n=year=2020/x.txt").dataset == "n"
    assert parse_source("year=2020/*.txt").files == (path,)


def test_a_glob_is_sorted_and_named(tmp_path: Path) -> None:
    paths = [write(tmp_path / "set" / f"part-{number}.txt") for number in (2, 10, 1)]
    assert parse_source(str(tmp_path / "set" / "part-*.txt")).files == tuple(sorted(paths))
    assert parse_source(str(tmp_path / "set" / "part-*.txt")).dataset == "part"
    assert parse_source(str(tmp_path / "set" / "*.txt")).dataset == "set"
    assert parse_source(str(tmp_path / "*" / "*2.txt")).dataset == "part-2"
    assert parse_source(str(tmp_path / "**" / "*.txt")).files == tuple(sorted(paths))


def test_file_uris(tmp_path: Path) -> None:
    for name in ("a 1.txt", "a2.txt", ".a3.txt", "b.csv", "deep/a4.txt"):
        write(tmp_path / name)
    uri = tmp_path.as_uri()
    assert parse_source(f"{uri}/a2.txt").files == (f"{uri}/a2.txt",)
    assert parse_source(f"{uri}/*.txt").files == (f"{uri}/a%201.txt", f"{uri}/a2.txt")
    assert parse_source(f"n={uri}/**/*.txt").files == (
        f"{uri}/a%201.txt",
        f"{uri}/a2.txt",
        f"{uri}/deep/a4.txt",
    )
    assert parse_source(f"{uri}/*.txt").dataset == tmp_path.name


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("x=hf:a", ["x=hf:a", "hf:ORG/NAME"]),
        ("{tmp}/none.txt", ["none.txt", "no such file"]),
        ("{tmp}/*.txt", ["*.txt", "no file matches"]),
        ("{tmp}", ["directory"]),
        ("{tmp}/x.doc", ["x.doc", "no known kind"]),
        ("{tmp}/x.parquet.gz", ["x.parquet.gz", "no known kind"]),
        ("{tmp}/m*", ["several kinds", "csv, txt"]),
        ("={tmp}/x.txt", ["empty"]),
        ("n=", ["no file"]),
        ("", ["no file"]),
        ("nosuch://a/b.txt", ["nosuch://a/b.txt", "cannot be opened", "s3://"]),
        ("file:///nosuchfolder/*.txt", ["/nosuchfolder/"]),
    ],
)
def test_wrong_values_are_named_in_one_line(tmp_path: Path, spec: str, words: list[str]) -> None:
    for name in ("x.doc", "x.parquet.gz", "m.txt", "m.csv"):
        write(tmp_path / name)
    (tmp_path / "m.txt").rename(tmp_path / "mm.txt")
    if spec == "{tmp}/*.txt":
        (tmp_path / "mm.txt").unlink()
    with pytest.raises(InputError) as error:
        parse_source(spec.replace("{tmp}", str(tmp_path)))
    assert "\n" not in str(error.value)
    for word in words:
        assert word in str(error.value)
