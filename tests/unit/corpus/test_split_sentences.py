import re

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st

from ops.corpus.split_sentences import SentenceSplitter

SPLITTER = SentenceSplitter()
PLAIN = spacy.blank("en")
PLAIN.add_pipe("sentencizer")


BOUNDARIES = {
    "One. Two! Three?": ["One.", "Two!", "Three?"],
    "Dr. Who met Mr. Smith at 3 p.m. yesterday.": ["Dr. Who met Mr. Smith at 3 p.m. yesterday."],
    'He said "no." She left.': ['He said "no."', "She left."],
    "A title\n\nA sentence\nover lines": ["A title", "A sentence\nover lines"],
    "a\r\n \t\r\nb": ["a", "b"],
    "Pi is 3.14. e is 2.7": ["Pi is 3.14.", "e is 2.7"],
    "What?! Yes... (Well.) End": ["What?!", "Yes... (Well.)", "End"],
    'He left. "Why?" she asked. (No.)': ["He left.", '"Why?"', "she asked.", "(No.)"],
    "  lead. trail.  ": ["lead.", "trail."],
    "": [],
    " \n\n\t\n ": [],
    "...": ["..."],
    "Return the sum.": ["Return the sum."],
    "Really etc. Yes!": ["Really etc.", "Yes!"],
}


def test_boundaries() -> None:
    assert {text: SPLITTER.split(text) for text in BOUNDARIES} == BOUNDARIES
    for word in ("!", "a.", "ab"):
        text = word * (1_000_000 // len(word))
        assert "".join(SPLITTER.split(text)) == text


WORDS = st.sampled_from(
    [
        *("The", "cat", "sat.", "Mr.", "U.S.", '"No!"', "(e.g.", "3.5", "end.)", "end.Next", "?", "...", "-", "a_b"),
        *("don't", "_.", ".a"),
    ]
)


@given(st.lists(WORDS, max_size=30))
def test_equals_spacy_on_the_whole_text(words: list[str]) -> None:
    text = " ".join(words)
    whole = "|".join(span.text_with_ws for span in PLAIN(text).sents)
    whole = re.sub(r" ([\"(]+)\|(?=\S)", r" |\1", whole)  # opening quotes go to their own sentence
    assert SPLITTER.split(text) == [sentence.strip() for sentence in whole.split("|") if sentence]


@given(st.text(st.sampled_from('aB.!?" \n\t(\u3002\u00a0'), max_size=80))
def test_no_character_is_lost(text: str) -> None:
    sentences = SPLITTER.split(text)
    assert "".join("".join(sentences).split()) == "".join(text.split())
    assert all(sentence == sentence.strip() != "" for sentence in sentences)
    assert not any(re.search(r"\n\s*\n", sentence) for sentence in sentences)


def test_windows_do_not_cut_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    text = " ".join(f"This is sentence number {number}." for number in range(200))
    whole = SPLITTER.split(text)
    assert len(whole) == 200
    monkeypatch.setattr("ops.corpus.split_sentences._WINDOW", 100)
    assert SPLITTER.split(text) == whole


def test_a_sentence_longer_than_the_window_is_cut_at_white_space(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ops.corpus.split_sentences._WINDOW", 100)
    pieces = SPLITTER.split("word " * 100 + "end. " + "x" * 250)
    assert " ".join(pieces[:-3]).split() == ["word"] * 100 + ["end."]
    assert all(len(piece) <= 100 for piece in pieces)
    assert "".join(pieces[-3:]) == "x" * 250


@pytest.mark.slow
def test_the_vocabulary_stays_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ops.reloaded_pipeline.MOST_NEW_STRINGS", 100)
    splitter = SentenceSplitter()
    size = len(splitter._pipeline().vocab.strings)
    for number in range(300):
        assert splitter.split(f"word{number}. Next.") == [f"word{number}.", "Next."]
    assert len(splitter._pipeline().vocab.strings) < size + 200
