import subprocess
import sys
from collections.abc import Iterator

import pytest
import spacy
from spacy.tokens import Doc, Span

from ops import penn
from ops.corpus.split_sentences import SentenceSplitter
from ops.errors import InputError
from ops.sentences.pipeline import (
    MOST_LETTERS,
    MOST_WORDS,
    Annotation,
    Annotator,
    describe,
    in_pieces,
    load_pipeline,
    read_annotation,
)
from ops.sentences.word_spans import word_spans
from tests.conftest import ROOT

VOCAB = spacy.blank("en").vocab


@pytest.fixture
def trees() -> Iterator[dict[str, str | None]]:
    """What `sent._.parse_string` gives, by the sentence's text."""
    found: dict[str, str | None] = {}
    before = Span.get_extension("parse_string") if Span.has_extension("parse_string") else None
    Span.set_extension("parse_string", getter=lambda span: found[span.text], force=True)
    yield found
    Span.remove_extension("parse_string")
    if before is not None:
        Span.set_extension("parse_string", getter=before[2])


def doc(words: list[str], tags: list[str] | None = None, starts: list[bool] | None = None) -> Doc:
    return Doc(VOCAB, words, [True] * (len(words) - 1) + [False] * bool(words), tags=tags, sent_starts=starts)


def test_words_and_tags_without_white_space(trees: dict[str, str | None]) -> None:
    found = read_annotation(doc(["I", " ", "sleep", "\n"], ["PRP", "_SP", "VBP", ""]))
    assert found == Annotation(["I", "sleep"], ["PRP", "VBP"], None)
    for tags in (None, ["PRP", ""]):
        assert read_annotation(doc(["I", "sleep"], tags)) == Annotation(["I", "sleep"], None, None)
    words: list[str]
    for words in ([], [" "], ["\n", "  "]):
        assert read_annotation(doc(words)) == Annotation([], None, None)


def test_one_tree_stands_under_root(trees: dict[str, str | None]) -> None:
    tree = "(S (PRP I) (VBP sleep))"
    for given in (tree, f"(ROOT {tree})", f"(TOP {tree})", f" {tree} "):
        trees["I sleep"] = given
        assert read_annotation(doc(["I", "sleep"])).tree == f"(ROOT {tree})"
    trees["( a )"] = "(PRN (-LRB- -LRB-) (NN a) (-RRB- -RRB-))"
    assert read_annotation(doc(["(", "a", ")"])).tree == "(ROOT (PRN (-LRB- -LRB-) (NN a) (-RRB- -RRB-)))"
    trees["No"] = "(INTJ (UH No))"
    assert read_annotation(doc(["No", "\n"], None, [True, True])).tree == "(ROOT (INTJ (UH No)))"


def test_trees_of_several_sentences_stand_side_by_side(trees: dict[str, str | None]) -> None:
    trees |= {"I sleep": "(S (PRP I) (VBP sleep))", "No": "(ROOT (INTJ (UH No)))"}
    found = read_annotation(doc(["I", "sleep", "No"], ["PRP", "VBP", "UH"], [True, False, True]))
    assert found.tree == "(ROOT (S (PRP I) (VBP sleep)) (INTJ (UH No)))"


def test_a_tree_that_does_not_fit_is_left_out(trees: dict[str, str | None]) -> None:
    trees["I sleep"] = "(S (PRP I) (VBP sleep))"
    for other in ("(INTJ (UH No) (UH no))", "", None, "(INTJ)", "(INTJ (UH No)", "(INTJ No)) (X"):
        trees["No"] = other
        found = read_annotation(doc(["I", "sleep", "No"], ["PRP", "VBP", "UH"], [True, False, True]))
        assert found == Annotation(["I", "sleep", "No"], ["PRP", "VBP", "UH"], None)
    assert read_annotation(doc(["I"])).tree is None, "the getter fails"


def test_a_tree_that_the_shipped_parser_keeps_is_the_one_that_reading_it_gives() -> None:
    texts = ["A ( b ) c.", "I sleep.", "", " \n", "No.", "-LRB- x", "a\u3000b", "I sleep. \n\n No (no).  "]
    pipeline = load_pipeline("english")
    pipeline.add_pipe("sentencizer", first=True)
    given = Span.get_extension("parse_string")
    for found in pipeline.pipe(texts):
        kept = read_annotation(found)
        # With a space before it a tree is no longer the one that is kept.
        Span.set_extension("parse_string", getter=lambda span: f" {given[2](span)}", force=True)
        try:
            assert read_annotation(found) == kept
        finally:
            Span.set_extension("parse_string", getter=given[2], force=True)
        assert (kept.tree is None) == (not kept.words)


def test_annotations_come_in_the_order_of_the_texts() -> None:
    annotator = Annotator("english")
    texts = ["The old man saw the boats.", "Yes", "", "I sleep.", "No one saw the old man on the river."] * 3
    found = annotator.annotate(texts)
    assert found == [annotator.annotate([text])[0] for text in texts]
    assert [" ".join(words) for words, _, _ in found[:4]] == ["The old man saw the boats .", "Yes", "", "I sleep ."]


def test_the_blank_pipeline_gives_words_alone() -> None:
    found = Annotator("blank").annotate(["Don't go.", "", " a  b "])
    assert found == [
        Annotation(["Do", "n't", "go", "."], None, None),
        Annotation([], None, None),
        Annotation(["a", "b"], None, None),
    ]
    pipeline = load_pipeline("blank")
    assert describe(pipeline).startswith("en_")
    assert pipeline.max_length > 10**9


def test_a_missing_pipeline_is_named() -> None:
    for name in ("no_such_pipeline", "/tmp"):
        with pytest.raises(InputError, match=f"--pipeline {name}: cannot be loaded .* which is included"):
            load_pipeline(name)


def test_a_folder_of_our_own_pipeline_is_loaded_in_a_process_that_knows_nothing_of_it() -> None:
    """As in a worker of annotate, or its check; here the parts are imported long since."""
    code = (
        "import sys; from ops.sentences.pipeline import load_pipeline; assert 'ops.english' not in sys.modules; "
        "print(load_pipeline('ops/english/pipeline').pipe_names)"
    )
    found = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    assert "constituency" in found.stdout


def long_text(words: int) -> str:
    some = ["The", "old", "man", "saw", "boats", "on", "the", "river", ".", "Yes"]
    return " ".join(some[(i * i) % 10] for i in range(words))


def test_a_long_text_is_cut_at_spaces_and_nothing_is_lost() -> None:
    for text in (
        long_text(MOST_WORDS),
        long_text(MOST_WORDS + 1),
        long_text(2_500),
        "x" * (2 * MOST_LETTERS + 5),
        "a " * 7_000 + "x" * 30_000 + " b",
        ("y" * 7_000 + " ") * 3,
        "So " + "." * 5_000 + " so",
        ("z" * 1_000 + " ") * 30,
    ):
        pieces = in_pieces(text)
        assert all(len(p) <= MOST_LETTERS and len(p.split()) <= MOST_WORDS for p in pieces)
        assert all(len(word) <= 1_000 for p in pieces for word in p.split())
        assert "".join(pieces).replace(" ", "") == text.replace(" ", "")
        if max(map(len, text.split())) <= 1_000:
            assert [word for p in pieces for word in p.split()] == text.split()
        cuts = sum((len(word) - 1) // 1_000 for word in text.split())
        assert len(pieces) <= 2 + len(text) // (MOST_LETTERS // 2) + len(text.split()) // MOST_WORDS + cuts


def test_a_long_sentence_is_annotated_in_pieces_side_by_side() -> None:
    annotator = Annotator("english")
    text = long_text(2 * MOST_WORDS + 10)
    (found,) = annotator.annotate([text])
    parts = annotator.annotate(in_pieces(text))
    assert found.words == text.split()
    assert found.tags == [tag for part in parts for tag in part.tags or []]
    tree = penn.read(found.tree or "")
    assert [leaf.word for leaf in penn.leaves(tree)] == found.words
    assert [penn.write(child) for child in tree.children] == [
        penn.write(child) for part in parts for child in penn.read(part.tree or "").children
    ]


def test_a_window_is_annotated_sentence_by_sentence_and_keeps_its_words() -> None:
    split = SentenceSplitter().split
    texts = ["d the boats.\n\nThe old man\n    saw the river. He\tsle", "Yes\n", "x = 1\r\n# one line"]
    found = Annotator("english", split).annotate(texts)
    alone = Annotator("english")
    for text, own in zip(texts, found, strict=True):
        parts = [alone.annotate([" ".join(sentence.split())])[0] for sentence in split(text)]
        assert own.words == [word for part in parts for word in part.words]
        assert own.tags == [tag for part in parts for tag in part.tags or []]
        tree = penn.read(own.tree or "")
        assert [leaf.word for leaf in penn.leaves(tree)] == own.words
        assert len(tree.children) == sum(len(penn.read(part.tree or "").children) for part in parts)
        assert None not in word_spans(text, own.words)
    assert [len(split(text)) for text in texts] == [3, 1, 1]


def test_how_many_go_together_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    annotator = Annotator("english")
    texts = [long_text(5 + i % 40) for i in range(60)]
    expected = annotator.annotate(texts)
    monkeypatch.setattr("ops.sentences.pipeline.TOGETHER_LETTERS", 300)
    assert annotator.annotate(texts) == expected
