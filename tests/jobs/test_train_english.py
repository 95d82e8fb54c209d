import gzip
import json

import pytest
import spacy
from pydantic import ValidationError

from jobs.train_english.job import JOB, TrainEnglishConfig
from jobs.train_english.train import META, check_folder, train
from ops.english import FOLDER
from ops.errors import InputError
from tests.unit.english.small import LINES

TREES = "\n".join(LINES) + "\n"
TAGS = "Go\tVB\nhome\tRB\n\nyes\tUH\n\n"


@pytest.fixture
def files(tmp_path):
    (tmp_path / "a.mrg").write_text(TREES * 4)
    (tmp_path / "b.tags").write_text(TAGS * 4)
    return {
        "train_trees": (tmp_path / "a.mrg",),
        "capped_trees": (tmp_path / "a.mrg",),
        "train_tags": (tmp_path / "b.tags",),
        "dev_trees": (tmp_path / "a.mrg",),
        "test_trees": (tmp_path / "a.mrg",),
        "test_tags": (tmp_path / "b.tags",),
        "capped_sentences": 3,
        "passes": 4,
        "width": 12,
        "hidden": 8,
        "batch_words": 20,
    }


def test_one_call_trains_writes_and_scores(files, tmp_path):
    lines = []
    out = tmp_path / "new" / "out"
    scores = train(TrainEnglishConfig(**files, out=out, sources=("mine",)), lines.append)
    assert set(scores) == {"a.mrg", "b.tags"}
    assert set(scores["a.mrg"]) == {"gold_tokens", "raw_text"}
    nlp = spacy.load(out)
    assert nlp.meta["performance"] == scores
    assert "home" not in nlp.vocab.strings
    assert nlp.meta["sources"] == ["mine"]
    assert next(nlp("hello there").sents)._.parse_string.startswith("(ROOT ")
    record = json.loads((out / "training.json").read_text())
    assert [row["pass"] for row in record["curve"]] == [1, 2, 3, 4]
    assert str(tmp_path) not in (out / "training.json").read_text()
    assert len(lines) == 1 + 4 + 4


@pytest.mark.slow
def test_the_seed_decides(files, tmp_path):
    weights = []
    for place, seed in enumerate((0, 0, 1)):
        out = tmp_path / str(place)
        train(TrainEnglishConfig(**files, out=out, seed=seed), lambda line: None)
        weights.append((out / "tok2vec" / "model").read_bytes())
    assert weights[0] == weights[1] != weights[2]


@pytest.mark.slow
def test_evaluate_only_scores_what_is_there(files, command):
    tags = files["test_tags"][0]
    done = command("train_english", "--evaluate-only", "--test-tags", tags, tags)
    assert done.returncode == 0, done.stderr
    assert "b.tags gold_tokens: tag_accuracy" in done.stdout
    assert "pass" not in done.stdout


def test_wrong_calls_are_refused(files, tmp_path):
    with pytest.raises(InputError, match="train-trees"):
        train(TrainEnglishConfig(out=tmp_path))
    with pytest.raises(InputError, match=r"none\.mrg"):
        train(TrainEnglishConfig(**files | {"train_trees": (tmp_path / "none.mrg",)}, out=tmp_path / "out"))
    with pytest.raises(ValidationError, match="passes"):
        TrainEnglishConfig(passes=0)


@pytest.mark.parametrize("held", [None, "{}", '{"name": "en_core_web_sm"}', "no JSON", "[1]"])
def test_what_is_not_ours_is_refused_before_the_training(files, tmp_path, held):
    out = tmp_path / "out"
    out.mkdir()
    if held is not None:
        (out / "meta.json").write_text(held)
    (out / "config.cfg").write_text("mine")
    with pytest.raises(InputError, match="out: holds other files than a pipeline of this job; name a new or empty"):
        train(TrainEnglishConfig(**files, out=out), lambda line: pytest.fail("it trains"))
    assert (out / "config.cfg").read_text() == "mine"


def test_a_rate_that_is_too_high_is_one_line(files, tmp_path):
    with pytest.raises(InputError, match=r"--rate 1e\+14: the training diverges; give a lower one"):
        train(TrainEnglishConfig(**files, out=tmp_path / "out", rate=1e14), lambda line: None)
    assert not (tmp_path / "out" / "meta.json").exists()


def test_a_file_is_no_folder_for_a_pipeline(files, tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for out in (tmp_path / "a.mrg", tmp_path / "a.mrg" / "out", tmp_path / "link"):
        with pytest.raises(InputError, match=f"--out {out}: .* is not a folder"):
            train(TrainEnglishConfig(**files, out=out), lambda line: pytest.fail("it trains"))


def test_new_empty_and_earlier_folders_are_taken(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "earlier").mkdir()
    (tmp_path / "earlier" / "meta.json").write_text(json.dumps(META))
    for name in ("new", "new/deeper", "empty", "earlier"):
        check_folder(tmp_path / name)
    check_folder(FOLDER)


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("a.mrg", LINES[0].encode() + b"\n(ROOT (NN caf\xe9))\n", "a.mrg, line 2: has bytes that are not UTF-8"),
        ("a.mrg.gz", b"no gzip", "a.mrg.gz: cannot be read"),
        ("a.mrg.gz", gzip.compress(TREES.encode())[:-9], "a.mrg.gz: cannot be read"),
        ("a.mrg", LINES[0].encode(), "1 tree: no tag occurs 3 times; give files with more trees"),
        ("a.mrg", b"(ROOT (NN a))\n" * 3, "3 trees: no phrase occurs 3 times"),
    ],
)
def test_a_treebank_that_cannot_be_trained_on_is_one_line(tmp_path, name, data, said, capsys):
    (tmp_path / name).write_bytes(data)
    assert JOB.main(["--train-trees", str(tmp_path / name), "--out", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_narrower_pipeline_is_taken_from_a_teacher(files, tmp_path):
    teacher = tmp_path / "teacher"
    train(TrainEnglishConfig(**files, out=teacher), lambda line: None)
    narrow = files | {"hidden": 4, "passes": 1, "teacher": teacher, "own_trees": 0.0}
    train(TrainEnglishConfig(**narrow, out=tmp_path / "out"), lambda line: None)
    nlp = spacy.load(tmp_path / "out")
    assert next(nlp("hello there").sents)._.parse_string.startswith("(ROOT ")
    assert nlp.get_pipe("tagger").labels == spacy.load(teacher).get_pipe("tagger").labels
    record = json.loads((tmp_path / "out" / "training.json").read_text())
    assert (record["config"]["hidden"], record["teacher"]["config"]["hidden"]) == (4, 8)
    assert str(tmp_path) not in (tmp_path / "out" / "training.json").read_text()

    for changes, found in (
        ({"width": 13}, "its width is 12, expected 13 as --width has it"),
        ({"layers": 1}, "its layers is 2, expected 1 as --layers has it"),
        ({"hidden": 9}, "its hidden size is 8, expected 9 or more; lower --hidden"),
        ({"teacher": tmp_path / "none"}, "holds no spaCy pipeline"),
    ):
        with pytest.raises(InputError, match=found):
            train(TrainEnglishConfig(**narrow | changes, out=tmp_path / "out"), lambda line: None)
