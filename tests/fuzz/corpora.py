"""Sources of every format and kind, drawn at random: ordinary text, and what no reader hopes for."""

import csv
import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Row = dict[str, Any]

SUBJECTS = [
    "cat",
    "dog",
    "bird",
    "horse",
    "teacher",
    "doctor",
    "child",
    "river",
    "green",
    "car",
    "old",
    "man",
    "young",
    "woman",
    "London",
    "bank",
]
VERBS = [
    "sees",
    "likes",
    "takes",
    "leaves",
    "finds",
    "their",
    "than",
    "then",
    "there",
    "two",
    "too",
    "to",
    "its",
    "it's",
    "your",
    "you're",
]
PLACES = ("in the house", "on the mat", "near the river", "at school", "of the city", "with a friend", "to two banks")
MARKS = (".", ".", "!", "?", ";", " ...")
SCRIPTS = (
    "これは猫です。犬も好きです。", "Это кошка. Это собака.", "هذه قطة وهذا كلب.", "यह एक बिल्ली है।", "זה חתול.",
    "Αυτή είναι μια γάτα.", "고양이가 집에 있다.", "ນີ້ແມ່ນແມວ", "ⴰⵣⵓⵍ", "Straße, naïve, Ærøskøbing",
)  # fmt: skip
ODD = (
    "", " ", "\t", "a", ".", "x" * 3_000, "word " * 900, "<b>bold</b> <script>alert(1)</script> &amp;",
    "😀 😃 👩‍👩‍👧‍👦 🏳️‍🌈",
    "\x1b[31mred\x1b[0m", "null\0byte", "\u202eright to left", "zero\u200bwidth\u200dhere", "﷽", "e\u0301" * 40,
    "\ufeffBOM", "\ufffd",
    "((((", "-LRB- -RRB- (NP (NN x))", "1 2 3 4 5 6 7 8 9", "...", "!!!???", "http://a.b/c?d=e#f", "a@b.c", "C:\\x\\y",
    "[CLS] [SEP] [MASK] [PAD]", "<s> </s> <unk> <mask>", "=1+1", "\"quoted\"", "'", "a\u2028b\u2029c", "line\rreturn",
)  # fmt: skip
NAMES = (
    "a", "b c", "-a", "a#b", "a?b", "a%20b", "é", "a=b", "a:b", "a,b", "a[1]", "a*", "\U0001f600", ".hidden", "a\nb",
    "x" * 200, "a'b", 'a"b', "a$b", "run", "~",
)  # fmt: skip


def sentence(rng: Random) -> str:
    """Return an English sentence, of few words, so that many of them share some."""
    words = ["The", rng.choice(SUBJECTS), rng.choice(VERBS), "the", rng.choice(SUBJECTS), rng.choice(PLACES)]
    if rng.random() < 0.4:
        words += ["and", "the", rng.choice(SUBJECTS), rng.choice(VERBS), str(rng.randrange(40))]
    return " ".join(words) + rng.choice(MARKS)


def ordinary_rows(rng: Random, count: int) -> list[Row]:
    """Return rows with the columns that the options of jobs name: labels, languages, translations."""
    return [
        {
            "text": sentence(rng),
            "doc_id": f"d{i // 3}",
            "topic": "abc"[i // 3 % 3],
            "language": ("en", "xx")[i % 2],
            "key": f"k{i // 2}",
            "answer": rng.choice(("yes", "no")),
        }
        for i in range(count)
    ]


def _copies(rng: Random, rows: list[Row]) -> list[Row]:
    return [dict(rows[0]) for _ in rows]


def _odd(rng: Random, rows: list[Row]) -> list[Row]:
    return [{**row, "text": rng.choice(ODD)} if rng.random() < 0.4 else row for row in rows]


def _scripts(rng: Random, rows: list[Row]) -> list[Row]:
    return [{**row, "text": f"{rng.choice(SCRIPTS)} {i}"} for i, row in enumerate(rows)]


def _only_odd(rng: Random, rows: list[Row]) -> list[Row]:
    return [{**row, "text": rng.choice(ODD)} for row in rows]


def _few(rng: Random, rows: list[Row]) -> list[Row]:
    return rows[: rng.choice((0, 1, 1, 2, 3, 5))]


def _one_word(rng: Random, rows: list[Row]) -> list[Row]:
    return [{**row, "text": rng.choice(SUBJECTS)} for row in rows]


def _odd_types(rng: Random, rows: list[Row]) -> list[Row]:
    column = rng.choice(("doc_id", "topic", "language", "key", "text"))
    value = rng.choice((None, 3, 2.5, True, "", " ", "x" * 300, "é\n", "NaN"))
    return [{**row, column: value} for row in rows]


def _no_column(rng: Random, rows: list[Row]) -> list[Row]:
    gone = rng.choice(("doc_id", "topic", "language", "text"))
    return [{name: value for name, value in row.items() if name != gone} for row in rows]


def _one_document(rng: Random, rows: list[Row]) -> list[Row]:
    return [{**row, "doc_id": "one", "topic": "same"} for row in rows]


def _long(rng: Random, rows: list[Row]) -> list[Row]:
    return [
        {**row, "text": " ".join(row["text"] for _ in range(60))} if i % 5 == 0 else row for i, row in enumerate(rows)
    ]


KINDS: tuple[Callable[[Random, list[Row]], list[Row]], ...] = (
    _copies, _odd, _odd, _scripts, _only_odd, _few, _few, _one_word, _odd_types, _odd_types, _no_column,
    _one_document, _long,
)  # fmt: skip


def as_text(rows: list[Row]) -> bytes:
    """Return the rows' texts, one a line."""
    return "".join(f"{row.get('text')}\n" for row in rows).encode("utf-8", "surrogatepass")


def as_jsonl(rows: list[Row]) -> bytes:
    """Return one JSON object a line."""
    return "".join(json.dumps(row, ensure_ascii=i % 2 == 0) + "\n" for i, row in enumerate(rows)).encode()


def as_csv(rows: list[Row]) -> bytes:
    """Return the rows below a header."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]) if rows else ["text"])
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def as_parquet(rows: list[Row]) -> bytes:
    """Return the rows as a Parquet file of small row groups."""
    stream = io.BytesIO()
    table = pa.Table.from_pylist(rows) if rows else pa.table({"text": pa.array([], pa.string())})
    pq.write_table(table, stream, row_group_size=7)
    return stream.getvalue()


FORMATS: dict[str, Callable[[list[Row]], bytes]] = {
    ".txt": as_text,
    ".jsonl": as_jsonl,
    ".csv": as_csv,
    ".parquet": as_parquet,
    ".txt.gz": lambda rows: gzip.compress(as_text(rows), mtime=0),
    ".jsonl.gz": lambda rows: gzip.compress(as_jsonl(rows), mtime=0),
    ".csv.gz": lambda rows: gzip.compress(as_csv(rows), mtime=0),
    ".jsonl.zst": lambda rows: bytes(pa.compress(as_jsonl(rows), codec="zstd", asbytes=True)),
}


def damaged(rng: Random, data: bytes) -> bytes:
    """Return bytes that are cut, changed or filled with others somewhere."""
    at = rng.randrange(len(data) + 1)
    found = rng.choice((b"\0", b"\xff\xfe", b"\xc3\x28", b"\x80", b'"', b"\r", b"\n\n", b"{", rng.randbytes(6)))
    return rng.choice((data[:at], data[:at] + found + data[at:], data[:at] + found + data[at + len(found) :], b""))


def draw_source(rng: Random, folder: Path, hostile: float = 0.5) -> str:
    """Write a source below a folder and return what names it.

    Args:
        rng: the draws.
        folder: where to; files of other names may lie there.
        hostile: the share of sources that are not ordinary.
    """
    rows = ordinary_rows(rng, rng.choice((25, 60, 60, 110)))
    odd = rng.random() < hostile
    if odd and rng.random() < 0.8:
        rows = rng.choice(KINDS)(rng, rows)
    suffix = rng.choice([*FORMATS, ".jsonl", ".jsonl"])
    try:
        data = FORMATS[suffix](rows)
    except (pa.ArrowException, UnicodeError, ValueError):
        suffix, data = ".jsonl", as_jsonl(rows)
    if odd and rng.random() < 0.25:
        data = damaged(rng, data)
    stem = rng.choice(NAMES) if odd and rng.random() < 0.3 else f"a{rng.randrange(100)}"
    if odd and rng.random() < 0.05:
        suffix = rng.choice((".xml", "", ".TXT", ".json", ".gz"))
    file = folder / (stem + suffix)
    file.write_bytes(data)
    if odd and rng.random() < 0.1:
        return rng.choice(
            (
                str(folder),
                f"{folder}/*",
                f"{folder}/none*.txt",
                f"{folder}/missing.txt",
                f"x={folder}",
                "hf:",
                "nope:x",
                "/dev/null",
            )
        )
    if rng.random() < 0.2:
        return f"{rng.choice(('set', 'a b', 'é', 'x/y', '..', '1', 'a' * 90)) if odd else 'set'}={file}"
    return str(file)
