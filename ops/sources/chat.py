"""Conversations: a value that is a list of messages becomes one row a message."""

from collections.abc import Container, Iterable
from typing import Any

from ops.sources.rows import Broken, Row, excerpt, to_row

CHAT_COLUMNS = ("messages", "conversations")  # columns of conversations where there is no column `text`
FORMS = (("role", "content"), ("from", "value"))  # the fields of a message in the two usual layouts
CHAT_KEYS = ("role", "turn", "last")


def text_or_chat(columns: Container[str], text_column: str) -> str:
    """Return the column of the text: the named one, or a column of conversations in place of a missing `text`.

    >>> text_or_chat(["id", "messages"], "text"), text_or_chat(["text", "messages"], "text")
    ('messages', 'text')
    """
    if text_column != "text" or text_column in columns:
        return text_column
    return next((column for column in CHAT_COLUMNS if column in columns), text_column)


def text_rows(value: Any, doc_id: str, meta: dict[str, str]) -> list[Row | Broken]:
    """Return the rows of a value of the text column: one row, or one for each message of a conversation.

    The rows of a conversation are one document. Their metadata are `role`, `turn` (the number of the message, counted
    from 1) and `last` (`true` for the last message, else `false`), and those of the conversation. Of content in parts,
    the parts of text are joined as paragraphs, and each other part, such as an image, is a row `not_text`. A message
    without a role is `no_role`, and one without content is `empty`.
    """
    if not (isinstance(value, list) and any(isinstance(message, dict) for message in value)):
        return [to_row(value, doc_id, meta)]
    rows: list[Row | Broken] = []
    for turn, message in enumerate(value, 1):
        role, content = _role_and_content(message)
        kept, others = _parts(content) if isinstance(content, list) else (content, [])
        rows += [Broken(excerpt(f"({kind})"), doc_id, "not_text") for kind in others]
        if kept is None and others:
            continue
        turn_meta = {"turn": str(turn), "last": "true" if turn == len(value) else "false"}
        row = to_row(kept, doc_id, {**meta, "role": role or "", **turn_meta})
        rows.append(row if role or isinstance(row, Broken) else Broken(excerpt(row.text), row.doc_id, "no_role"))
    return rows


def records_in(rows: Iterable[Row | Broken]) -> int:
    """Return the approximate number of records that rows come from: the messages of a conversation are one record."""
    return sum(not _continues(row) for row in rows)


def _continues(row: Row | Broken) -> bool:
    return isinstance(row, Row) and all(key in row.meta for key in CHAT_KEYS) and row.meta["turn"] != "1"


def _role_and_content(message: Any) -> tuple[str | None, Any]:
    """Return the role and the content of a message; each is None if it is missing."""
    if not isinstance(message, dict):
        return None, message
    roles, contents = ([message.get(form[i]) for form in FORMS] for i in (0, 1))
    role = next((value for value in roles if isinstance(value, str) and value.strip()), None)
    return role, next((value for value in contents if value is not None), None)


def _parts(content: list[Any]) -> tuple[str | None, list[str]]:
    """Return the text of content in parts, None without text, and the kinds of the other parts."""
    texts, others = [], []
    for part in content:
        text = part.get("text") if isinstance(part, dict) else part
        if isinstance(text, str):
            texts.append(text)
        else:
            others.append(str(part.get("type") or "part") if isinstance(part, dict) else type(part).__name__)
    return ("\n\n".join(texts) if texts else None), others
