"""The folder in which commands are run: models, finished runs, foreign files, and what a command may change."""

import json
import os
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path
from random import Random

from tests.all_jobs import find_jobs
from tests.fuzz.corpora import as_jsonl, ordinary_rows
from tests.fuzz.models import make_models
from tests.fuzz.perform import Command, perform

State = dict[str, tuple[int, ...]]

SMALL = ["--workers", "1", "--k", "4", "--shard-size", "30", "--activation-sample", "40", "--split", "none"]
TREES = """(ROOT (S (NP (DT The) (NN cat)) (VP (VBZ sees) (NP (DT a) (NN dog))) (. .)))
(ROOT (S (NP (NNS Birds)) (VP (VBP fly)) (. .)))
"""
TAGS = "The\tDT\ncat\tNN\nsees\tVBZ\n.\t.\n\nBirds\tNNS\nfly\tVBP\n.\t.\n\n"
# Finished runs from which a chain may start: the model, and what each job is given besides.
RUNS: dict[str, tuple[str, tuple[tuple[str, ...], ...]]] = {
    "ingested": ("bert", (("ingest",),)),
    "scored": ("bert", (("topk",),)),
    "mined": ("bert", (("run", "--no-scores", "--top", "3"),)),
    "decoded": ("gpt2", (("run", "--no-scores", "--no-tokens"),)),
    "measured": (
        "heads",
        (
            ("run", "--top", "2"),
            ("psi", "--clusters", "5", "--cluster-seeds", "2"),
            ("mixing", "--per-token"),
            ("positions", "--shift", "5", "--label", "topic"),
            ("outputs", "--sentences", "20", "--random", "19", "--check", "3", "--check-sentences", "2"),
            ("finetune", "--label", "topic", "--epochs", "1", "--checkpoint-steps", "3"),
            ("compare", "--permutations", "10", "--rotations", "2", "--nearest", "2", "--group-count", "3",
             "--group-range", "2", "--diversity-clusters", "2", "--figure-units", "2:9"),
            ("report", "--best", "2", "--winners", "4"),
        ),
    ),
    "meant": (
        "heads",
        (
            ("meaning", "--min-count", "2", "--context-words", "20", "--dimensions", "6", "--epochs", "1",
             "--confusion-most", "100", "--confusion-states", "100", "--sentence-pairs", "20",
             "--masked-sentences", "20", "--translations", "10", "--hashed-sentences", "100", "--hash-neighbours", "3"),
        ),
    ),
}  # fmt: skip


@dataclass(frozen=True)
class World:
    """The folder and its parts.

    Attributes:
        root: all of it.
    """

    root: Path

    @property
    def models(self) -> Path:
        """A folder for each model of `tests.fuzz.models`."""
        return self.root / "models"

    @property
    def runs(self) -> Path:
        """A folder for each finished run of `RUNS`."""
        return self.root / "runs"

    @property
    def files(self) -> Path:
        """Foreign files that options may name, and a good corpus."""
        return self.root / "files"

    @property
    def case(self) -> Path:
        """What is made for one chain of commands, and removed with it."""
        return self.root / "case"

    @property
    def home(self) -> Path:
        """The home of whom the commands are given by."""
        return self.root / "home"

    def make(self) -> None:
        """Make all but the finished runs, which are made when they are first asked for."""
        for folder in (self.runs, self.files, self.home, self.root / "tmp", self.root / "caches"):
            folder.mkdir(parents=True)
        (self.home / "notes.txt").write_text("mine\n")
        (self.files / "corpus.jsonl").write_bytes(as_jsonl(ordinary_rows(Random(0), 110)))
        (self.files / "trees.mrg").write_text(TREES * 4)
        (self.files / "tags.tags").write_text(TAGS * 4)
        (self.files / "broken.mrg").write_bytes(b"(ROOT (S (NP \xff\n")
        (self.files / "one.mrg").write_text(TREES.splitlines()[1] + "\n")
        (self.files / "questions.txt").write_text(
            ": made up\nthe cat a dog\nman woman king queen\ncat dog horse bird\n"
        )
        (self.files / "words.txt").write_text("the\ncat\ndog\nriver\n")
        (self.files / "empty.txt").write_text("")
        (self.files / "bytes.bin").write_bytes(bytes(range(256)))
        foreign = self.files / "foreign"
        foreign.mkdir()
        (foreign / "letter.txt").write_text("not ours\n")
        (foreign / "meta.json").write_text('{"not": "ours"}\n')
        (self.files / "loop").symlink_to(self.files / "loop")
        (self.files / "nowhere").symlink_to(self.root / "nowhere")
        os.mkfifo(self.files / "pipe")
        make_models(self.root / ".models")
        (self.root / ".models").rename(self.models)

    def run(self, name: str) -> Path:
        """Return a finished run, made now if it is not there yet."""
        folder = self.runs / name
        if folder.exists():
            return folder
        model, chain = RUNS[name]
        making = self.runs / f".{name}"
        shutil.rmtree(making, ignore_errors=True)
        # It is made at its place, so that what it says of itself is right; and kept only if all of it was.
        for i, (job, *options) in enumerate(chain):
            fields = find_jobs()[job].options.model_fields
            argv = ["--out", str(making), *options]
            if i == 0:
                argv += ["--corpus", str(self.files / "corpus.jsonl")]
            if "model" in fields and job != "tokens":
                argv += ["--model", str(self.models / model)]
            for flag, value in zip(SMALL[::2], SMALL[1::2], strict=True):
                own = flag[2:].replace("-", "_")
                if own in fields and (i == 0 or flag not in ("--shard-size", "--split")):
                    argv += [flag, value]
            command = Command(job, tuple(argv), self.root, self.variables())
            outcome = perform(find_jobs()[job], command)
            if outcome.status:
                raise RuntimeError(f"the run {name!r} could not be made: {command}\n{outcome.stderr}\n{outcome.trace}")
        making.rename(folder)
        return folder

    def variables(self) -> dict[str, str]:
        """Return the variables that every command has."""
        return {
            "HOME": str(self.home),
            "TMPDIR": str(self.root / "tmp"),
            "ATLAS_CACHE": str(self.root / "caches"),
            "COLUMNS": "100",
        }

    def begin_case(self) -> None:
        """Make an empty folder for a chain of commands."""
        shutil.rmtree(self.case, ignore_errors=True)
        for name in ("cwd", "sources", "options"):
            (self.case / name).mkdir(parents=True)

    def state(self, *changing: Path) -> State:
        """Return what is there outside of some places: each path with its kind, size, times and number.

        The folders in which these places lie are left out: they may be made, and something in them too.
        """
        mine = [self.root / "tmp", self.root / "caches", *changing]
        besides = {str(place) for place in mine}
        above = {str(folder) for place in mine for folder in place.parents}
        found: State = {}
        left = [str(self.root)]
        while left:
            path = left.pop()
            facts = os.lstat(path)
            if path not in above:
                found[path] = (facts.st_mode, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_ino)
            if stat.S_ISDIR(facts.st_mode):
                left += [entry.path for entry in os.scandir(path) if entry.path not in besides]
        return found


def changes(before: State, after: State) -> list[str]:
    """Return in words what differs between two states."""
    gone = [f"{path!r} was removed" for path in before.keys() - after.keys()]
    new = [f"{path!r} was made" for path in after.keys() - before.keys()]
    other = [f"{path!r} was changed" for path in before.keys() & after.keys() if before[path] != after[path]]
    return sorted([*gone, *new, *other], key=lambda line: (-len(line), line))


def copy_run(run: Path, to: Path) -> None:
    """Copy a finished run as a user does."""
    shutil.copytree(run, to)


def damage_run(rng: Random, folder: Path) -> str:
    """Damage a run somewhere, and return what was done."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    file = rng.choice([*files, folder / "run.json"])
    how = rng.choice(("remove", "cut", "empty", "fill", "swap", "key"))
    if how == "remove":
        file.unlink()
    elif how == "cut":
        file.write_bytes(file.read_bytes()[: -max(1, file.stat().st_size // 3)])
    elif how == "empty":
        file.write_bytes(b"")
    elif how == "fill":
        data = bytearray(file.read_bytes())
        at = rng.randrange(max(len(data) - 8, 1))
        data[at : at + 8] = b"\xff" * 8
        file.write_bytes(data)
    elif how == "swap":
        other = rng.choice(files)
        own, its = file.read_bytes(), other.read_bytes()
        file.write_bytes(its)
        other.write_bytes(own)
    else:
        file = folder / "run.json"
        record = json.loads(file.read_text())
        part = rng.choice(("stages", "tables", "tool", "schema_version", "corpus"))
        record[part] = rng.choice((None, {}, [], "x", 1))
        file.write_text(json.dumps(record))
    return f"{how} {file.relative_to(folder)}"
