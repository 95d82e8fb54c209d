"""Run cases in a few processes, each command in a fork, and report which commands broke a promise."""

import argparse
import contextlib
import io
import os
import re
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

from jobs.stage.options import StageConfig
from tests.all_jobs import find_jobs
from tests.conftest import ROOT
from tests.fuzz.commands import RUNS, Case, Drawing
from tests.fuzz.models import make_models
from tests.fuzz.perform import LIMIT_S, Command, Outcome, perform
from tests.fuzz.promises import check_outcome, check_run
from tests.fuzz.world import World, changes

SAY_EVERY_S = 15.0  # between two lines of progress


@dataclass
class Verdict:
    """What is known of one command: `place` is its case and its place there, `wrong` the promises that it broke."""

    place: str
    command: str
    start: str
    status: int | None = None
    wrong: list[str] = field(default_factory=list)
    stderr: str = ""

    def __str__(self) -> str:
        lines = [f"--- {self.place} after {self.start}: status {self.status}", self.command]
        lines += [f"! {line}" for line in self.wrong]
        return "\n    ".join([*lines, *(f"| {line}" for line in self.stderr.splitlines()[-25 if self.wrong else -1 :])])


def judge(place: str, case: Case, command: Command, world: World, try_dry: bool) -> Verdict:
    """Run a command, its dry run and the same again, and return which promises it broke."""
    verdict = Verdict(place, str(command), case.start)
    job, dry, began = find_jobs()[command.job], "--dry-run" in command.argv, time.time_ns()
    of_stages = issubclass(job.options, StageConfig)

    def run(one: Command, may_write: bool, what: str = "") -> Outcome:
        writes = one.writes if may_write else ()
        before, started = world.state(*writes), time.monotonic()
        outcome = perform(job, one)
        wrong = [*check_outcome(outcome), *changes(before, world.state(*writes))[:1]]
        if time.monotonic() - started > LIMIT_S:
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
        if of_stages and case.whole and (command.writes[0] / "run.json").is_file():
            verdict.wrong += check_run(command.writes[0], began)
        if not verdict.wrong and not command.fresh:
            again = run(command.with_words(without="--redo"), True, "the same again: ")
            if again.status:
                verdict.wrong.append(f"the same again: its status is {again.status}")
            elif of_stages and "already done" not in again.stderr:
                verdict.wrong.append("the same again: it does not say that it was done before")
    return verdict


def run_case(root: Path, seed: int, number: int) -> list[Verdict]:
    """Draw a case, run its commands, and return a verdict on each."""
    world = World(root, f"case-{os.getpid()}")
    case = Drawing(world, seed, number).draw()
    return [judge(f"{number}.{i}", case, one, world, number % 4 == 0) for i, one in enumerate(case.commands)]


def prepare(world: World) -> None:
    """Make the models and the finished runs in this process, which so imports all that its forks use."""
    os.chdir(ROOT)
    os.environ |= world.variables()
    world.make()
    make_models(world.models)
    for name, (_, jobs) in RUNS.items():
        for job in jobs:
            command = Drawing(world, 0, 0).making(name, job)
            lines = io.StringIO()
            with contextlib.redirect_stderr(lines), contextlib.redirect_stdout(io.StringIO()):
                status = find_jobs()[job].main(list(command.argv))
            if status:
                print(f"without {job} in the run {name!r}: {lines.getvalue().splitlines()[-1]}", flush=True)


def drive(seed: int, commands: int, minutes: float, only: int | None, processes: int) -> int:
    """Run cases until there are enough commands or the time is over, say what is wrong, return the exit status."""
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
    kinds: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        if verdict.wrong:
            what = re.sub(r"/\S+|'[^']*'|\d[\d.,]*", "…", verdict.wrong[0])[:150]
            kinds.setdefault(f"{verdict.command.partition('-m ')[2].split()[0]}: {what}", []).append(verdict)
    for kind, broken in sorted(kinds.items(), key=lambda item: -len(item[1])):
        print(f"\n{len(broken)} x {kind}")
        for verdict in broken[:3]:
            print(
                f"    python -m tests.fuzz --seed {seed} --only {verdict.place.partition('.')[0]}   # {verdict.place}"
            )
    if only is not None:
        print(f"its folder is in {root}")
    return int(bool(kinds))


def summary(seed: int, verdicts: list[Verdict], seconds: float) -> str:
    """Return how many commands were run and how many kept the promises."""
    by_status, kept = Counter(verdict.status for verdict in verdicts), sum(not verdict.wrong for verdict in verdicts)
    statuses = ", ".join(f"{by_status[status]:,} of status {status}" for status in (0, 1, 2))
    return f"seed {seed}: {kept:,} of {len(verdicts):,} commands kept the promises ({statuses}), {seconds:.0f} s"


def main() -> int:
    """Read the driver's own command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--commands", type=int, default=2_000)
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--only", type=int, help="number of the one case to run, whose folder is kept")
    parser.add_argument("--processes", type=int, default=2)
    return drive(**vars(parser.parse_args()))
