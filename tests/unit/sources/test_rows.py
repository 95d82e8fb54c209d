from datetime import datetime

from ops.sources.rows import Broken, Row, scalar_text, to_row

ROWS: list[tuple[object, Row | Broken]] = [
    ("  Grüße 😀 ", Row("  Grüße 😀 ", "d", {"a": "b"})),
    (None, Broken("", "d", "empty")),
    (" \t\n\u3000", Broken("", "d", "empty")),
    ("a\0b", Broken("a\ufffdb", "d", "invalid_text")),
    ("a\udc80b", Broken("a\ufffdb", "d", "invalid_text")),
    (7, Broken("7", "d", "invalid_text")),
    (["a"], Broken("(list)", "d", "invalid_text")),
    ("\0" + "x" * 300, Broken("\ufffd" + "x" * 199, "d", "invalid_text")),
]


def test_what_becomes_of_a_value() -> None:
    assert [to_row(text, "d", {"a": "b"}) for text, _ in ROWS] == [row for _, row in ROWS]
    scalars = [1.0, "", {}, datetime(2020, 1, 2, 3)]
    assert [scalar_text(value) for value in scalars] == ["1.0", "", None, "2020-01-02T03:00:00"]
