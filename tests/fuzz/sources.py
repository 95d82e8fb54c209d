"""Sources from a dozen generators, in every format: ordinary sentences, and what no reader hopes for."""

import io
import json
import re
import textwrap
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow.csv import WriteOptions, write_csv

Rows = list[dict[str, Any]]

NOUNS = ("cat", "dog", "bird", "horse", "teacher", "doctor", "child", "river", "car", "old man", "woman", "London")
VERBS = ("sees", "likes", "takes", "leaves", "their", "than", "then", "there", "two", "too", "to", "it's", "you're")
PLACES = ("in the house", "on the mat", "near the river", "at school", "of the city", "with a friend", "to two banks")
COLUMNS = ("topic", "text", "doc_id", "language", "key", "answer")  # of ordinary rows
SCRIPTS = (
    "これは猫です。犬も好きです。", "Это кошка. Это собака.", "هذه قطة وهذا كلب.", "यह एक बिल्ली है।", "זה חתול.",
    "고양이가 집에 있다.", "Straße, naïve, Ærøskøbing",
)  # fmt: skip
ODD = (
    "", " ", "\t", "a", ".", "x" * 3_000, "word " * 900, "<b>bold</b> <script>alert(1)</script> &amp;", "😀 👩‍👩‍👧‍👦",
    "\x1b[31mred\x1b[0m", "null\0byte", "\u202eright to left", "zero\u200bwidth\u200dhere", "e\u0301" * 40, "\ufeffBOM",
    "((((", "-LRB- -RRB- (NP (NN x))", "1 2 3 4 5 6 7 8 9", "...", "http://a.b/c?d=e#f", "C:\\x\\y", "\ufffd", "=1+1",
    "[CLS] [SEP] [MASK] [PAD]", "<s> </s> <|endoftext|>", '"quoted"', "'", "a\u2028b\u2029c", "line\rreturn",
)  # fmt: skip
NAMES = ("a", "b c", "-a", "a#b", "a?b", "a%20b", "é", "a=b", "a:b", "a,b", "a[1]", "a*", "😀", ".hidden", "a\nb",
         "x" * 200, "a'b", 'a"b', "a$b", "run", "~")  # fmt: skip


def ordinary(rng: Random, count: int) -> Rows:
    """Return rows of English sentences that share many words, some of them often, with columns such as labels."""
    rows: Rows = []
    for i in range(count):
        words = ["The", rng.choice(NOUNS), rng.choice(VERBS), "the", rng.choice(NOUNS), rng.choice(PLACES)]
        words += ["and", "the", rng.choice(NOUNS), str(rng.randrange(40))] if rng.random() < 0.4 else []
        text = " ".join(words) + rng.choice((".", ".", "!", "?", ";", " ..."))
        text = rng.choice(rows[:3])["text"] if i > 2 and rng.random() < 0.2 else text
        values = ("abc"[i // 3 % 3], text, f"d{i // 3}", ("en", "xx")[i % 2], f"k{i // 2}", rng.choice(("yes", "no")))
        rows.append(dict(zip(COLUMNS, values, strict=True)))
    return rows


def _texts(make: Callable[[Random, int, str], str]) -> Callable[[Random, Rows], Rows]:
    return lambda rng, rows: [{**row, "text": make(rng, i, row["text"])} for i, row in enumerate(rows)]


def _odd_column(rng: Random, rows: Rows) -> Rows:
    column, value = rng.choice(COLUMNS), rng.choice((None, 3, 2.5, True, "", " ", "x" * 300, "é\n", "NaN"))
    return [{**row, column: value} for row in rows]


def _no_column(rng: Random, rows: Rows) -> Rows:
    gone = rng.choice(COLUMNS)
    return [{name: value for name, value in row.items() if name != gone} for row in rows]


def _chats(rng: Random, rows: Rows) -> Rows:
    """Return conversations of three messages, some of which lack something."""
    talks = [rows[at : at + 3] for at in range(0, len(rows), 3)]
    odd: Any = rng.choice((None, "", 3, [{"type": "image"}, {"type": "text", "text": "the cat sees it"}]))
    chats = [[{"role": r, "content": m["text"]} for r, m in zip("uas", talk, strict=False)] for talk in talks]
    chats.append([{"role": "u", "content": odd}, {"content": "by nobody at all"}])
    return [{"messages": chat, "key": f"k{number}"} for number, chat in enumerate(chats)]


GENERATORS: tuple[Callable[[Random, Rows], Rows], ...] = (
    lambda rng, rows: rows,
    lambda rng, rows: [rows[0]] * len(rows),
    lambda rng, rows: rows[: rng.choice((0, 1, 1, 2, 3, 5))],
    lambda rng, rows: [{**row, "doc_id": "one", "topic": "same"} for row in rows],
    _odd_column,
    _no_column,
    _chats,
    _texts(lambda rng, i, text: rng.choice(ODD) if rng.random() < 0.4 else text),
    _texts(lambda rng, i, text: rng.choice(ODD)),
    _texts(lambda rng, i, text: f"{rng.choice(SCRIPTS)} {i}"),
    _texts(lambda rng, i, text: rng.choice(NOUNS)),
    _texts(lambda rng, i, text: " ".join([text] * 60) if i % 5 == 0 else text),
    _texts(lambda rng, i, text: f"{text} {text}"),
    _texts(lambda rng, i, text: textwrap.fill(f"{text} " * 6, 66) + "\n"),  # paragraphs with hard line breaks
)


def _text(rows: Rows) -> bytes:
    return "".join(f"{row.get('text')}\n" for row in rows).encode("utf-8", "surrogatepass")


def _jsonl(rows: Rows) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=i % 2 == 0) + "\n" for i, row in enumerate(rows)).encode()


def _written(rows: Rows, write: Callable[[pa.Table, io.BytesIO], None]) -> bytes:
    stream = io.BytesIO()
    write(pa.Table.from_pylist(rows, None if rows else pa.schema([("text", "string")])), stream)
    return stream.getvalue()


def _csv(delimiter: str) -> Callable[[pa.Table, io.BytesIO], None]:
    return partial(write_csv, write_options=WriteOptions(delimiter=delimiter))


def _arrow(table: pa.Table, stream: io.BytesIO) -> None:
    with pa.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table, max_chunksize=7)


FORMATS: dict[str, Callable[[Rows], bytes]] = {
    ".txt": _text,
    ".jsonl": _jsonl,
    ".csv": lambda rows: _written(rows, _csv(",;"[len(rows) % 2])),
    ".tsv": lambda rows: _written(rows, _csv("\t")),
    ".json": lambda rows: json.dumps(rows, indent=1).encode(),
    ".arrow": lambda rows: _written(rows, _arrow),
    ".parquet": lambda rows: _written(rows, partial(pq.write_table, row_group_size=7)),
}


def damaged(rng: Random, data: bytes) -> bytes:
    """Return bytes that are cut somewhere, or where some are changed, missing, added or repeated."""
    at = int(rng.random() * len(data))  # the length of a record depends on how long a stage took
    rest, filler = data[at:], rng.choice((b"\xff\xfe", b"\xff" * 8, b"\0", b'"', b"\r", b"{"))
    number = re.sub(rb"\d+", rng.choice((b"0", b"9", b"1000000")), rest, count=1)
    ways = (b"", number, filler + rest[len(filler) :], rest[len(filler) :], filler + rest, rest[:40] + rest)
    return data[:at] + rng.choice(ways)


def draw_source(rng: Random, folder: Path, hostile: float = 0.4) -> str:
    """Write a source into a folder, and return its name as for --corpus; `hostile` is the share of odd ones."""
    odd = rng.random() < hostile
    rows = rng.choice(GENERATORS if odd else GENERATORS[:1])(rng, ordinary(rng, rng.choice((25, 60, 60, 110))))
    suffix, codec = rng.choice((*FORMATS, ".jsonl", ".jsonl")), rng.choice((None, None, None, "gzip", "zstd"))
    if rows and "messages" in rows[0]:
        suffix = rng.choice((".json", ".jsonl"))  # columns of other formats have one type
    data = FORMATS[suffix](rows)
    if codec and suffix not in (".parquet", ".arrow"):
        data, suffix = pa.compress(data, codec, asbytes=True), suffix + (".gz" if codec == "gzip" else ".zst")
    if odd and rng.random() < 0.25:
        data = damaged(rng, data)
    if odd and rng.random() < 0.1:
        suffix = rng.choice((".xml", "", ".TXT", ".JSON", ".gz", ".md", ".py"))
    file = folder / f"{rng.choice(NAMES) if odd and rng.random() < 0.3 else f'a{rng.randrange(100)}'}{suffix}"
    file.write_bytes(data)
    if odd and rng.random() < 0.1:
        patterns = (folder, f"{folder}/*", f"{folder}/none*.txt", f"{folder}/missing.txt", f"x={folder}")
        return str(rng.choice((*patterns, "hf:", "nope:x", "/dev/null")))
    name = rng.choice(("set", "a b", "é", "x/y", "..", "1", "a" * 90) if odd else ("set",))
    return f"{name}={file}" if rng.random() < 0.2 else str(file)
