"""Wrong calls: one clear line that names the thing, exit status 2, and nothing lost or half-written."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    (folder / "good.txt").write_text("The cat sat on the mat.\nA dog ran over the green hill.\n")
    (folder / "three.txt").write_text(": family\nman woman king\n")
    (folder / "empty.txt").write_text("")
    (folder / "short.txt").write_text("Hm\n\n")
    (folder / "no_text.csv").write_text("body,author\nhello there my friend,me\n")
    (folder / "marks.csv").write_text("body;author\nhello there my friend;me\n")
    (folder / "nobody.jsonl").write_text(json.dumps({"messages": [{"content": "hello there my friend"}] * 2}) + "\n")
    (folder / "wide.jsonl").write_text(
        json.dumps({"text": "hello there my friend"} | {f"k{i:03d}": i for i in range(201)}) + "\n"
    )
    (folder / "broken.jsonl").write_text('{"text": "A good line of text stands here."}\n{"text": "half a li\n')
    table = pa.table({"text": ["A sentence of some words."] * 5000})
    pq.write_table(table, folder / "whole.parquet")
    data = (folder / "whole.parquet").read_bytes()
    (folder / "cut.parquet").write_bytes(data[: len(data) // 2])
    (folder / "number.parquet").mkdir()
    pq.write_table(pa.table({"text": [1, 2]}), folder / "ints.parquet")
    (folder / "bad.yaml").write_text("kk: 3\n")
    (folder / "wrong.yaml").write_text("k: many\n")
    (folder / "foreign").mkdir()
    (folder / "foreign" / "thesis.tex").write_text("mine")
    (folder / "nomodel").mkdir()
    (folder / "nomodel" / "config.json").write_text(json.dumps({"model_type": "bert"}))
    return folder


CASES = {
    "missing file": ("run", ["--corpus", "{f}/none.txt"], "none.txt"),
    "glob of nothing": ("run", ["--corpus", "{f}/*.tsv"], "*.tsv"),
    "no text column": ("run", ["--corpus", "{f}/no_text.csv"], "text-column"),
    "no text column, other delimiter": ("run", ["--corpus", "{f}/marks.csv"], "between ';'"),
    "delimiter of one column": ("run", ["--corpus", "{f}/marks.csv", "--delimiter", "|"], "gives one column"),
    "delimiter of no file": ("run", ["--corpus", "{f}/good.txt", "--delimiter", ";"], "no source is a CSV file"),
    "paragraphs of no text": ("run", ["--corpus", "{f}/no_text.csv", "--paragraphs"], "no source is a .txt file"),
    "messages by nobody": (
        "run",
        ["--corpus", "{f}/nobody.jsonl"],
        "gave no sentence (2 rows read, rejected: 2 no_role)",
    ),
    "small windows": ("run", ["--corpus", "{f}/good.txt", "--split", "tokens:7"], "a window has at least 8 tokens"),
    "large windows": ("run", ["--corpus", "{f}/good.txt", "--split", "tokens:511"], "give tokens:510 or fewer"),
    "windows of no number": (
        "run",
        ["--corpus", "{f}/good.txt", "--split", "tokens:N"],
        "--split 'tokens:N': should be",
    ),
    "windows of paragraphs": (
        "run",
        ["--corpus", "{f}/good.txt", "--split", "tokens:9", "--paragraphs"],
        "--paragraphs removes",
    ),
    "a mixture of formats": ("run", ["--corpus", "{f}/*o*.[tc]*"], "files of several kinds (csv, txt)"),
    "truncated parquet": ("run", ["--corpus", "{f}/cut.parquet"], "cut.parquet"),
    "text is no text": ("run", ["--corpus", "{f}/ints.parquet"], "int64"),
    "over 200 keys": ("run", ["--corpus", "{f}/wide.jsonl"], "wide.jsonl: has more than 200 metadata keys (k000, "),
    "no sentence": ("run", ["--corpus", "{f}/short.txt"], "short.txt"),
    "empty source": ("run", ["--corpus", "{f}/empty.txt"], "empty.txt"),
    "broken in the middle": ("run", ["--corpus", "{f}/broken.jsonl"], "broken.jsonl"),
    "hub not to be reached": ("run", ["--corpus", "imdb"], "--corpus imdb: the Hugging Face hub cannot be reached"),
    "no form of the hub": ("run", ["--corpus", "hf:imdb"], "hf:ORG/NAME"),
    "no corpus": ("topk", [], "corpus"),
    "unknown flag": ("run", ["--corpus", "{f}/good.txt", "--kk", "3"], "--kk"),
    "unknown key": ("run", ["--corpus", "{f}/good.txt", "--config", "{f}/bad.yaml"], "kk"),
    "wrong value in the file": ("run", ["--corpus", "{f}/good.txt", "--config", "{f}/wrong.yaml"], "k 'many'"),
    "no such choice": ("run", ["--corpus", "{f}/good.txt", "--site", "heads"], "--site"),
    "more neighbours than a table counts": (
        "meaning",
        ["--corpus", "{f}/good.txt", "--hash-neighbours", "100000000000000"],
        "--hash-neighbours",
    ),
    "model not available": ("run", ["--corpus", "{f}/good.txt", "--model", "nobody/nothing"], "sample"),
    "model directory missing": ("run", ["--corpus", "{f}/good.txt", "--model", "./no/such/model"], "./no/such/model"),
    "model without weights": ("run", ["--corpus", "{f}/good.txt", "--model", "{f}/nomodel"], "nomodel"),
    "random weights of no model": (
        "run",
        ["--corpus", "{f}/good.txt", "--model", "random:"],
        "--model random:: names no model",
    ),
    "cls without special tokens": (
        "run",
        ["--corpus", "{f}/good.txt", "--pool", "cls", "--special-tokens", "exclude"],
        "--pool cls",
    ),
    "no such pipeline": ("run", ["--corpus", "{f}/good.txt", "--pipeline", "en_nothing"], "english"),
    "no such neuron": ("run", ["--corpus", "{f}/good.txt", "--units", "9:1"], "--units 9:1: there is no such neuron"),
    "a neuron by one number": ("run", ["--corpus", "{f}/good.txt", "--units", "17"], "expected LAYER:UNIT"),
    "ingest option alone": ("topk", ["--limit", "5"], "--limit"),
    "longer than the model takes": ("mixing", ["--corpus", "{f}/good.txt", "--pack", "1000"], "--pack 1000"),
    "no such variant": ("positions", ["--corpus", "{f}/good.txt", "--variants", "none,noone"], "--variants noone"),
    "a mask for an encoder": ("positions", ["--corpus", "{f}/good.txt", "--variants", "none_alibi"], "none_alibi"),
    "shifted out of the table": ("positions", ["--corpus", "{f}/good.txt", "--shift", "512"], "--shift 512"),
    "start token of an encoder": ("positions", ["--corpus", "{f}/good.txt", "--start-token"], "--start-token"),
    "no such share": ("mixing", ["--corpus", "{f}/good.txt", "--mask-rate", "1.5"], "--mask-rate"),
    "an arithmetic of GPUs": ("topk", ["--corpus", "{f}/good.txt", "--device", "cpu", "--dtype", "tf32"], "on a CPU"),
    "half precision in psi": ("psi", ["--corpus", "{f}/good.txt", "--dtype", "bfloat16"], "psi subtracts"),
    "half precision in mixing": ("mixing", ["--corpus", "{f}/good.txt", "--dtype", "float16"], "mixing subtracts"),
    "no such part": ("meaning", ["--corpus", "{f}/good.txt", "--parts", "counts,offset"], "no part 'offset'"),
    "part without its data": ("meaning", ["--corpus", "{f}/good.txt", "--parts", "offsets"], "--parts counts,offsets"),
    "three words of a question": (
        "meaning",
        ["--corpus", "{f}/good.txt", "--analogies", "{f}/three.txt"],
        "three.txt: line 2 has 3 words",
    ),
    "no such layer": ("meaning", ["--corpus", "{f}/good.txt", "--parts", "hashing", "--hash-layer", "9"], "6 layers"),
    "no file of context words": ("meaning", ["--corpus", "{f}/good.txt", "--context-words", "{f}/none"], "none"),
}


# These start Python as a user does; all others are called in this process.
AS_A_USER = ("missing file", "unknown flag")
# These are called with --dry-run too, which goes the same way: a source, an option, a model, a neuron, a part.
ALSO_DRY = (
    "truncated parquet",
    "wrong value in the file",
    "random weights of no model",
    "no such neuron",
    "no such part",
)


@pytest.mark.parametrize("case", CASES)
def test_one_line_and_status_2(command: Command, call: Command, files: Path, tmp_path: Path, case: str) -> None:
    job, options, named = CASES[case]
    given = "--out", tmp_path / "out", *(o.replace("{f}", str(files)) for o in options)
    done = (command if case in AS_A_USER else call)(job, *given)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr + done.stdout
    last = done.stderr.rstrip().splitlines()[-1]
    assert last.startswith("error: ")
    assert named in last
    for table in ("corpus", "topk", "sentences", "patterns"):
        assert not list((tmp_path / "out" / table).glob("*")), f"of {table}/ something is left"
    if case in ALSO_DRY:
        dry = call(job, *given[:1], tmp_path / "dry", *given[2:], "--dry-run")
        said = dry.stderr.rstrip().splitlines()[-1].replace(str(tmp_path / "dry"), str(tmp_path / "out"))
        assert (dry.returncode, said) == (2, last)
        assert not (tmp_path / "dry").exists()


@pytest.mark.parametrize("dry", [(), ("--dry-run",)])
@pytest.mark.parametrize(
    ("out", "named"), [("foreign", "thesis.tex"), ("good.txt", "good.txt"), ("/proc/atlas", "/proc/atlas")]
)
def test_an_out_that_is_no_folder_for_a_run_is_left_alone(
    call: Command, files: Path, out: str, named: str, dry: tuple[str, ...]
) -> None:
    done = call("run", "--out", files / out, "--corpus", files / "good.txt", *dry)
    assert done.returncode == 2
    assert named in done.stderr.splitlines()[-1]
    assert [p.name for p in (files / "foreign").iterdir()] == ["thesis.tex"]
    assert (files / "good.txt").read_text().startswith("The cat")


def test_out_is_missing(call: Command, files: Path) -> None:
    done = call("run", "--corpus", files / "good.txt")
    assert done.returncode == 2
    assert "--out" in done.stderr.splitlines()[-1]


def test_other_options_are_refused_by_name_and_nothing_is_lost(call: Command, files: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = call("ingest", "--out", out, "--corpus", files / "good.txt")
    assert first.returncode == 0, first.stderr
    before = pq.read_table(out / "corpus")
    other = ("ingest", "--out", out, "--corpus", files / "whole.parquet", "--split", "none", "--seed", "3")
    done = call(*other)
    assert done.returncode == 2
    last = done.stderr.splitlines()[-1]
    assert all(key in last for key in ("corpus", "split", "seed", "--redo"))
    assert pq.read_table(out / "corpus").equals(before)
    again = call(*other, "--redo")
    assert again.returncode == 0, again.stderr
    assert pq.read_table(out / "corpus")["n_copies"].to_pylist() == [5000]


def test_reject_records_the_broken_place_and_goes_on(call: Command, files: Path, tmp_path: Path) -> None:
    done = call("ingest", "--out", tmp_path / "out", "--corpus", files / "broken.jsonl", "--on-error", "reject")
    assert done.returncode == 0, done.stderr
    assert pq.read_table(tmp_path / "out" / "corpus").num_rows == 1
    assert [r["reason"] for r in pq.read_table(tmp_path / "out" / "rejects").to_pylist()] == ["broken"]


def test_show_says_what_is_missing(call: Command, files: Path, tmp_path: Path) -> None:
    call("ingest", "--out", tmp_path / "out", "--corpus", files / "good.txt")
    for out, neuron, named in (("none", "1:0", "run.json"), ("out", "1:0", "atlas topk"), ("out", "one", "--neuron")):
        done = call("show", "--out", tmp_path / out, "--neuron", neuron)
        assert done.returncode == 2
        assert named in done.stderr.splitlines()[-1]
    assert not (tmp_path / "none").exists()


def test_the_list_of_jobs_and_help(command: Command) -> None:
    listed = command("")
    assert listed.returncode == 0
    assert all(job in listed.stdout for job in ("ingest", "topk", "annotate", "mine", "run", "show"))
    described = command("topk", "--help")
    assert described.returncode == 0
    assert "--activation-sample" in described.stdout
