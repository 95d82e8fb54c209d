"""Chains of commands, drawn at random from the options that the jobs declare: their types, bounds, choices and help."""

import contextlib
import json
import os
import re
import shutil
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from jobs.options.configs import INGEST_ONLY, JobConfig, flag_of
from jobs.run_folder.stages import STAGES
from tests.all_jobs import find_jobs
from tests.fuzz.models import MODELS
from tests.fuzz.perform import Command
from tests.fuzz.sources import COLUMNS, draw_source
from tests.fuzz.world import FILES, World, damage, put_in_place

Schema = dict[str, Any]

FEW = 24  # larger numbers are given as this one where none is drawn, so that a command is short
ODD = (
    "", " ", "é", "\udce9", "a\nb", "x" * 5_000, "\x1b[31m", "--", "-", "nope", "1", "../..", "a b", "😀", "%s", "{}",
    "*", "-1", "0", "1.5", "nan", "inf", "1e3", "1e400", "9" * 20, "0x10", "True", "[1]", "²", "1_000",
)  # fmt: skip
# Help of numbers that may be large although there is little to do, and what the capital letters in a help stand for.
CAPS = re.compile(r"at most|seed|^(Also )?(Keep|List|Print|Read)", re.IGNORECASE)
RARE = re.compile("GPU|random:NAME")
PLACEHOLDERS = {
    "LAYER": ("1", "2"), "UNIT": ("0", "2", "11"), "HEAD": ("0", "1"), "FIRST": ("0", "2"), "LAST": ("3", "9"),
    "SEED": ("0", "1"), "LICENCE": ("cc0-1.0", "mit"), "NAME": ("set", "corpus", "texts"),
    "VALUE": ("topic=a", "topic=b", "language=en", "language=xx", "answer=no", "dataset=c", "key=k3", "set=x"),
}  # fmt: skip
NO_NUMBERS = ("x", "", "²", "x", "-1", "99", "9" * 20)
# The finished runs from which a chain may start: the model and the jobs of each.
RUNS: dict[str, tuple[str, tuple[str, ...]]] = {
    "scored": ("bert", ("topk",)),
    "decoded": ("gpt2", ("run",)),
    "measured": ("heads", ("run", *dict.fromkeys(stage.partition("/")[0] for stage in STAGES if stage != "ingest"))),
}
# Variables with which a new Python runs a command.
ENVIRONMENTS = (
    {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    {"RAY_ADDRESS": "127.0.0.1:1"},
    {"ATLAS_CACHE": "/proc/none", "COLUMNS": "x"},
)


@cache
def options_of(job: str) -> dict[str, Schema]:
    """Return the options of a job as JSON schemas, by their names."""
    properties: dict[str, Schema] = find_jobs()[job].options.model_json_schema()["properties"]
    return properties


def kinds_of(schema: Schema) -> list[Schema]:
    """Return the schemas of the single values that an option takes."""
    kinds = [kind.get("items", kind) for kind in schema.get("anyOf", [schema])]
    return [kind for kind in kinds if kind["type"] != "null"]


@cache
def stages_read(job: str) -> frozenset[str]:
    """Return the stages whose tables a job reads, none if it can make them itself."""
    options = find_jobs()[job].options
    if "corpus" in options.model_fields or not issubclass(options, JobConfig):
        return frozenset()
    first = next((stage for stage in STAGES if stage.partition("/")[0] == job), "report")
    return frozenset(STAGES[first].reads)


def stages_done(out: Path) -> set[str]:
    """Return the finished stages of a run, none if it has no record that can be read."""
    with contextlib.suppress(OSError, ValueError, LookupError, TypeError, AttributeError):
        stages = json.loads((out / "run.json").read_bytes())["stages"]
        return {name for name, entry in stages.items() if entry["complete"]}
    return set()


class Drawing:
    """Draws one case, a chain of commands on one run, from the seed, the number, and what the commands leave there.

    Args:
        world: the folder in which the case will run.
        seed, number: the seed, and the number of the case.
    """

    def __init__(self, world: World, seed: int, number: int) -> None:
        self.world, self.rng, self.sources = world, Random(f"{seed}/{number}"), world.case / "sources"
        self.workers = "2" if number % 50 == 4 else "1"
        self.start, self.whole = "nothing", True  # what was there before in words, and whether that was undamaged
        self.out, self.model, self.job, self.values = world.case, "", "", Schema()

    def begin(self) -> None:
        """Make the folder of the case."""
        self.world.begin_case()
        rng, self.model = self.rng, self._model(0.05)
        self.out /= rng.choice(("run", "run", "run", "new/er/run", "a b", "é", "-run", "run=1", "x" * 60))
        if rng.random() < 0.7:
            self.start = rng.choice(list(RUNS))
            shutil.copytree(self.world.runs / self.start, self.out)
            self.model = str(self.world.models / RUNS[self.start][0]) if rng.random() < 0.95 else self.model
            if rng.random() < 0.1:
                self.start, self.whole = f"{self.start}, damaged: {damage(rng, self.out)}", False
        elif rng.random() < 0.08:
            self.start, self.whole = put_in_place(rng, self.out), False

    def command(self) -> Command:
        """Return the next command, most often of a job of runs that finds the tables that it reads."""
        rng, done = self.rng, stages_done(self.out)
        can = [job for job in find_jobs() if stages_read(job) <= done and "preset" in options_of(job)]
        self.job = rng.choice(can if rng.random() < 0.9 else [job for job in find_jobs() if options_of(job)])
        self.values = self._drawn(done)
        return self._built()

    def mended(self, error: str) -> Command | None:
        """Return the last command as a user may mend it who reads its error, None if that names no option to change."""
        names = {flag_of(name): name for name in options_of(self.job)}
        flag, advice = re.match(r"error: (--[\w-]+)", error), re.search(r"give (--[\w-]+) ([\w.]+)$", error)
        name = names.get(flag[1], "") if flag else "corpus"
        if "or --redo to" in error and not self.values.get("redo", True):
            self.values["redo"] = True
        elif advice and advice[1] in names:
            self.values[names[advice[1]]] = advice[2]
        elif name not in names.values() or name in ("out", "port"):
            return None
        elif name == "corpus":
            self.values[name] = [draw_source(self.rng, self.sources, 0)]
        elif name == "model" and self.values[name] != self.model:
            self.values[name] = self.model
        elif name in self.values and name not in getattr(find_jobs()[self.job].options, "required", ()):
            del self.values[name]
        else:
            self.values[name] = self.value(options_of(self.job)[name])
        return self._built()

    def making(self, run: str, job: str) -> Command:
        """Return the command by which a job makes its part of a finished run."""
        self.job, self.out, (model, jobs) = job, self.world.runs / run, RUNS[run]
        self.model = str(self.world.models / model)
        self.values = self._plain()
        if job == jobs[0]:
            corpus = [f"{name[0]}={self.world.files / name}" for name in FILES if name.endswith(".jsonl")]
            self.values |= {"corpus": corpus, "shard_size": 30, "split": "none", "activation_sample": 200}
        return self._built()

    def _plain(self) -> Schema:
        """Return values of the options without which the job is refused or takes long."""
        values, options = Schema(), options_of(self.job)
        for name, schema in options.items():
            default = schema.get("default")
            numbers = default if isinstance(default, list) else [default]
            if name in getattr(find_jobs()[self.job].options, "required", ()):
                values[name] = self.text(schema, 0)
            elif numbers and type(numbers[0]) is int and max(numbers) > FEW:
                few = [max(kinds_of(schema)[0].get("minimum", 0), min(number, FEW)) for number in numbers[:2]]
                values[name] = few if isinstance(default, list) else few[0]
        values |= {"out": str(self.out), "model": self.model if self.job != "tokens" else None, "corpus": None}
        values["workers"] = self.workers
        return {name: value for name, value in values.items() if name in options and value is not None}

    def _drawn(self, done: set[str]) -> Schema:
        """Return values of options of a job, for a run with these finished stages."""
        rng, options, values = self.rng, options_of(self.job), self._plain()
        if not issubclass(find_jobs()[self.job].options, JobConfig):
            values["out"] = str(self.world.case / "to")
        elif rng.random() < 0.2:
            values["out"] = os.path.relpath(self.out, self.world.case / "cwd")
        values["to"] = str(self.world.case / rng.choice(("to", "to", "deep/to")))
        sources = "ingest" not in done or rng.random() < 0.05
        if sources:
            values |= {
                "corpus": [draw_source(rng, self.sources) for _ in range(rng.choice((1, 1, 1, 2)))],
                "shard_size": 30,
            }
        values["redo"] = bool(done) and rng.random() < 0.8
        held = ("out", "to", "model", "config", "workers", "dry_run", "corpus", *(() if sources else INGEST_ONLY))
        # What is of GPUs or of random weights is refused where there are none.
        rare = [name for name in options if RARE.search(options[name]["description"]) and rng.random() < 0.8]
        free = sorted(options.keys() - {*held, *rare})
        drawn = rng.sample(free, min(rng.choice((0, 1, 1, 2, 2, 3, 4)), len(free)))
        often = [name for name in free if "LAYER:" in str(options[name]) or "'format': 'path'" in str(options[name])]
        reading = [name for name in free if sources and name in INGEST_ONLY]
        more = [*(name for name in often if rng.random() < 0.4), *(name for name in reading if rng.random() < 0.15)]
        for i, name in enumerate([*drawn, *more]):
            values[name] = self.value(options[name], odd=i == 0 and rng.random() < 0.1)
        values |= {"dry_run": rng.random() < 0.1, "port": rng.choice(("-1", "99999", "x"))}  # a server would not end
        values = {name: value for name, value in values.items() if name in options}
        if rng.random() < 0.02:
            values[rng.choice(sorted(values.keys() - {"workers", "port"}))] = rng.choice(
                [text for text in ODD if ".." not in text]
            )
        return values

    def _built(self) -> Command:
        """Return the command of the job and the values that were drawn, and what it may change."""
        rng, cwd = self.rng, self.world.case / "cwd"
        places = [str(self.values[name]) for name in ("out", "to") if str(self.values.get(name, "")).strip()]
        writes = [self.out, *(Path(os.path.normpath(cwd / place)) for place in places)]
        env = rng.choice(ENVIRONMENTS) if rng.random() < 0.05 else {}
        if self.workers != "1":
            env = {"TMPDIR": "/tmp"}  # Ray's sockets need a short path
        inside = tuple(place for place in writes if place.is_relative_to(self.world.case))
        words: list[str] = []
        for name, value in self.values.items():
            for one in value if isinstance(value, list) else [] if value is False else [value]:
                flag, text = flag_of(name), str(one)
                words += [flag] if one is True else [f"{flag}={text}"] if text.startswith("-") else [flag, text]
        return Command(self.job, tuple(words), cwd, self.world.variables() | env, inside, bool(env))

    def value(self, schema: Schema, odd: bool = False) -> Any:
        """Return a value of an option: one of its type and within its bounds, or an odd one."""
        rng, kind = self.rng, self.rng.choice(kinds_of(schema))
        if kind["type"] == "boolean":
            return True
        if odd:
            return rng.choice((*ODD, *([str(kind["minimum"] - 1)] * 4 if "minimum" in kind else ())))
        if "pattern" in kind:
            number = str(rng.choice((8, 8, 16, 30, 100, 7, 10**9)))
            return re.sub(r"\\d\{.*\}", number, kind["pattern"]).strip("^$")
        if "enum" in kind or "const" in kind:
            return rng.choice(kind.get("enum", [kind.get("const")]))
        if kind["type"] == "string":
            return self._file(schema["description"]) if kind.get("format") == "path" else self.text(schema, 0.1)
        low = kind.get("minimum", kind.get("exclusiveMinimum", 0))
        high = kind.get("maximum", kind.get("exclusiveMaximum"))
        if kind["type"] == "number":
            top = 4.0 if high is None else high
            ends = (low + 1e-9 * ("exclusiveMinimum" in kind), top - 1e-9 * ("exclusiveMaximum" in kind))
            return rng.choice((*ends, (low + top) / 2, rng.uniform(low, top), *((1e14,) if high is None else ())))
        default = schema.get("default")
        most = low + (max(3, min(2 * default, 40)) if isinstance(default, int) else 40)
        large = (500, 100_000, 2**32, 10**14) if CAPS.search(schema["description"]) else ()
        numbers = (low, low + 1, rng.randint(low, most), rng.randint(low, most), *large)
        return rng.choice([number for number in numbers if high is None or number < high] + [high or low])

    def text(self, schema: Schema, odd: float) -> str:
        """Return a text for an option as its help describes it; with this probability an odd one."""
        rng, about = self.rng, schema["description"]
        words = [*re.findall(r"\w[\w.,+-]*\w", about), *re.findall(r"\w+[.,+-][\w.,+-]*\w", about) * 4]
        if rng.random() < odd:
            return rng.choice((*ODD, *words, *words, self._file(about)))
        templates = re.findall(r"[\w=:/]*[A-Z]{4,}[\w=:/]*", re.sub(r"\[NAME=\]|random:NAME|KEY=", "", about))
        if templates:
            return re.sub("[A-Z]{4,}", self._fill, rng.choice(templates))
        if about.startswith("Character"):
            return rng.choice((";", r"\t", ",", "|", "ab", "é"))
        if "metadata key" in about:
            return rng.choice(("topic", "topic", "language", "answer", "dataset", "key", "set"))
        if re.search(r"[Cc]olumn", about):
            return rng.choice([name for name in COLUMNS if name in about] or ["topic"])
        if re.search(r"\brun\b", about) and rng.random() < 0.8:
            return str(self.world.runs / rng.choice(list(RUNS)))
        if re.search(r"\bmodel\b", about):
            return self._model(0.3)
        if re.search(r"[Ff]ile|[Ff]older|director", about) and rng.random() < 0.8:
            return self._file(about)
        return rng.choice(("cat", "the", "London", "a,b", *words, *words, str(schema.get("default"))))

    def _fill(self, name: re.Match[str]) -> str:
        if name[0] == "SOURCE":
            return draw_source(self.rng, self.sources)
        if name[0] == "PATH":
            return self._file("")
        known = PLACEHOLDERS.get(name[0], ("set", "x", "é"))
        return self.rng.choice(NO_NUMBERS if known[0].isdecimal() and self.rng.random() < 0.2 else known)

    def _file(self, about: str) -> str:
        """Return a file, most often one whose name occurs in the help of an option."""
        named = [name for name in FILES if re.split(r"s?\.", name)[0] in about]
        others = (*FILES, "foreign", "missing", "pipe", "loop")
        return str(self.world.files / self.rng.choice(named if named and self.rng.random() < 0.7 else others))

    def _model(self, damaged: float) -> str:
        rng, folder = self.rng, self.world.models / self.rng.choice((*MODELS, "bert", "gpt2"))
        if rng.random() < damaged:
            made = self.sources / f"model-{rng.randrange(9)}"
            shutil.copytree(folder, made, dirs_exist_ok=True)
            damage(rng, made)
            return rng.choice((str(made), str(made), "nobody/nothing", "random:random:x"))
        return rng.choice(("", "", "", "", "random:")) + str(folder)
