import pytest

from ops.errors import InputError
from ops.model.load import read_facts
from ops.model.tokenizer import Tokenizer
from ops.respond.texts import TextReader
from ops.sentences.word_spans import words_of_tokens


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer(read_facts("sample"))


def test_a_text_is_cleaned_as_the_corpus_was(tokenizer: Tokenizer) -> None:
    written = "  Well...\tthe cafe\u0301 was   shut!! "
    assert [own.text for own in TextReader(tokenizer, "none").read([written])] == ["Well... the caf\u00e9 was shut!!"]
    (own,) = TextReader(tokenizer, "sentences").read([written])
    assert own.text == "Well. the caf\u00e9 was shut!"
    assert own.placed.tokens.ids == tokenizer.encode([own.text])[0].ids
    assert own.tokens == len(own.placed.tokens.ids)
    words = ["Well", ".", "the", "caf\u00e9", "was", "shut", "!"]
    assert [own.text[slice(*span)] for span in own.words if span] == words
    of_token = words_of_tokens(own.placed.spans, own.words).tolist()
    assert (of_token[0], of_token[-1]) == (-1, -1)
    assert sorted(set(of_token[1:-1])) == [*range(7)]
    starts, ends = own.ends_of_tokens
    assert starts[0] is None
    assert own.text[starts[1] : ends[1]].lower() == "well"


def test_a_text_for_a_run_of_windows_keeps_white_space_and_line_ends(tokenizer: Tokenizer) -> None:
    written = "def shut(cafe\u0301):\n    return  cafe\u0301\n\n"
    (own,) = TextReader(tokenizer, "tokens:64").read([written])
    assert own.text == "def shut(caf\u00e9):\n    return  caf\u00e9\n\n"
    assert "return" in [own.text[slice(*span)] for span in own.words if span]
    with pytest.raises(InputError, match="empty"):
        TextReader(tokenizer, "tokens:64").read([" \n"])


def test_several_sentences_are_said_or_split(tokenizer: Tokenizer) -> None:
    text = "The kettle sang. Nobody heard it."
    (own,) = TextReader(tokenizer, "sentences").read([text])
    assert "2 sentences" in own.notes[0]
    assert "--split" in own.notes[0]
    assert TextReader(tokenizer, "none").read([text])[0].notes == ()
    split = TextReader(tokenizer, "sentences").read([text, "One more."], split=True)
    assert [own.text for own in split] == ["The kettle sang.", "Nobody heard it.", "One more."]
    assert [own.notes for own in split] == [()] * 3


def test_what_is_short_or_cut_is_said(tokenizer: Tokenizer) -> None:
    short, long = TextReader(tokenizer, "none").read(["rain", "rain " * 700])
    assert "has 1 token without special ones;" in short.notes[0]
    assert long.tokens == tokenizer.limit
    assert "512 tokens" in long.notes[0]
    assert "190 more" in long.notes[0]


@pytest.mark.parametrize("text", ["", "   ", "\n"])
def test_an_empty_text_is_refused(tokenizer: Tokenizer, text: str) -> None:
    with pytest.raises(InputError, match="empty"):
        TextReader(tokenizer, "none").read(["fine", text])


def test_a_text_of_unknown_tokens_is_refused(tokenizer: Tokenizer) -> None:
    with pytest.raises(InputError, match="knows none of it"):
        TextReader(tokenizer, "none").read(["\U000131f0\U000131f1"])
    with pytest.raises(InputError, match=r"^text 2, .* knows none of it; leave it out"):
        TextReader(tokenizer, "none").read(["fine", "\U000131f0\U000131f1"])
