"""The folder in which commands are run: models, finished runs, other files, and what one case may change."""

import os
import shutil
import stat
from pathlib import Path
from random import Random

from tests.fuzz.sources import FORMATS, damaged, ordinary

State = dict[str, tuple[int, ...]]

TREES = """(ROOT (S (NP (DT The) (NN cat)) (VP (VBZ sees) (NP (DT a) (NN dog))) (. .)))
(ROOT (S (NP (NNS Birds)) (VP (VBP fly)) (. .)))
"""
# Files that options may name, useful ones and others.
FILES: dict[str, bytes] = {
    "trees.mrg": TREES.encode() * 4,
    "tags.tags": b"The\tDT\ncat\tNN\nsees\tVBZ\n.\t.\n\nBirds\tNNS\nfly\tVBP\n.\t.\n\n" * 4,
    "questions.txt": b": made up\nthe cat a dog\nman woman king queen\ncat dog horse bird\n",
    "words.txt": b"the\ncat\ndog\nriver\n",
    "corpus.jsonl": FORMATS[".jsonl"](ordinary(Random(0), 80)),
    "texts.jsonl": FORMATS[".jsonl"](ordinary(Random(1), 80)),
    "broken.mrg": b"(ROOT (S (NP \xff\n",
    "empty.txt": b"",
    "bytes.bin": bytes(range(256)),
    "foreign/letter.txt": b"not ours\n",
}


class World:
    """The folder and its parts: models, finished runs, files that options may name, a home, temporary files, a case.

    Args:
        root: all of it.
        case: the name of the folder of one case.
    """

    def __init__(self, root: Path, case: str = "case") -> None:
        self.root, self.case = root, root / case
        parts = (root / name for name in ("models", "runs", "files", "home", "tmp", "caches"))
        self.models, self.runs, self.files, self.home, self.tmp, self.caches = parts

    def make(self) -> None:
        """Make all but the models and the finished runs."""
        for folder in (self.runs, self.files / "foreign", self.home, self.tmp, self.caches):
            folder.mkdir(parents=True)
        for name, data in FILES.items():
            (self.files / name).write_bytes(data)
        (self.home / "notes.txt").write_text("mine\n")
        (self.files / "loop").symlink_to(self.files / "loop")
        os.mkfifo(self.files / "pipe")

    def variables(self) -> dict[str, str]:
        """Return the variables that every command has."""
        folders = {"HOME": self.home, "TMPDIR": self.tmp, "ATLAS_CACHE": self.caches}
        return {"COLUMNS": "100"} | {name: str(folder) for name, folder in folders.items()}

    def begin_case(self) -> None:
        """Make an empty folder for a chain of commands."""
        shutil.rmtree(self.case, ignore_errors=True)
        for name in ("cwd", "sources"):
            (self.case / name).mkdir(parents=True)

    def state(self, *changing: Path) -> State:
        """Return what is in the world outside of some places: each path with its kind, size, times and number.

        The folders that hold these places are left out, because files may be made in them.
        """
        other_cases = [folder for folder in self.root.glob("case*") if folder != self.case]
        of_ray = self.home / ".ray"
        excluded = {str(place) for place in (self.tmp, self.caches, of_ray, *other_cases, *changing)}
        above = {str(folder) for place in excluded for folder in Path(place).parents}
        left, state = [str(self.root)], State()
        while left:
            path = left.pop()
            facts = os.lstat(path)
            if path not in above:
                state[path] = (facts.st_mode, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_ino)
            if stat.S_ISDIR(facts.st_mode):
                left += [entry.path for entry in os.scandir(path) if entry.path not in excluded]
        return state


def changes(before: State, after: State) -> list[str]:
    """Return in words what differs between two states."""
    paths = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
    what = {(True, False): "removed", (False, True): "made", (True, True): "changed"}
    return [f"{path!r} was {what[path in before, path in after]}" for path in reversed(paths)]


def damage(rng: Random, folder: Path) -> str:
    """Remove, replace or change a file of a run or model, and return which."""
    file, other = rng.choices(sorted(path for path in folder.rglob("*") if path.is_file()), k=2)
    data = rng.choice((None, other.read_bytes(), *[damaged(rng, file.read_bytes())] * 3))
    file.unlink()
    if data is not None:
        file.write_bytes(data)
    return str(file.relative_to(folder))


def put_in_place(rng: Random, out: Path) -> str:
    """Put something where a run is to be, and return what."""
    kind = rng.choice(("a file", "a loop", "letter.txt", "run.json"))
    (out.parent if kind.startswith("a ") else out).mkdir(parents=True, exist_ok=True)
    if kind == "a loop":
        out.symlink_to(out)
    else:
        (out if kind == "a file" else out / kind).write_text('{"not": "ours"}\n')
    return f"{kind} in its place"
