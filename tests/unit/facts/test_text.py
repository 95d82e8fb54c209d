import ast
import re
from pathlib import Path

import ops.facts
import ops.show
from ops.facts.text import interval, number


def forms_of_numbers(source: str) -> list[str]:
    """Return the forms in f-strings that write a number with decimals or digits."""
    nodes = [node.format_spec for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FormattedValue)]
    return [form for form in map(ast.unparse, filter(None, nodes)) if re.search(r"\.[\w{}]+[fge%]\W", form)]


def test_null_is_a_dash_and_an_interval_without_ends_is_left_out() -> None:
    assert [number(None, ".2f"), number(1.25, ".2f"), number(1.25, "+.1f")] == ["-", "1.25", "+1.2"]
    assert [number(None, ".0f %"), number(0.125, ".3g %")] == ["-", "12.5 %"]
    assert [interval(None, 1.0, ".1f"), interval(0.5, 1.0, ".1f")] == ["", " (0.5 to 1.0)"]


def test_only_these_functions_format_numbers_that_may_be_null() -> None:
    assert forms_of_numbers("f'{row[x]:>7.3f}'")
    rooms = [Path(room.__file__).parent for room in (ops.facts, ops.show)]
    files = [path for room in rooms for path in room.glob("*.py") if path.name != "text.py"]
    assert not [f"{path.name}: {text}" for path in files for text in forms_of_numbers(path.read_text())]
