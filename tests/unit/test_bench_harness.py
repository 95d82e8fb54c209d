"""What all benchmarks share: options from signatures, the printed line, and the exit status."""

import json
import sys
from types import ModuleType
from typing import Annotated, Any, Literal

import pytest

from bench.harness import Result, run
from bench.timing import interleaved, processor_ratio
from ops.errors import InputError


def measure(
    out: str, count: int = 3, sizes: tuple[int, ...] = (1, 2), stable: Annotated[int, 240] = 0, quick: bool = False,
    device: Literal["cpu", "cuda"] = "cpu", folder: str | None = None,
) -> Result:  # fmt: skip
    """Return what was given.

    Args:
        out: a folder that
            must be given.
        count: a number of things, 50 % of them real.
        sizes: some sizes.
        stable: how stable.
        quick: whether to hurry.
        device: where.
        folder: another folder.
    """
    if out == "wrong":
        raise InputError("--out wrong: is not there")
    return {"given": [out, count, list(sizes), stable, quick, device, folder]}, out != "bad"


@pytest.fixture(autouse=True)
def benchmark(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("bench.tried")
    module.measure = measure  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "bench.tried", module)


@pytest.mark.parametrize(
    ("words", "given"),
    [
        ("--out a", ["a", 3, [1, 2], 0, False, "cpu", None]),
        ("--out a --stable --quick --json", ["a", 3, [1, 2], 240, True, "cpu", None]),
        ("--out a --stable 7 --sizes 4 5 --sizes 6 --count 1", ["a", 1, [4, 5, 6], 7, False, "cpu", None]),
        ("--out a --device cuda --folder b", ["a", 3, [1, 2], 0, False, "cuda", "b"]),
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
    for words in (["--count", "1"], ["--out", "a", "--device", "tpu"], ["--out", "a", "--count", "many"]):
        with pytest.raises(SystemExit) as refused:
            run("tried", words)
        assert refused.value.code == 2


def test_the_help_has_every_option_with_its_text(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run("tried", ["--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert "a folder that must be given." in text
    assert "a number of things, 50 % of them real. (default: 3)" in text


def test_each_round_calls_all_functions_in_turn_and_the_first_does_not_count() -> None:
    calls: list[str] = []
    seconds = interleaved({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, 2)
    assert calls == ["a", "b"] * 3
    assert [len(each) for each in seconds.values()] == [2, 2]


def test_a_ratio_is_the_median_over_rounds() -> None:
    from bench.timing import Seconds

    ours, others = ([Seconds(0.0, s) for s in times] for times in ((2.0, 9.0, 8.0), (1.0, 1.0, 2.0)))
    assert processor_ratio(ours, others) == 4.0
