"""The markup of docstrings: reStructuredText, Markdown and HTML."""

from __future__ import annotations

import re

_MARKUP = (
    (re.compile(r"<!--.*?-->|</?[a-zA-Z][^<>]*>(?!`)"), ""),
    (re.compile(r"!\[[^\]]*\]\([^)]*\)"), ""),
    (re.compile(r"\[([^\[\]]+)\]\((?:[^()]|\([^()]*\))*\)"), r"\1"),
    (re.compile(r":[\w:+.-]+:`[~!]?([^`<]+?)\s*<[^`>]*>`"), r"\1"),
    (re.compile(r":[\w:+.-]+:`[~][^`]*?([^`.]+)`"), r"\1"),
    (re.compile(r":[\w:+.-]+:`!?([^`]*)`"), r"\1"),
    (re.compile(r"\[`~[^`]*?([^`.]+)`\]|`~[^`]*?([^`.]+)`"), r"\1\2"),
    (re.compile(r"\[`([^`]+)`\]"), r"\1"),
    (re.compile(r"`([^`<]+?)\s*<[^`>]*>`_{0,2}"), r"\1"),
    (re.compile(r"``(.+?)``"), r"\1"),
    (re.compile(r"`([\w.-]+)'"), r"\1"),
    (re.compile(r"`([^`]+)`_{0,2}"), r"\1"),
    (re.compile(r"\s*\[(?:#?\w*|\d+)\]_"), ""),
    (re.compile(r"\*\*([^*]+)\*\*"), r"\1"),
    (re.compile(r"(?<![\w*])\*([^\s*](?:[^*]*[^\s*])?)\*(?![\w*])"), r"\1"),
    (re.compile(r"\|([A-Za-z][\w ]*)\|_{0,2}"), r"\1"),
    (re.compile(r"\\([*_`|])"), r"\1"),
    (re.compile(r"\s_{1,2}(?=\s|$)"), ""),
    (
        re.compile(r"(?<![\w.])(?:[A-Za-z_]\w*\.)+(?=[A-Z]\w)"),
        "",
    ),  # torch.nn.Linear would end a sentence twice
)


def plain_text(text: str) -> str:
    """A paragraph without its markup: roles, links, code quotes, emphasis and tags replaced by their text."""
    for pattern, replacement in _MARKUP:
        text = pattern.sub(replacement, text)
    return " ".join(text.split())
