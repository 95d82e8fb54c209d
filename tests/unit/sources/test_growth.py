import gzip
from pathlib import Path

import pytest

from ops.errors import InputError
from ops.sources.growth import MOST_GROWTH, MOST_ROWS, Growth
from ops.sources.pieces import pieces
from ops.sources.source import Piece
from ops.sources.spec import parse_source


def growth(path: Path) -> Growth:
    return Growth(pieces(parse_source(str(path)))[0])


def test_a_compressed_file_of_nothing_ends_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(b"a\n" * 100_000))
    bound = MOST_GROWTH * path.stat().st_size
    monkeypatch.setattr("ops.sources.growth.LEAST_CHARACTERS", 1_000)
    found = growth(path)
    found.check(9, bound, 0)
    found.check(99_999, 10 * bound, 1)
    found.check(10 * MOST_ROWS, 10 * bound, 1_000)
    with pytest.raises(InputError, match=r"gave 1 sentence that can be used in 1,000,001 rows"):
        found.check(MOST_ROWS + 1, 9, 1)
    for rows, characters in ((9, bound + 1), (MOST_ROWS + 1, 9)):
        with pytest.raises(
            InputError, match=r"a\.txt\.gz: gave no sentence that can be used in .* at 50 times its size"
        ):
            found.check(rows, characters, 0)


def test_what_is_not_compressed_may_hold_as_much_as_it_likes(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a\n")
    growth(tmp_path / "a.txt").check(1 << 40, 1 << 40, 0)
    for piece in (Piece("a", "pydocs", "json", "json", 0), Piece("a", "hub", "org/a.gz", "a.gz:train:0", 0)):
        Growth(piece).check(1 << 40, 1 << 40, 0)
