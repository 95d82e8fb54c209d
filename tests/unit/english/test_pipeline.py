import pickle
import time

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc

import ops.english
from ops.english import FOLDER
from ops.penn import leaves, read


@pytest.fixture(scope="module")
def nlp():
    return ops.english.load()


def trees(doc):
    return [sentence._.parse_string for sentence in doc.sents]


def check(doc):
    """One tree per sentence with a word, one leaf per word, the Doc's tags."""
    found = [
        (leaf.label, leaf.word)
        for sentence in doc.sents
        if sentence.text.strip()
        for leaf in leaves(read(sentence._.parse_string))
    ]
    assert found == [(token.tag_, token.text) for token in doc if not token.is_space]


def test_any_text_has_a_tree(nlp):
    texts = ["", " ", "\n\n", "hi", "😀😀 ❤️", "(", "()", " a  b ", "@jack i love u #fun http://t.co/x", "日本語"]
    for text in (*texts, "-LRB-x"):
        doc = nlp(text)
        if "-LRB-" not in text:
            check(doc)
        assert len(trees(doc)) == (1 if len(doc) else 0)
        assert all(trees(doc)) == bool(text.strip() or not doc)
    for words in (1, 2, 2000):
        doc = nlp(Doc(nlp.vocab, words=["buffalo", "ran", "."] * (words // 3) + ["x"] * (words % 3)))
        assert len(doc) == words
        check(doc)
    assert [token.tag_ for token in nlp("\n The  dog")] == ["_SP", "DT", "_SP", "NN"]


@given(text=st.text(max_size=40))
def test_arbitrary_text(nlp, text):
    check(nlp(text.replace("-LRB-", "").replace("-RRB-", "")))


def test_a_plain_sentence(nlp):
    doc = nlp(Doc(nlp.vocab, words=["The", "dog", "sat", "on", "the", "mat", "."]))
    assert [token.tag_ for token in doc] == ["DT", "NN", "VBD", "IN", "DT", "NN", "."]
    assert trees(doc) == ["(ROOT (S (NP (DT The) (NN dog)) (VP (VBD sat) (PP (IN on) (NP (DT the) (NN mat)))) (. .)))"]


def test_boundaries_that_are_set_are_kept(nlp):
    words = ["I", "sleep", ".", "You", "eat", "."]
    apart = nlp(Doc(nlp.vocab, words=words, sent_starts=[True, False, False, True, False, False]))
    alone = [nlp(Doc(nlp.vocab, words=words[:3])), nlp(Doc(nlp.vocab, words=words[3:]))]
    assert trees(apart) == [trees(doc)[0] for doc in alone]
    assert len(trees(nlp(Doc(nlp.vocab, words=words)))) == 1


def test_batches_change_nothing(nlp):
    texts = ["The dog sat.", "", "I sleep because the old man reads.", " ", "Yes!"] * 3
    together = [trees(doc) for doc in nlp.pipe(texts, batch_size=4)]
    assert together == [trees(nlp(text)) for text in texts]


def test_trees_are_saved_with_the_doc_and_the_pipeline_as_any_other(nlp, tmp_path):
    doc = nlp("I sleep.")
    again = Doc(nlp.vocab).from_bytes(doc.to_bytes())
    assert trees(again) == trees(doc)
    assert trees(pickle.loads(pickle.dumps(doc))) == trees(doc)
    nlp.to_disk(tmp_path / "copy")
    again = spacy.load(tmp_path / "copy")
    text = "The cat that I saw is in the garden."
    assert trees(again(text)) == trees(nlp(text))


def test_loading_takes_less_than_a_second_and_the_folder_8_megabytes():
    start = time.process_time()
    ops.english.load()
    assert time.process_time() - start < 1
    assert sum(path.stat().st_size for path in FOLDER.rglob("*") if path.is_file()) < 8e6


def test_meta_names_sources_terms_and_scores(nlp):
    assert {"GUM", "CRAFT", "English Web Treebank"} <= {
        source.split(",")[0].split(" (")[0] for source in nlp.meta["sources"]
    }
    assert all("CC BY" in source for source in nlp.meta["sources"])
    assert nlp.meta["license"] == "CC BY-SA 4.0"
    assert nlp.meta["performance"]
