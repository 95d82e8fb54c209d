"""What all benchmarks share: options from signatures, the printed line, and the exit status."""

import json
import sys
from types import ModuleType
from typing import Any, Literal

import pytest

from bench.harness import Result, run
from bench.resources import Seconds, interleaved, processor_ratio
from ops.errors import InputError


def measure(
    out: str, count: int = 3, sizes: tuple[int, ...] = (1, 2), quick: bool = False,
    device: Literal["cpu", "cuda"] = "cpu", folder: str | None = None,
) -> Result:  # fmt: skip
    """Return what was given.

    Args:
        out: a folder that
            must be given.
        count: a number of things, 50 % of them real.
        sizes: some sizes.
        quick: whether to hurry.
        device: where.
        folder: another folder.
    """
    if out == "wrong":
        raise InputError("--out wrong: is not there")
    return {"given": [out, count, list(sizes), quick, device, folder], "none": 0, "good": out != "bad"}


@pytest.fixture(autouse=True)
def benchmark(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("bench.tried")
    module.measure = measure  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "bench.tried", module)


@pytest.mark.parametrize(
    ("words", "given"),
    [
        ("--out a", ["a", 3, [1, 2], False, "cpu", None]),
        ("--out a --sizes 4 5 --sizes 6 --count 1 --quick", ["a", 1, [4, 5, 6], True, "cpu", None]),
        ("--out a --device cuda --folder b", ["a", 3, [1, 2], False, "cuda", "b"]),
    ],
)
def test_options_are_those_of_the_function(words: str, given: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert run("tried", words.split()) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["given"] == given
    assert found["bench"] == "tried"
    assert {"processor", "load"} < found.keys()


def test_the_status_tells_what_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("tried", ["--out", "bad"]) == 1
    assert run("tried", ["--out", "wrong"]) == 2
    assert capsys.readouterr().err == "error: bench tried: --out wrong: is not there\n"
    for words in ("--count 1", "--out a --device tpu", "--out a --count many", "--out a --unknown"):
        assert run("tried", words.split()) == 2
        assert capsys.readouterr().err.startswith("error: bench tried: ")


def test_the_help_has_every_option_with_its_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("tried", ["--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "--out" in text
    assert "must be given. [required]" in text
    assert "a number of things, 50 % of them real." in text


def test_each_round_calls_all_functions_in_turn_and_the_first_does_not_count() -> None:
    calls: list[str] = []
    seconds = interleaved({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, 2)
    assert calls == ["a", "b"] * 3
    assert [len(each) for each in seconds.values()] == [2, 2]


def test_a_ratio_is_the_median_over_rounds() -> None:
    ours, others = ([Seconds(0.0, s) for s in times] for times in ((2.0, 9.0, 8.0), (1.0, 1.0, 2.0)))
    assert processor_ratio(ours, others) == 4.0
