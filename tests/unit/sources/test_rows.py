from datetime import date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.errors import InputError
from ops.sources.rows import Broken, Row, broken, excerpt, scalar_text, to_row


def test_a_good_row_is_kept_as_it_is() -> None:
    assert to_row("  Grüße 😀 ", "d", {"a": "b"}) == Row("  Grüße 😀 ", "d", {"a": "b"})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, Broken("", "d", "empty")),
        (" \t\n\u3000", Broken("", "d", "empty")),
        ("a\0b", Broken("a\ufffdb", "d", "invalid_text")),
        ("a\udc80b", Broken("a\ufffdb", "d", "invalid_text")),
        (7, Broken("7", "d", "invalid_text")),
        (["a"], Broken("(list)", "d", "invalid_text")),
        ("\0" + "x" * 300, Broken("\ufffd" + "x" * 199, "d", "invalid_text")),
    ],
)
def test_what_cannot_be_used(text: object, expected: Broken) -> None:
    assert to_row(text, "d", {}) == expected


@given(st.text(st.characters(), max_size=300))
def test_excerpts_are_always_valid(text: str) -> None:
    shown = excerpt(text + "\ud800\0")
    shown.encode()
    assert "\0" not in shown
    assert len(shown) <= 200


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (True, "true"),
        (False, "false"),
        (3, "3"),
        (0.1, "0.1"),
        (1.0, "1.0"),
        ("007", "007"),
        ("", ""),
        (None, None),
        ([1], None),
        ({}, None),
        (date(2020, 1, 2), "2020-01-02"),
        (datetime(2020, 1, 2, 3), "2020-01-02T03:00:00"),
    ],
)
def test_scalars_as_metadata(value: object, expected: str | None) -> None:
    assert scalar_text(value) == expected


def test_a_broken_place_fails_or_is_recorded() -> None:
    assert broken("f", "row 3", "odd", "f:3", "x", "reject") == Broken("x", "f:3", "broken")
    with pytest.raises(InputError, match=r"^f: row 3: odd; .*--on-error reject$"):
        broken("f", "row 3", "odd", "f:3", "x", "fail")
