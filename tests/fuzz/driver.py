"""Run cases one after another in a process of their own, under a watchdog, and tell which commands broke a promise."""

import contextlib
import faulthandler
import multiprocessing
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from jobs.stage.command_line import Job
from jobs.stage.options import StageConfig
from tests.all_jobs import find_jobs
from tests.conftest import ROOT
from tests.fuzz.commands import Case, Drawing
from tests.fuzz.perform import Command, Outcome, perform
from tests.fuzz.promises import check_outcome, check_run
from tests.fuzz.world import World, changes

Jobs = dict[str, Job[Any]]

LIMIT_S = 60.0
MEMORY = 8 << 30  # bytes that one process may have: a fault there is not to take the machine with it
SAY_EVERY_S = 15.0  # between two lines of how far it is
START_S = 1_200.0  # that models and finished runs may take
FRESH_EVERY = 150  # cases of one process, which keeps what libraries keep


@dataclass
class Verdict:
    """What was found of one command.

    Attributes:
        place: the number of its case, and its own place there.
        command: the whole command line, with its variables.
        start: what lay there before its case.
        status: its exit status.
        wrong: the promises that it broke, in words.
        told: what it printed last on stderr.
        runs: how often a command was run for it: itself, its dry run, the same again.
        seconds, cpu_s: of all these, and what this process computed meanwhile.
    """

    place: str
    command: str
    start: str
    status: int | None
    wrong: list[str] = field(default_factory=list)
    told: str = ""
    runs: int = 1
    seconds: float = 0.0
    cpu_s: float = 0.0


def run_case(case: Case, world: World, jobs: Jobs, begin: Callable[[str], None]) -> Iterator[Verdict]:
    """Run a case's commands and give a verdict on each.

    Args:
        case: the case, whose folder is there.
        world: where it lies.
        jobs: the jobs, by name.
        begin: is told what is run next.
    """
    if case.ray:
        begin("Ray's start")
        start_ray()
    for i, command in enumerate(case.commands):
        verdict = Verdict(f"{case.number}.{i}", str(command), case.start, None)
        began, cpu = time.monotonic(), time.process_time()
        begin(f"{verdict.place}\n{command}\n{case.start}")
        verdict.wrong = _judge(case, command, world, jobs, verdict)
        verdict.seconds, verdict.cpu_s = time.monotonic() - began, time.process_time() - cpu
        yield verdict


def _judge(case: Case, command: Command, world: World, jobs: Jobs, verdict: Verdict) -> list[str]:
    job = jobs[command.job]
    dry = "--dry-run" in command.argv
    stages = issubclass(job.options, StageConfig)
    wrong: list[str] = []

    def run(one: Command, may_write: bool, what: str = "") -> Outcome:
        before = world.state(*(one.writes if may_write else ()))
        alone = not has_ray()
        outcome = perform(job, one, LIMIT_S)
        after = world.state(*(one.writes if may_write else ()))
        told = check_outcome(outcome)
        if alone and has_ray():
            told.append("it started Ray, with one worker")
            sys.modules["ray"].shutdown()
        if changed := changes(before, after):
            told.append(f"{changed[0]}{f' and {len(changed) - 1} more' if len(changed) > 1 else ''}")
        wrong.extend(f"{what}{line}" for line in told)
        if told or not verdict.told:
            verdict.told = (outcome.trace + outcome.stderr).strip()[-3_000:]
        return outcome

    since = time.time_ns()
    dry_status = None
    if stages and not dry and case.number % 4 == 0:
        verdict.runs += 1
        dry_command = Command(
            command.job, (*command.argv, "--dry-run"), command.cwd, command.env, command.writes, command.fresh
        )
        dry_status = run(dry_command, False, "with --dry-run: ").status
    outcome = run(command, not dry)
    verdict.status = outcome.status
    if dry_status == 2 and outcome.status == 0:
        wrong.append("it is done, and refused with --dry-run")
    out = command.out
    if outcome.status == 0 and not dry and out is not None and (out / "run.json").is_file() and case.whole:
        wrong += check_run(out, since if case.start != "nothing" else 0)
    foreign = case.commands[0].writes[0] / "mine.txt" if command.writes else None
    if foreign is not None and "mine.txt" in case.start and not foreign.exists():
        wrong.append("a file that no job wrote was removed")
    if outcome.status == 0 and not dry and not wrong and not command.fresh:
        verdict.runs += 1
        again = command.without("--redo")
        repeated = run(again, True, "the same again: ")
        if repeated.status:
            wrong.append(f"the same again: its status is {repeated.status}: {repeated.stderr.strip()[-300:]}")
        elif stages and "already done" not in repeated.stderr:
            wrong.append("the same again: it does not say that it was done before")
    return list(dict.fromkeys(wrong))


def has_ray() -> bool:
    """Tell whether this process has a Ray."""
    return "ray" in sys.modules and bool(sys.modules["ray"].is_initialized())


def start_ray() -> None:
    """Start one small Ray for all cases of this process that ask for workers, with tasks in the place of actors."""
    from jobs.engine import fan_out
    from jobs.engine.connect import connect

    choose = fan_out.choose_pool
    if choose.__name__ != "tasks":

        def tasks(most: int, *_: Any, **__: Any) -> Any:
            return choose(most, False, 1)

        fan_out.choose_pool = tasks
        connect(2)


def work(root: Path, seed: int, to: Connection) -> None:
    """Run the cases whose numbers come, until none does; what was found goes back."""
    devnull = os.open(os.devnull, os.O_RDONLY)
    os.dup2(devnull, 0)
    root.parent.mkdir(parents=True, exist_ok=True)
    with open(root.parent / "hang.txt", "w") as stacks:
        faulthandler.register(signal.SIGUSR1, stacks, all_threads=False)
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        os.chdir(ROOT)
        os.environ["PYTHONPATH"] = str(ROOT)
        os.environ["MPLCONFIGDIR"] = str(root.parent / "matplotlib")
        world, jobs = World(root), find_jobs()
        if not world.models.exists():
            shutil.rmtree(root, ignore_errors=True)  # where it was begun and not finished
            world.make()
        while (number := to.recv()) is not None:
            try:
                case = Drawing(world, seed, number).draw()
                for verdict in run_case(case, world, jobs, lambda text: to.send(("begin", text))):
                    to.send(("verdict", verdict))
            except Exception:
                to.send(("broken", traceback.format_exc()))
            to.send(("done", None))


class Worker:
    """A process that runs cases, watched over from here.

    Args:
        root: where it makes its world, or has one.
        seed: what is drawn.
        limit_s: seconds that a command may take.
        target: what it runs, `work`.
    """

    def __init__(self, root: Path, seed: int, limit_s: float, target: Callable[..., None] = work) -> None:
        self.root, self.limit_s = root, limit_s
        context = multiprocessing.get_context("spawn")
        self.own, theirs = context.Pipe()
        self.process = context.Process(target=target, args=(root, seed, theirs))
        self.process.start()
        theirs.close()
        self.cases, self.hangs = 0, False

    def run(self, number: int) -> Iterator[Verdict]:
        """Run a case; a command that does not end, or ends this process, is a verdict too, and ends the worker.

        Raises:
            RuntimeError: the driver itself is at fault.
        """
        self.own.send(number)
        self.cases += 1
        doing, began = "", time.monotonic()
        while True:
            # Models and finished runs are made before a case's first command; each is run three times at most.
            if not self.own.poll(3 * self.limit_s if doing else START_S):
                yield self._lost(number, doing, f"it does not end: {self._stack()}", time.monotonic() - began)
                return
            try:
                kind, held = self.own.recv()
            except (EOFError, OSError) as error:
                self.process.join()
                if not doing:
                    raise RuntimeError("the driver's own process ended before a command was run") from error
                why = f"it ended the whole process with status {self.process.exitcode}"
                yield self._lost(number, doing, why, time.monotonic() - began)
                return
            if kind == "begin":
                doing, began = held, time.monotonic()
            elif kind == "verdict":
                if held.seconds > self.limit_s * held.runs:
                    held.wrong.append(f"it took {held.seconds:.0f} s")
                yield held
            elif kind == "broken":
                raise RuntimeError(f"case {number}: the driver itself is at fault\n{held}")
            else:
                return

    def _lost(self, number: int, doing: str, why: str, seconds: float) -> Verdict:
        place, command, start = [*doing.split("\n", 2), "", ""][:3] if doing.count("\n") else (str(number), doing, "")
        self.hangs = True
        self.end()
        return Verdict(place, command, start, None, [why], seconds=seconds)

    def _stack(self) -> str:
        """Return where the process is."""
        if self.process.pid is None:
            return ""
        os.kill(self.process.pid, signal.SIGUSR1)
        time.sleep(1.0)
        file = self.root.parent / "hang.txt"
        lines = file.read_text().splitlines() if file.exists() else []
        return " < ".join(
            re.sub(r'.*/(\S+)", line (\d+) in (\S+)', r"\1:\2 \3", line.strip())
            for line in lines[:25]
            if "File" in line
        )[:400]

    @property
    def alive(self) -> bool:
        """Whether it may run another case."""
        return self.process.is_alive() and self.cases < FRESH_EVERY

    def end(self) -> None:
        """End the process."""
        if self.process.is_alive():
            with contextlib.suppress(OSError):
                if not self.hangs:
                    self.own.send(None)
                    self.process.join(10)
            if self.process.is_alive():
                self.process.kill()
        self.process.join()
        self.own.close()


class Driver:
    """Hands out cases to processes, and keeps the verdicts.

    Args:
        seed: what is drawn.
        first: number of the first case.
        limit_s: seconds that a command may take.
        show: say every verdict, not only those on broken promises.
        folder: where the worlds are made, or lie since another call.
    """

    def __init__(self, seed: int, first: int, limit_s: float, show: bool, folder: Path) -> None:
        self.seed, self.first, self.limit_s, self.show = seed, first, limit_s, show
        self.folder = folder
        self.verdicts: list[Verdict] = []
        self.cases = 0
        self.began = self.said = time.monotonic()
        self.over = False
        self.lock = threading.Lock()

    def run(self, processes: int, commands: int, cases: int, minutes: float) -> None:
        """Run cases by several processes until there are enough of them, or of commands, or the time is over."""
        self.commands, self.most, self.until = commands, cases, self.began + 60 * minutes
        with ThreadPoolExecutor(processes) as threads:
            try:
                for ended in [threads.submit(self._keep_busy, place) for place in range(processes)]:
                    ended.result()
            finally:
                self.over = True

    def _keep_busy(self, place: int) -> None:
        worker: Worker | None = None
        try:
            while (number := self._next()) is not None:
                if worker is None or not worker.alive:
                    if worker is not None:
                        worker.end()
                    worker = Worker(self.folder / str(place) / "world", self.seed, self.limit_s)
                for verdict in worker.run(number):
                    self._take(verdict)
        except BaseException:
            self.over = True
            raise
        finally:
            if worker is not None:
                worker.end()

    def _next(self) -> int | None:
        with self.lock:
            enough = len(self.verdicts) >= self.commands or self.cases >= self.most or time.monotonic() > self.until
            if self.over or enough:
                return None
            self.cases += 1
            return self.first + self.cases - 1

    def _take(self, verdict: Verdict) -> None:
        with self.lock:
            self.verdicts.append(verdict)
            if verdict.wrong or self.show:
                print(describe(verdict), flush=True)
            if time.monotonic() - self.said > SAY_EVERY_S:
                self.said = time.monotonic()
                print(self.summary(), flush=True)

    def summary(self) -> str:
        """Return how many commands were run and how many met the promises."""
        verdicts, seconds = self.verdicts, time.monotonic() - self.began
        met, count = sum(not verdict.wrong for verdict in verdicts), max(len(verdicts), 1)
        runs, cpu = sum(verdict.runs for verdict in verdicts), sum(verdict.cpu_s for verdict in verdicts)
        by_status = Counter(verdict.status for verdict in verdicts)
        statuses = ", ".join(f"{by_status[status]:,} of status {status}" for status in (0, 1, 2))
        return (
            f"seed {self.seed}: {met:,} of {len(verdicts):,} commands met the promises ({statuses}; {self.cases:,} "
            f"cases, {runs:,} runs with dry runs and repeats), {seconds:.0f} s: {seconds / count:.2f} s a command, "
            f"{cpu / count:.2f} s of a core"
        )


def drive(
    seed: int,
    commands: int,
    minutes: float,
    only: int | None,
    first: int,
    limit_s: float,
    processes: int,
    show: bool,
    folder: Path | None,
) -> int:
    """Run cases until there are enough commands or the time is over, say what was found, return the exit status."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # also where a shell in the background ignores it
    place = folder or Path(tempfile.mkdtemp(prefix="atlas-fuzz-"))
    driver = Driver(seed, first if only is None else only, limit_s, show or only is not None, place.absolute())
    try:
        driver.run(1 if only is not None else processes, commands, 1 if only is not None else sys.maxsize, minutes)
    except KeyboardInterrupt:
        print("stopped")
    finally:
        if only is None and folder is None:
            shutil.rmtree(driver.folder, ignore_errors=True)
    broke = [verdict for verdict in driver.verdicts if verdict.wrong]
    print("\n" + driver.summary())
    for kind, found in kinds(broke).items():
        print(f"\n{len(found)} x {kind}")
        for verdict in found[:3]:
            print(f"    {again(seed, verdict)}")
    if only is not None:
        print(f"its folder is {driver.folder}/0/world/case")
    return 1 if broke else 0


def describe(verdict: Verdict) -> str:
    """Return all that is known of one command."""
    lines = [
        f"--- {verdict.place} after {verdict.start}: status {verdict.status}, {verdict.seconds:.1f} s",
        f"    {verdict.command}",
    ]
    lines += [f"    {'! ' if verdict.wrong else ''}{line}" for line in verdict.wrong or ["met its promises"]]
    told = verdict.told.splitlines()[-25 if verdict.wrong else -1 :]
    return "\n".join([*lines, *(f"    | {line}" for line in told)])


def again(seed: int, verdict: Verdict) -> str:
    """Return the command that runs a case again."""
    return f"python -m tests.fuzz --seed {seed} --only {verdict.place.partition('.')[0]}   # {verdict.place}"


def kinds(broke: list[Verdict]) -> dict[str, list[Verdict]]:
    """Return the commands that broke promises by job and by what was wrong, numbers and paths aside."""
    found: dict[str, list[Verdict]] = {}
    for verdict in broke:
        job = re.search(r"jobs\.(\w+)", verdict.command)
        what = re.sub(r"/\S+|'[^']*'|\d[\d.,]*", "…", verdict.wrong[0])[:150]
        found.setdefault(f"{job[1] if job else '?'}: {what}", []).append(verdict)
    return dict(sorted(found.items(), key=lambda item: -len(item[1])))


def main() -> int:
    """Read the driver's own command line."""
    import argparse

    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--commands", type=int, default=2_000)
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--only", type=int, help="number of the one case to run, whose folder is kept")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--limit-s", type=float, default=LIMIT_S, help="seconds that a command may take")
    parser.add_argument(
        "--processes", type=int, default=2, help="processes that run cases, each with a world of its own"
    )
    parser.add_argument("--show", action="store_true", help="say every command, not only those that broke a promise")
    parser.add_argument(
        "--folder", type=Path, help="where models and runs are kept for the next call; none given: nowhere"
    )
    return drive(**vars(parser.parse_args()))


if __name__ == "__main__":
    sys.exit(main())
