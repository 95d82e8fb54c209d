"""What a user sees of a step: a bar that goes, lines in a log, and one line a step that stays."""

import io
import math
import re
import sys
import time
from collections.abc import Callable

import pytest

from jobs.engine.progress import Progress, say
from ops.clock import duration


class Terminal(io.StringIO):
    """A terminal: what is written to it, and what of it can be read there."""

    def isatty(self) -> bool:
        return True

    def screen(self) -> list[str]:
        lines, row, column = [""], 0, 0
        for part in re.findall(r"\r|\n|\x1b\[A|\x1b\[K|[^\r\n\x1b]+", self.getvalue()):
            if part == "\r":
                column = 0
            elif part == "\n":
                row, column = row + 1, 0
                lines += [""] * (row + 1 - len(lines))
            elif part == "\x1b[A":
                row -= 1
            elif part == "\x1b[K":
                lines[row] = lines[row][:column]
            else:
                lines[row] = lines[row][:column].ljust(column) + part + lines[row][column + len(part) :]
                column += len(part)
        return [line.rstrip() for line in lines if line.strip()]


class Log(io.StringIO):
    """A file that is no terminal."""


def shown(monkeypatch: pytest.MonkeyPatch, file: io.StringIO) -> io.StringIO:
    monkeypatch.setattr(sys, "stderr", file)
    return file


def wait_for(met: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not met():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_on_a_terminal_a_bar_goes_and_one_line_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    shown(monkeypatch, terminal)
    with Progress("topk", 5, "shards", done=2, work=("sentences", 500)) as progress:
        assert len(terminal.screen()) == 1
        assert "topk: 2 of 5 shards" in terminal.screen()[0]
        for done in (3, 4, 5):
            progress.add(100)
            assert progress.bar is not None
            progress.bar.refresh()
            assert f"topk: {done} of 5 shards" in terminal.screen()[0]
            assert f"{100 * (done - 2)} sentences, " in terminal.screen()[0]
    [line] = terminal.screen()
    assert re.fullmatch(r"topk: 5 of 5 shards \(2 already done\), 300 sentences, [\d,]+ a second, \d+ s", line)


def test_a_line_beside_the_bar_does_not_break_it(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    shown(monkeypatch, terminal)
    with Progress("topk", 2, "shards") as progress:
        say("topk: a word")
        assert terminal.screen()[0] == "topk: a word"
        assert terminal.screen()[1].startswith("topk: 0 of 2 shards |")
        progress.add()
        progress.add()
    assert terminal.screen() == ["topk: a word", "topk: 2 of 2 shards, 0 s"]


def test_a_bar_goes_on_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    shown(monkeypatch, terminal)

    def fail() -> None:
        written = len(terminal.getvalue())
        wait_for(lambda: len(terminal.getvalue()) > written)
        raise ArithmeticError

    with pytest.raises(ArithmeticError), Progress("topk", 2, "shards"):
        fail()
    assert terminal.screen() == []


def test_a_log_says_that_it_waits_then_what_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log()
    shown(monkeypatch, log)
    with Progress("topk", 3, "shards", done=1, work=("sentences", 300), every=0.01) as progress:
        wait_for(lambda: log.getvalue().count("waiting for the first") >= 2)
        progress.every = 1e9  # from here on it is said at once, or not at all
        progress.add(100)
        progress.add(100)
    lines = log.getvalue().splitlines()
    assert lines[0] == "topk: 1 of 3 shards were already done"
    assert re.fullmatch(r"topk: 1 of 3 shards, waiting for the first, \d+ s", lines[1])
    assert re.fullmatch(r"topk: 2 of 3 shards, 100 sentences, [\d,]+ a second, about .* left", lines[-2])
    assert re.fullmatch(r"topk: 3 of 3 shards, 200 sentences, [\d,]+ a second, \d+ s", lines[-1])
    assert all("\r" not in line and "\x1b" not in line for line in lines)


def test_a_log_counts_the_sentences_of_items_that_take_long(monkeypatch: pytest.MonkeyPatch) -> None:
    log, inside = Log(), [0]
    shown(monkeypatch, log)
    with Progress("topk", 2, "shards", work=("sentences", 200), every=0.01, under_way=lambda: inside[0]) as progress:
        wait_for(lambda: "waiting for the first" in log.getvalue())
        inside[0] = 50
        wait_for(lambda: " 50 sentences, " in log.getvalue())
        progress.add(100)
        wait_for(lambda: " 150 sentences, " in log.getvalue())
        inside[0] = 0
        progress.add(100)
    first, second = (next(row for row in log.getvalue().splitlines() if f" {n} " in row) for n in (50, 150))
    assert re.fullmatch(r"topk: 0 of 2 shards, 50 sentences, [\d,]+ a second, about .* left", first)
    assert re.fullmatch(r"topk: 1 of 2 shards, 150 sentences, [\d,]+ a second, about .* left", second)


@pytest.mark.parametrize("kind", [Log, Terminal])
def test_the_time_left_is_estimated_after_a_tenth_of_the_work_or_twenty_seconds(
    kind: type[io.StringIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    def add(progress: Progress) -> str:
        progress.said = -math.inf
        progress.add(10)
        if progress.bar is not None:
            progress.bar.refresh()
        return re.split("[\r\n]", file.getvalue().rstrip())[-1]

    file = shown(monkeypatch, kind())
    with Progress("topk", 100, "shards", work=("sentences", 1_000), every=1e9) as progress:
        lines = [add(progress) for _ in range(10)]
    assert [("left" in line, f" {10 * done} sentences" in line) for done, line in enumerate(lines, 1)] == [
        *[(False, True)] * 9,
        (True, True),
    ]
    file = shown(monkeypatch, kind())
    with Progress("topk", 100, "shards", work=("sentences", 1_000), every=1e9) as progress:
        assert "left" not in add(progress)
        progress.started -= 20
        assert ", about 16 min left" in add(progress)


def test_times_for_people() -> None:
    assert [duration(s) for s in (42, 100, 200, 5_900, 7_800)] == ["42 s", "2 min", "3 min", "98 min", "2 h 10 min"]
