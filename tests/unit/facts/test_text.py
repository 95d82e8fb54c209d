import re
from pathlib import Path

import ops.facts
import ops.show
from ops.facts.text import cell, interval, number, percent

OF_A_NUMBER = re.compile(r":[<>+,]*[\w{}]*,?\.[\w{}]+[fge%]\W")


def test_null_is_a_dash_and_an_interval_without_ends_is_left_out() -> None:
    assert [number(None, ".2f", 4), number(1.25, ".2f", 6), number(1.25, "+.1f")] == ["   -", "  1.25", "+1.2"]
    assert [percent(None, ".0f"), percent(0.125, ".3g")] == ["-", "12.5 %"]
    assert [interval(None, 1.0, ".1f"), interval(0.5, 1.0, ".1f")] == ["", " (0.5 to 1.0)"]


def test_a_cell_is_as_wide_as_asked_for_and_never_too_narrow_to_read() -> None:
    assert [cell("abc", 9), cell("a" * 20, 9), cell("a" * 20, -3)] == ["abc      ", "aaaaaa...", "aaaaa..."]


def test_only_these_functions_format_numbers_that_may_be_null() -> None:
    assert OF_A_NUMBER.search('f"{row[x]:>7.3f}"')
    rooms = [Path(room.__file__).parent for room in (ops.facts, ops.show)]
    files = [path for room in rooms for path in room.glob("*.py") if path.name != "text.py"]
    assert not [f"{path.name}: {text}" for path in files for text in OF_A_NUMBER.findall(path.read_text())]
