"""Run cases in a few processes, each command in a fork, and report which commands broke a promise."""

import contextlib
import io
import math
import os
import shutil
import signal
import tempfile
import time
from collections import Counter
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from itertools import count
from multiprocessing import get_context
from pathlib import Path

from jobs.options.configs import StageConfig
from tests.all_jobs import find_jobs
from tests.blank_figures import blank_figures
from tests.conftest import ROOT
from tests.fuzz.commands import RUNS, Drawing
from tests.fuzz.models import make_models
from tests.fuzz.perform import LIMIT_S, Command, Outcome, perform
from tests.fuzz.promises import check_outcome, check_run
from tests.fuzz.world import World, changes

SAY_EVERY_S = 15.0  # between two lines of progress
MOST_MENDED = 3  # times that a refused command is changed as its error says


@dataclass
class Verdict:
    """What is known of one command: `case` repeats it and those around it, `wrong` are the promises it broke."""

    case: str
    command: str
    start: str
    status: int | None = None
    wrong: list[str] = field(default_factory=list)
    stderr: str = ""

    def __str__(self) -> str:
        lines = [f"--- {self.case}   # after {self.start}: status {self.status}", self.command]
        lines += [f"! {line}" for line in self.wrong]
        return "\n    ".join([*lines, *(f"| {line}" for line in self.stderr.splitlines()[-25 if self.wrong else -1 :])])


def judge(case: str, drawing: Drawing, command: Command, try_dry: bool) -> Verdict:
    """Run a command, its dry run and the same again, and return which promises it broke."""
    verdict, world = Verdict(case, str(command), drawing.start), drawing.world
    job, dry, began = find_jobs()[command.job], "--dry-run" in command.argv, time.time_ns()
    of_stages = issubclass(job.options, StageConfig)

    def run(one: Command, may_write: bool, what: str = "") -> Outcome:
        writes = one.writes if may_write else ()
        before = world.state(*writes)
        outcome = perform(job, one)
        wrong = [*check_outcome(outcome), *changes(before, world.state(*writes))[:1]]
        if outcome.seconds > LIMIT_S:
            wrong.append(f"it took over {LIMIT_S} s")
        verdict.wrong += [f"{what}{line}" for line in wrong]
        if wrong or not verdict.stderr:
            verdict.stderr = outcome.stderr.strip()[-3_000:]
        return outcome

    if try_dry and of_stages and not dry:
        verdict.status = run(command.with_words("--dry-run"), False, "with --dry-run: ").status
    refused, outcome = verdict.status == 2, run(command, not dry)
    verdict.status = outcome.status
    if outcome.status == 0 and not dry:
        if refused:
            verdict.wrong.append("it is done, and refused with --dry-run")
        if of_stages and drawing.whole and (command.writes[0] / "run.json").is_file():
            verdict.wrong += check_run(command.writes[0], began)
        if not verdict.wrong and not command.fresh:
            again = run(command.with_words(without="--redo"), True, "the same again: ")
            if again.status:
                verdict.wrong.append(f"the same again: its status is {again.status}")
            elif of_stages and "already done" not in again.stderr:
                verdict.wrong.append("the same again: it does not say that it was done before")
    return verdict


def run_case(root: Path, seed: int, number: int) -> list[Verdict]:
    """Run the commands of a case and return the verdicts; one case in 4 has dry runs, one in 16 draws figures."""
    drawing, verdicts = Drawing(World(root, f"case-{os.getpid()}"), seed, number), list[Verdict]()
    case = f"python -m tests.fuzz --seed {seed} --only {number}"
    drawing.begin()
    with blank_figures() if number % 16 else contextlib.nullcontext():
        for _ in range(drawing.rng.choice((1, 1, 2, 3))):
            command: Command | None = drawing.command()
            for _ in range(MOST_MENDED + 1):
                if command:
                    verdicts.append(verdict := judge(case, drawing, command, number % 4 == 0))
                    error = verdict.stderr.rpartition("\n")[2]
                    command = drawing.mended(error) if verdict.status == 2 else None
    return verdicts


def prepare(world: World) -> None:
    """Make the models and the finished runs in this process, which so imports all that its forks use."""
    os.chdir(ROOT)
    os.environ |= world.variables()
    world.make()
    make_models(world.models)
    for name, (_, jobs) in RUNS.items():
        for job in jobs:
            drawing, error = Drawing(world, 0, 0), ""
            command: Command | None = drawing.making(name, job)
            for _ in range(MOST_MENDED + 1):
                if command:
                    lines = io.StringIO()
                    with contextlib.redirect_stderr(lines), contextlib.redirect_stdout(io.StringIO()), blank_figures():
                        status = find_jobs()[job].main(list(command.argv))
                    if status > 2:  # it was interrupted
                        raise KeyboardInterrupt
                    error = lines.getvalue().splitlines()[-1] if status else ""
                    command = drawing.mended(error) if status == 2 else None
            if error:
                print(f"without {job} in the run {name!r}: {error}", flush=True)


def drive(
    seed: int = 0, commands: int = 2_000, minutes: float = math.inf, only: int | None = None, processes: int = 2
) -> int:
    """Run hostile commands, report which of them broke a promise, and return the exit status.

    Args:
        seed: the seed from which they are drawn.
        commands, minutes: no case begins after this many commands or minutes.
        only: the number of the one case to run, whose folder is kept.
        processes: the number of cases at a time.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    root = Path(tempfile.mkdtemp(prefix="atlas-fuzz-")).absolute()
    numbers = iter(count() if only is None else [only])
    began = said = time.monotonic()
    verdicts: list[Verdict] = []
    running: set[Future[list[Verdict]]] = set()
    try:
        prepare(World(root))
        began = time.monotonic()
        with ProcessPoolExecutor(processes, get_context("fork")) as pool:
            while True:
                over = len(verdicts) >= commands or time.monotonic() - began > 60 * minutes
                while not over and len(running) < processes and (number := next(numbers, None)) is not None:
                    running.add(pool.submit(run_case, root, seed, number))
                if not running:
                    break
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for verdict in [verdict for future in done for verdict in future.result()]:
                    verdicts.append(verdict)
                    if verdict.wrong or only is not None:
                        print(verdict, flush=True)
                if time.monotonic() - said > SAY_EVERY_S:
                    said = time.monotonic()
                    print(summary(seed, verdicts, said - began), flush=True)
    except KeyboardInterrupt:
        print("stopped")
    finally:
        if only is None:
            shutil.rmtree(root, ignore_errors=True)
    print("\n" + summary(seed, verdicts, time.monotonic() - began))
    if only is not None:
        print(f"its folder is in {root}")
    return int(any(verdict.wrong for verdict in verdicts))


def summary(seed: int, verdicts: list[Verdict], seconds: float) -> str:
    """Return how many commands were run and how many kept the promises."""
    by_status, kept = Counter(verdict.status for verdict in verdicts), sum(not verdict.wrong for verdict in verdicts)
    statuses = ", ".join(f"{by_status[status]:,} of status {status}" for status in (0, 1, 2))
    return f"seed {seed}: {kept:,} of {len(verdicts):,} commands kept the promises ({statuses}), {seconds:.0f} s"
