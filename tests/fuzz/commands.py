"""Chains of commands, drawn at random: jobs and options as the command line itself knows them."""

import json
import os
import types
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import yaml
from pydantic.fields import FieldInfo

from jobs.stage.options import INGEST_ONLY, JobConfig, StageConfig, flag_of
from jobs.stage.stages import STAGES
from tests.all_jobs import find_jobs
from tests.fuzz.corpora import draw_source
from tests.fuzz.models import DAMAGE, MAKERS
from tests.fuzz.perform import Command
from tests.fuzz.world import RUNS, World, copy_run, damage_run

Fields = dict[str, FieldInfo]

SERVERS = ("browse",)  # they run until they are stopped: only what they refuse is tried
RAY_EVERY = 50
# What keeps a command small where nothing else is drawn; `workers` is never drawn.
SMALL: dict[str, Any] = {
    "k": 4, "shard_size": 30, "limit": 60, "activation_sample": 40, "permutations": 10, "rotations": 2, "nearest": 2,
    "clusters": 4, "cluster_seeds": 2, "epochs": 1, "resamples": 20, "dimensions": 6, "offset_words": 60,
    "min_count": 2,
    "group_count": 3, "group_range": (2, 4), "diversity_clusters": (1, 4), "diversity_sample": 50, "text_limit": 30,
    "confusion_most": 100, "confusion_states": 100, "sentence_pairs": 20, "masked_sentences": 20, "translations": 10,
    "hashed_sentences": 100, "best": 2, "winners": 4, "passes": 1, "width": 8, "hidden": 8, "batch_words": 60,
    "checkpoint_steps": 3, "ablate_sentences": 8, "ablate_most": 4, "ablate_random": 1, "group_sentences": 20, "top": 2,
    "no_scores": True, "context_words": "30", "shift": 5, "figure_units": "2:9",
}  # fmt: skip
# Refused nearly always, or beside others.
RARE = ("device", "gpus", "push", "private", "limit", "preset", "license", "model_seed")
# Options whose large values cost nothing where there is little to do: the most of something.
CAPS = frozenset(
    [
        "k",
        "k_per_dataset",
        "limit",
        "shard_size",
        "min_count",
        "window",
        "neighbours",
        "pilot",
        "token_budget",
        "baseline_size",
        "top",
        "winners",
        "nearest",
        "hash_neighbours",
        "activation_sample",
        "max_patterns",
        "offset_words",
        "batch_size",
        "checkpoint_steps",
        "rows",
        "model_sample",
    ]
)
ODD_TEXT = (
    "",
    " ",
    "é",
    "\udce9",
    "a\nb",
    "x" * 5_000,
    "\x1b[31m",
    "--",
    "-",
    "nope",
    "1",
    "../..",
    "a b",
    "😀",
    "%s",
    "{}",
    "*",
)
ODD_NUMBERS = ("-1", "0", "x", "", "1.5", "nan", "inf", "1e3", "1e400", "9" * 20, "0x10", "True", "[1]", "²", "1_000")


@dataclass
class Case:
    """A chain of commands on one run, in the order in which they are given.

    Attributes:
        number: it is drawn by the seed and this number alone.
        start: what lay there before, in words.
        commands: the chain.
        ray: its work goes to workers of Ray.
        whole: nothing of what it started from was damaged.
    """

    number: int
    start: str
    commands: list[Command]
    ray: bool
    whole: bool


class Drawing:
    """Draws one case.

    Args:
        world: where it is to be run.
        seed, number: what the draws follow from.
    """

    def __init__(self, world: World, seed: int, number: int) -> None:
        self.world, self.number = world, number
        self.rng = Random(f"{seed}/{number}")
        self.ray = number % RAY_EVERY == RAY_EVERY - 1
        self.model = self._model(0.1)
        self.label = "topic"

    def draw(self) -> Case:
        """Make the folder of the case, and return it."""
        self.world.begin_case()
        rng, jobs = self.rng, find_jobs()
        on_stages = [name for name, job in jobs.items() if issubclass(job.options, StageConfig)]
        out = self.world.case / rng.choice(("run", "run", "run", "new/er/run", "a b", "é", "-run", "run=1", "x" * 60))
        start, whole = "nothing", True
        chain: list[str] = []
        if rng.random() < 0.62:
            start = rng.choice(list(RUNS))
            out.parent.mkdir(parents=True, exist_ok=True)
            copy_run(self.world.run(start), out)
            self.model = str(self.world.models / RUNS[start][0]) if rng.random() < 0.9 else self.model
            if rng.random() < 0.12:
                start, whole = f"{start}, damaged: {damage_run(rng, out)}", False
            if rng.random() < 0.1:
                (out / "mine.txt").write_text("not of a job\n")
            chain = self._chain(rng.choice((1, 1, 2, 3)), _finished(out))
        else:
            chain = [rng.choice([name for name in on_stages if "corpus" in jobs[name].options.model_fields])]
            chain += self._chain(rng.choice((0, 0, 1, 2)), {"ingest", *_stages_of(chain[0])})
            if rng.random() < 0.08:
                start = self._odd_out(out)
                whole = False
        new = not (out / "run.json").exists()
        commands = []
        for i, job in enumerate(chain):
            first = i == 0 and new
            commands.append(self._command(job, out, sources=first or rng.random() < 0.1))
        return Case(self.number, start, commands, self.ray, whole)

    def _chain(self, length: int, there: set[str]) -> list[str]:
        """Return jobs, most of which find what they read among the finished stages."""
        chain: list[str] = []
        while len(chain) < length:
            job = self.rng.choice(list(find_jobs()))
            reads = {stage for own in _stages_of(job)[:1] for stage in STAGES[own].reads}
            rare = job in SERVERS or not reads <= there
            if not rare or self.rng.random() < 0.15:
                chain.append(job)
                there |= set(_stages_of(job))
        return chain

    def _odd_out(self, out: Path) -> str:
        """Put something where the run is to be, and return what."""
        out.parent.mkdir(parents=True, exist_ok=True)
        kind = self.rng.choice(("file", "foreign", "loop", "nowhere", "empty", "link", "record"))
        if kind == "file":
            out.write_text("a file\n")
        elif kind == "loop":
            out.symlink_to(out)
        elif kind == "nowhere":
            out.symlink_to(self.world.case / "gone")
        else:
            out.mkdir()
            if kind == "link":
                out.rmdir()
                (self.world.case / "linked").mkdir()
                out.symlink_to(self.world.case / "linked")
            elif kind != "empty":
                (out / ("run.json" if kind == "record" else "letter.txt")).write_text('{"not": "ours"}\n')
        return f"a {kind} in its place"

    def _command(self, job: str, out: Path, sources: bool) -> Command:
        rng, fields = self.rng, dict(find_jobs()[job].options.model_fields)
        values: dict[str, Any] = {}
        if "out" in fields:
            named = str(out) if rng.random() < 0.8 else os.path.relpath(out, self.world.case / "cwd")
            if not issubclass(find_jobs()[job].options, JobConfig):
                named = str(self.world.case / "to") if rng.random() < 0.8 else named
            values["out"] = named if rng.random() > 0.02 else rng.choice([text for text in ODD_TEXT if "." not in text])
        to = self.world.case / rng.choice(("to", "to", "deep/to"))
        usable = [name for name in fields if name not in ("out", "config", "workers", "dry_run")]
        own = [name for name in usable if name not in INGEST_ONLY or sources]
        if "corpus" in fields and (sources and rng.random() > 0.02):
            hostile = 0.5 if rng.random() < 0.8 else 1.0
            count = rng.choice((1, 1, 1, 2))
            values["corpus"] = [draw_source(rng, self.world.case / "sources", hostile) for _ in range(count)]
        if "model" in fields and job != "tokens" and rng.random() > 0.02:
            values["model"] = self.model
        if "to" in fields:
            values["to"] = str(to)
        if "label" in fields and job == "finetune":
            values["label"] = self.label
        if "redo" in fields and (out / "run.json").exists() and rng.random() < 0.6:
            values["redo"] = True
        if "neuron" in fields and rng.random() < 0.7:
            values[rng.choice(("neuron", "neuron", "compare", "psi", "positions", "word"))] = None
        for name in ("train_trees", "test_trees"):
            if name in fields and rng.random() < 0.8:
                values[name] = [str(self.world.files / "trees.mrg")]
        for name, value in SMALL.items():
            if name in own:
                values[name] = value
        most = rng.choice((0, 1, 1, 2, 2, 3, 4, 6))
        odd = rng.random() < 0.12
        rare = {name for name in RARE if rng.random() < 0.8}
        own = [name for name in own if name not in rare]
        for name in rng.sample(sorted(own if rng.random() < 0.95 else usable), min(most, len(own))):
            values[name] = None
        for name, needed in (("text_set", "against"), ("against", "text_set")):
            if name in values and rng.random() < 0.9:
                values[needed] = None
        drawn = [name for name, value in values.items() if value is None]
        for i, name in enumerate(drawn):
            hostile = odd and i == 0
            values[name] = self._value(name, fields[name], hostile)
        if job in SERVERS:
            values |= rng.choice(
                ({"port": "-1"}, {"port": "99999"}, {"seconds": "nan"}, {"seconds": "0"}, {"host": ""})
            )
        argv: list[str] = []
        listed = {name: value for name, value in values.items() if value is not None and value is not False}
        if "config" in fields and rng.random() < 0.12:
            argv += ["--config", self._in_file(listed, fields)]
        for name, value in listed.items():
            argv += _words(name, value)
        if "workers" in fields:
            argv += ["--workers", "2" if self.ray else "1"]
        if "dry_run" in fields and rng.random() < 0.1:
            argv.append("--dry-run")
        env, fresh = self._environment()
        writes = [out]
        drawn_to = str(values.get("to", to))  # an option may have been drawn over
        if "to" in fields and "\0" not in drawn_to:
            place = Path(os.path.normpath(self.world.case / "cwd" / drawn_to))
            writes += [place] if place.is_relative_to(self.world.case) else []
        named = str(values.get("out", ""))
        if named.strip() and "\0" not in named:
            writes.append(Path(os.path.normpath(self.world.case / "cwd" / named)))
        if out.is_symlink():
            writes.append(self.world.case / "linked")
        return Command(job, tuple(argv), self.world.case / "cwd", env, tuple(writes), fresh)

    def _environment(self) -> tuple[dict[str, str], bool]:
        """Return the variables of a command, and whether a Python of its own is to start with them."""
        rng, env = self.rng, self.world.variables()
        place = rng.random()
        if place < 0.06:
            env |= {"LC_ALL": "C", "LANG": "C"}
        elif place < 0.065:
            return env | {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, True
        elif place < 0.07:
            return env | {"RAY_ADDRESS": rng.choice(("nonsense:99", "127.0.0.1:1", "http://x"))}, True
        elif place < 0.08:
            env["COLUMNS"] = rng.choice(("1", "0", "x", "100000"))
        elif place < 0.09:
            env["ATLAS_CACHE"] = rng.choice((str(self.world.files / "empty.txt"), "/proc/none", ""))
        elif place < 0.10:
            env["HOME"] = "/nowhere"
        return env, False

    def _in_file(self, values: dict[str, Any], fields: Fields) -> str:
        """Move some options into a YAML file, and return its path."""
        rng = self.rng
        file = self.world.case / "options" / "options.yaml"
        if rng.random() < 0.15:
            names = ("pipe", "bytes.bin", "empty.txt", "loop", "missing", "foreign", "words.txt")
            return rng.choice([*(str(self.world.files / name) for name in names), "/dev/zero", "/dev/null", ""])
        moved = {
            name: values.pop(name)
            for name in rng.sample(sorted(values), rng.randrange(len(values) + 1))
            if name not in ("out", "redo")
        }
        held = {name: list(value) if isinstance(value, tuple) else value for name, value in moved.items()}
        if rng.random() < 0.15:
            held[rng.choice((*fields, "nope", "config"))] = rng.choice(
                (None, True, [], {}, [1, "a"], 1.5, -1, "", "x", 10**30)
            )
        text = yaml.safe_dump(held, allow_unicode=True)
        file.write_bytes(text.encode("utf-8", "surrogatepass"))
        return str(file)

    def _model(self, damaged: float) -> str:
        rng = self.rng
        if rng.random() < damaged:
            odd = [str(self.world.models / name) for name in DAMAGE]
            odd += [*odd, "nobody/nothing", str(self.world.files / "words.txt"), "/dev/null", ""]
            return f"{rng.choice(('', '', '', 'random:', 'random:random:'))}{rng.choice(odd)}"
        names = list(MAKERS)
        folder = self.world.models / rng.choice([*names, "bert", "bert", "heads", "heads", "gpt2", "gpt2"])
        return f"random:{folder}" if rng.random() < 0.1 else str(folder)

    def _value(self, name: str, field: FieldInfo, odd: bool) -> Any:
        """Return a value of an option: one that fits it, or one that may not."""
        rng = self.rng
        kind = _Kind(field)
        if odd and not kind.is_bool:
            odd_values = ODD_TEXT if kind.is_text else ODD_NUMBERS
            return rng.choice((*odd_values, *(str(kind.low - 1) for _ in range(3) if kind.low is not None)))
        if kind.is_bool:
            return True
        if kind.choices:
            return rng.choice(kind.choices)
        if kind.is_text:
            values = TEXTS.get(name, _any_text)
            many = kind.is_list and rng.random() < 0.3
            found = [values(self) for _ in range(2 if many else 1)]
            return found if kind.is_list else found[0]
        number = kind.number(rng, name)
        return [number, kind.number(rng, name)] if kind.is_list and rng.random() < 0.5 else number


def _stages_of(job: str) -> list[str]:
    """Return a job's stages; of `run` those of all the jobs that it runs."""
    if job == "run":
        return ["ingest", "topk", "annotate", "mine", "tokens"]
    return [stage for stage in STAGES if stage.partition("/")[0] == job]


def _finished(run: Path) -> set[str]:
    """Return the finished stages of a run, as far as its record can be read."""
    try:
        stages = json.loads((run / "run.json").read_text(encoding="utf-8"))["stages"]
        return {name for name, entry in stages.items() if entry["complete"]}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return set(STAGES)


class _Kind:
    """What an option takes, read from its type and its limits."""

    def __init__(self, field: FieldInfo) -> None:
        self.types: list[Any] = []
        self.choices: list[Any] = []
        self.is_list = False
        self.low: float | None = None
        self.high: float | None = None
        self.above = self.below = False
        self._look(field.annotation)
        self._limit(field.metadata)

    def _look(self, annotation: Any) -> None:
        origin = get_origin(annotation)
        if origin is Annotated:
            inner, *more = get_args(annotation)
            self._look(inner)
            for held in more:
                self._limit([held, *getattr(held, "metadata", ())])
        elif origin is Literal:
            self.choices += get_args(annotation)
        elif origin in (Union, types.UnionType):
            for inner in get_args(annotation):
                self._look(inner)
        elif origin is tuple:
            self.is_list = True
            self._look(get_args(annotation)[0])
        elif annotation is not type(None):
            self.types.append(annotation)

    def _limit(self, metadata: list[Any]) -> None:
        for held in metadata:
            for name, value in (("ge", "low"), ("gt", "low"), ("le", "high"), ("lt", "high")):
                if getattr(held, name, None) is not None:
                    setattr(self, value, getattr(held, name))
                    self.above |= name == "gt"
                    self.below |= name == "lt"

    @property
    def is_bool(self) -> bool:
        return bool in self.types

    @property
    def is_text(self) -> bool:
        return str in self.types or Path in self.types

    def number(self, rng: Random, name: str) -> Any:
        """Return a number that the limits allow, often at one of them."""
        low = 0 if self.low is None else self.low
        if float in self.types:
            high = 4.0 if self.high is None else self.high
            few = [
                low + (1e-9 if self.above else 0),
                (low + high) / 2,
                high - (1e-9 if self.below else 0),
                0.1 * high,
                rng.uniform(low, high),
            ]
            if self.high is None:
                few.append(1e14)
            return rng.choice(few)
        found = [int(low), int(low) + 1, int(low) + 2, 5, 10, rng.randrange(int(low), int(low) + 40)]
        if name in CAPS:
            found += [500, 100_000, 10**14]
        elif name == "seed" or name.endswith("_seed"):
            found += [2**31, 2**32, 10**14]
        elif name in ("threads", "gpus", "passes", "layers", "windows", "epochs"):
            found = [int(low), int(low) + 1]
        if self.high is not None:
            found = [value for value in found if value <= self.high] + [int(self.high)]
        return rng.choice([value for value in found if value >= low])


def _words(name: str, value: Any) -> list[str]:
    """Return what the command line says for an option."""
    flag = flag_of(name)
    if value is True:
        return [flag]
    if isinstance(value, list | tuple):
        return [word for one in value for word in (flag, str(one))]
    text = str(value)
    return [f"{flag}={text}"] if text.startswith("-") else [flag, text]


def _any_text(drawing: Drawing) -> str:
    return drawing.rng.choice(ODD_TEXT)


def _one_of(*texts: str) -> Callable[[Drawing], str]:
    return lambda drawing: drawing.rng.choice(texts)


def _file(*names: str) -> Callable[[Drawing], str]:
    def choose(drawing: Drawing) -> str:
        common = ("missing", "foreign", "empty.txt", "bytes.bin", "pipe", "loop")
        name = drawing.rng.choice((*names, *names, *names, *common))
        return str(drawing.world.files / name)

    return choose


def _against(drawing: Drawing) -> str:
    if drawing.rng.random() < 0.5:
        return str(drawing.world.run(drawing.rng.choice(list(RUNS))))
    return drawing._model(0.2)


def _other_run(drawing: Drawing) -> str:
    if drawing.rng.random() < 0.8:
        return str(drawing.world.run(drawing.rng.choice(list(RUNS))))
    return drawing._model(0.2)


def _source(drawing: Drawing) -> str:
    return draw_source(drawing.rng, drawing.world.case / "sources")


def _set(drawing: Drawing) -> str:
    return f"{drawing.rng.choice(('one', 'two', 'é', ''))}={_source(drawing)}"


def _to(drawing: Drawing) -> str:
    to = drawing.world.case / "to"
    return (
        str(to)
        if drawing.rng.random() < 0.8
        else str(drawing.world.files / drawing.rng.choice(("foreign", "words.txt", "loop")))
    )


_column = _one_of("topic", "topic", "language", "key", "doc_id", "answer", "text", "nope", "sent_id")
_place = _one_of(
    "1:0", "2:11", "1:1", "2:1", "0:0", "9:9", "1:99", "1", "a:b", "-1:2", "1:2:3", "1:0 ", "99999999999999999999:0"
)
TEXTS: dict[str, Callable[[Drawing], str]] = {
    "model": lambda drawing: drawing._model(0.3),
    "against": _against,
    "against_run": _other_run,
    "with_": _other_run,
    "corpus": _source,
    "text_set": _set,
    "to": _to,
    "text_column": _one_of("text", "text", "topic", "nope"),
    "label": _column,
    "language_column": _column,
    "translation_column": _column,
    "answer_column": _column,
    "drop_label": _one_of("a", "b", "nope", "same"),
    "neuron": _place,
    "neurons": _place,
    "units": _place,
    "psi": _place,
    "word": _one_of("cat", "the", "zebra", "The", "London", "é", "a b", "'", "cat\n"),
    "pipeline": _one_of("english", "blank", "blank", "nope", "en_core_web_sm", "/dev/null"),
    "parts": _one_of("counts", "offsets", "confusion", "sentences", "hashing", "counts,offsets", "hashing,,", "x"),
    "context_words": lambda drawing: drawing.rng.choice(("1", "5", "2000", "0", "-3", _file("words.txt")(drawing))),
    "confusion": _one_of(
        "the and", "cat dog, car horse", "zebra yak", ",", "the", "to two too, then than", "the the", "the, the and"
    ),
    "analogies": _file("questions.txt"),
    "figure_units": _one_of("0:3", "2:9", "5:5", "9:2", "0:99999999", "x", "301:350"),
    "variants": _one_of(
        "none", "shuffled", "shifted", "constant", "none,shuffled", "none_alibi", "none_self_only", "x", ","
    ),
    "host": _one_of("", "nope.invalid", "999.1.1.1"),
    "license": _one_of("cc-by-4.0", "mit", "x", "é", "a b"),
    "source_license": _one_of("set=cc0-1.0", "corpus=CC-BY-4.0", "x", "=", "nope=mit", "a=b=c"),
    "push": _one_of("x", "a/b/c", "/", "é/é", ".."),
    "name": _one_of("atlas", "x_1", "a/b", "é", ".."),
    "model_id": _one_of("my-model", "gpt2-small", "a/b", "é", ".."),
    "creator_id": _one_of("c0", "a/b", "é", ".."),
    "train_trees": _file("trees.mrg", "one.mrg", "broken.mrg"),
    "capped_trees": _file("trees.mrg", "one.mrg", "broken.mrg"),
    "dev_trees": _file("trees.mrg", "one.mrg", "broken.mrg"),
    "test_trees": _file("trees.mrg", "one.mrg", "broken.mrg"),
    "train_tags": _file("tags.tags", "trees.mrg"),
    "dev_tags": _file("tags.tags", "trees.mrg"),
    "test_tags": _file("tags.tags", "trees.mrg"),
    "teacher": _file("foreign"),
    "sources": _one_of("GUM", "é"),
}  # fmt: skip
