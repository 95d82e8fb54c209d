"""Chains of commands, drawn at random from the options that the jobs declare: their types, bounds, choices and help."""

import json
import os
import re
import shutil
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from jobs.stage.options import INGEST_ONLY, JobConfig, flag_of
from jobs.stage.stages import STAGES
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
PLACEHOLDERS = {
    "LAYER": ("1", "2", "1", "2", "1", "2", "0", "9", "x"),
    "UNIT": ("0", "1", "2", "11", "11", "99", "-1", "9" * 20),
    "HEAD": ("0", "1", "7"),
    "FIRST": ("0", "2", "9"),
    "LAST": ("3", "9", "99999999"),
    "SEED": ("0", "1", "x"),
    "LICENCE": ("cc0-1.0", "x"),
}
# The finished runs from which a chain may start: the model and the jobs of each.
RUNS: dict[str, tuple[str, tuple[str, ...]]] = {
    "scored": ("bert", ("topk",)),
    "decoded": ("gpt2", ("run",)),
    "measured": ("heads", ("run", *dict.fromkeys(stage.partition("/")[0] for stage in STAGES if stage != "ingest"))),
}
# Variables of a command, and whether a new Python must start with them.
ENVIRONMENTS: tuple[tuple[dict[str, str], bool], ...] = (
    ({"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, True),
    ({"RAY_ADDRESS": "127.0.0.1:1"}, True),
    ({"ATLAS_CACHE": "/proc/none", "HOME": "/nowhere", "COLUMNS": "x"}, False),
)


@dataclass
class Case:
    """A chain of commands on one run, what was there before in words, and whether that was undamaged."""

    start: str
    commands: list[Command]
    whole: bool = True


@cache
def options_of(job: str) -> dict[str, Schema]:
    """Return the options of a job as JSON schemas, by their names."""
    properties: dict[str, Schema] = find_jobs()[job].options.model_json_schema()["properties"]
    return properties


def kinds_of(schema: Schema) -> list[Schema]:
    """Return the schemas of the single values that an option takes."""
    kinds = [kind.get("items", kind) for kind in schema.get("anyOf", [schema])]
    return [kind for kind in kinds if kind["type"] != "null"]


class Drawing:
    """Draws one case, which follows from the seed and the number alone.

    Args:
        world: the folder in which the case will run.
        seed, number: the seed, and the number of the case.
    """

    def __init__(self, world: World, seed: int, number: int) -> None:
        self.world, self.rng = world, Random(f"{seed}/{number}")
        self.workers = "2" if number % 50 == 49 else "1"
        self.model = ""

    def draw(self) -> Case:
        """Make the folder of the case, and return it."""
        self.world.begin_case()
        rng, case, self.model = self.rng, Case("nothing", []), self._model(0.1)
        out = self.world.case / rng.choice(("run", "run", "run", "new/er/run", "a b", "é", "-run", "run=1", "x" * 60))
        if rng.random() < 0.6:
            case.start = rng.choice(list(RUNS))
            shutil.copytree(self.world.runs / case.start, out)
            self.model = str(self.world.models / RUNS[case.start][0]) if rng.random() < 0.9 else self.model
            jobs = self._chain([], rng.choice((1, 1, 2, 3)), set(json.loads((out / "run.json").read_text())["stages"]))
            if rng.random() < 0.12:
                case.start, case.whole = f"{case.start}, damaged: {damage(rng, out)}", False
        else:
            first = rng.choice([job for job in find_jobs() if "corpus" in options_of(job)])
            jobs = self._chain([first], rng.choice((1, 1, 2, 3)), {"ingest", first})
            if rng.random() < 0.08:
                case.start, case.whole = put_in_place(rng, out), False
        for i, job in enumerate(jobs):
            sources = (i == 0 and not (out / "run.json").exists()) or rng.random() < 0.1
            case.commands.append(self._command(job, out, sources))
        return case

    def _chain(self, chain: list[str], length: int, done: set[str]) -> list[str]:
        """Return a longer chain of jobs, most of which find the tables that they read."""
        while len(chain) < length:
            job = self.rng.choice(list(find_jobs()))
            stages = [stage for stage in STAGES if stage.partition("/")[0] == job]
            if {read for stage in stages[:1] for read in STAGES[stage].reads} <= done or self.rng.random() < 0.15:
                chain.append(job)
                done |= {*stages}
        return chain

    def making(self, run: str, job: str) -> Command:
        """Return the command by which a job makes its part of a finished run."""
        model, jobs = RUNS[run]
        self.model = str(self.world.models / model)
        values = self.plain(job, self.world.runs / run)
        if job == jobs[0]:
            corpus = [f"{name[0]}={self.world.files / name}" for name in FILES if name.endswith(".jsonl")]
            values |= {"corpus": corpus, "shard_size": 30, "split": "none"}
        return Command(job, self._words(job, values), self.world.root)

    def plain(self, job: str, out: Path) -> Schema:
        """Return values of the options without which a job is refused or takes long."""
        values: Schema = {}
        for name, schema in options_of(job).items():
            default = schema.get("default")
            numbers = default if isinstance(default, list) else [default]
            if name in getattr(find_jobs()[job].options, "required", ()):
                values[name] = self.text(schema, 0)
            elif numbers and type(numbers[0]) is int and max(numbers) > FEW:
                few = [max(kinds_of(schema)[0].get("minimum", 0), min(number, FEW)) for number in numbers[:2]]
                values[name] = few if isinstance(default, list) else few[0]
        values |= {"out": str(out), "model": self.model if job != "tokens" else None, "corpus": None}
        return {name: value for name, value in values.items() if name in options_of(job) and value is not None}

    def _command(self, job: str, out: Path, sources: bool) -> Command:
        rng, options, cwd = self.rng, options_of(job), self.world.case / "cwd"
        values = self.plain(job, out)
        if not issubclass(find_jobs()[job].options, JobConfig):
            values["out"] = str(self.world.case / "to")
        elif rng.random() < 0.2:
            values["out"] = os.path.relpath(out, cwd)
        values["to"] = str(self.world.case / rng.choice(("to", "to", "deep/to")))
        if sources:
            values |= {"corpus": [self._source() for _ in range(rng.choice((1, 1, 1, 2)))], "shard_size": 30}
        values["redo"] = (out / "run.json").exists() and rng.random() < 0.6
        held = ("out", "to", "config", "workers", "dry_run", "corpus", *(() if sources else INGEST_ONLY))
        free = sorted(options.keys() - {*held})
        paths = [name for name in free if any(kind.get("format") == "path" for kind in kinds_of(options[name]))]
        drawn = rng.sample(free, min(rng.choice((0, 1, 1, 2, 2, 3, 4, 6)), len(free)))
        for i, name in enumerate([*drawn, *(name for name in paths if rng.random() < 0.4)]):
            values[name] = self.value(options[name], odd=i == 0 and rng.random() < 0.15)
        values |= {"dry_run": rng.random() < 0.1, "port": rng.choice(("-1", "99999", "x"))}  # a server would not end
        values = {name: value for name, value in values.items() if name in options}
        if rng.random() < 0.02:
            values[rng.choice(sorted(values))] = rng.choice([text for text in ODD if ".." not in text])
        places = [str(values[name]) for name in ("out", "to") if str(values.get(name, "")).strip()]
        writes = [out, *(Path(os.path.normpath(cwd / place)) for place in places)]
        env, fresh = rng.choice(ENVIRONMENTS) if rng.random() < 0.06 else ({}, False)
        if self.workers != "1":
            env, fresh = {"TMPDIR": "/tmp"}, True  # Ray's sockets need a short path
        inside = tuple(place for place in writes if place.is_relative_to(self.world.case))
        return Command(job, self._words(job, values), cwd, self.world.variables() | env, inside, fresh)

    def _words(self, job: str, values: Schema) -> tuple[str, ...]:
        """Return the command line that gives these values."""
        given = values | ({"workers": self.workers} if "workers" in options_of(job) else {})
        words: list[str] = []
        for name, value in given.items():
            for one in value if isinstance(value, list) else [] if value is False else [value]:
                flag, text = flag_of(name), str(one)
                words += [flag] if one is True else [f"{flag}={text}"] if text.startswith("-") else [flag, text]
        return tuple(words)

    def value(self, schema: Schema, odd: bool = False) -> Any:
        """Return a value of an option: one of its type and within its bounds, or an odd one."""
        rng, kind = self.rng, self.rng.choice(kinds_of(schema))
        if kind["type"] == "boolean":
            return True
        if odd:
            return rng.choice((*ODD, *([str(kind["minimum"] - 1)] * 4 if "minimum" in kind else ())))
        if "enum" in kind or "const" in kind:
            return rng.choice(kind.get("enum", [kind.get("const")]))
        if kind["type"] == "string":
            return self.text(schema, 0.3)
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
        templates = re.findall(r"[\w=:/]*[A-Z]{4,}[\w=:/]*", about.replace("[NAME=]", "").replace("random:NAME", ""))
        if templates:
            return re.sub("[A-Z]{4,}", self._fill, rng.choice(templates))
        if re.search(r"[Cc]olumn", about):
            return rng.choice([name for name in COLUMNS if name in about] or ["topic"])
        if re.search(r"\brun\b", about) and rng.random() < 0.8:
            return str(self.world.runs / rng.choice(list(RUNS)))
        if re.search(r"\bmodel\b", about):
            return self._model(0.3)
        if re.search(r"[Ff]ile|[Ff]older|director", about) and rng.random() < 0.5:
            return self._file(about)
        return rng.choice(("cat", "the", "London", "a,b", *words, *words, str(schema.get("default"))))

    def _fill(self, name: re.Match[str]) -> str:
        if name[0] == "SOURCE":
            return self._source()
        return self._file("") if name[0] == "PATH" else self.rng.choice(PLACEHOLDERS.get(name[0], ("set", "x", "é")))

    def _file(self, about: str) -> str:
        """Return a file, most often one whose name occurs in the help of an option."""
        named = [name for name in FILES if re.split(r"s?\.", name)[0] in about]
        others = (*FILES, "foreign", "missing", "pipe", "loop")
        return str(self.world.files / self.rng.choice(named if named and self.rng.random() < 0.7 else others))

    def _source(self) -> str:
        return draw_source(self.rng, self.world.case / "sources")

    def _model(self, damaged: float) -> str:
        rng, folder = self.rng, self.world.models / self.rng.choice((*MODELS, "bert", "gpt2"))
        if rng.random() < damaged:
            made = self.world.case / "sources" / f"model-{rng.randrange(9)}"
            shutil.copytree(folder, made, dirs_exist_ok=True)
            damage(rng, made)
            return rng.choice((str(made), str(made), "nobody/nothing", "random:random:x"))
        return rng.choice(("", "", "", "", "random:")) + str(folder)
