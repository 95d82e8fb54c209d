from collections.abc import Callable
from dataclasses import replace
from hashlib import sha1
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer as FastTokenizer
from tokenizers import normalizers, pre_tokenizers, trainers
from tokenizers.models import BPE
from transformers import ByT5Tokenizer, PreTrainedTokenizerFast

from ops.corpus.sentences import make_splitter
from ops.corpus.token_windows import LEAST_OF_WINDOW, TokenWindows, window_size
from ops.errors import InputError
from ops.model.load import read_facts
from ops.model.names import Location
from ops.model.tokenizer import Tokenizer

SIZE = 8
TRAINING = [
    "the river ran under the old bridge, unhappily",
    "def walk(self):\n    return self.path  # näher 😀",
    "a  b",
]
CODE = '''"""Walks over a map."""


def walk(path, unhappily=True):
    for step in path:
        if step.is_over_the_river():
            return "Straße", "😀👩‍👩‍👧", step.unbelievableness
    return None

# End.
'''


def byte_level() -> FastTokenizer:
    own = FastTokenizer(BPE())
    own.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    own.train_from_iterator(TRAINING * 3, trainers.BpeTrainer(vocab_size=330, initial_alphabet=alphabet))
    return own


def with_prefix() -> FastTokenizer:
    """Begins every text with a mark for a space, so that the right side of a cut seldom keeps its tokens."""
    own = FastTokenizer(BPE(unk_token="<unk>"))
    own.normalizer = normalizers.Sequence([normalizers.Prepend("_"), normalizers.Replace(" ", "_")])
    own.train_from_iterator(TRAINING * 3, trainers.BpeTrainer(vocab_size=90, special_tokens=["<unk>"]))
    return own


def saved(make: Callable[[], FastTokenizer], folder: Path) -> Tokenizer:
    PreTrainedTokenizerFast(tokenizer_object=make(), unk_token="<unk>").save_pretrained(folder)
    return Tokenizer(replace(read_facts("sample"), location=Location(str(folder)), vocabulary=0))


@pytest.fixture(scope="module", params=["sample", "bytes", "prefix"])
def tokenizer(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    if request.param == "sample":
        return Tokenizer(read_facts("sample"))
    return saved(byte_level if request.param == "bytes" else with_prefix, tmp_path_factory.mktemp("tokenizer"))


def last_exact_cut(tokenizer: Tokenizer, text: str, size: int) -> int | None:
    """The last place for a cut, from all tokens of both sides; None if there is no exact one."""
    ids, spans = tokenizer.spans(text)
    for count in range(min(size, len(ids) - LEAST_OF_WINDOW), LEAST_OF_WINDOW - 1, -1):
        end = spans[count - 1][1]
        sides = tokenizer.spans(text[:end])[0], tokenizer.spans(text[end:])[0]
        if end <= spans[count][0] and sides == (ids[:count], ids[count:]):
            return end
    return None


def check(tokenizer: Tokenizer, text: str, size: int = SIZE) -> list[str]:
    windows = TokenWindows(tokenizer, size).split(text)
    assert "".join(windows) == text
    numbers = [len(tokenizer.spans(window)[0]) for window in windows]
    assert all(number <= size for number in numbers)
    place = 0
    for window in windows[:-1]:
        cut = last_exact_cut(tokenizer, text[place:], size)
        assert cut is None or cut == len(window)
        place += len(window)
    return windows


@pytest.mark.parametrize(
    "text", [CODE, CODE.replace("\n", "\r\n") * 3, "one two three four", "", "\n \n", "\u200b" * 99]
)
def test_windows_end_at_the_last_place_where_both_sides_keep_their_tokens(tokenizer: Tokenizer, text: str) -> None:
    windows = check(tokenizer, text)
    assert len(windows) > 5 or text.count("a") < 3
    check(tokenizer, text, 100)


@given(st.lists(st.sampled_from([*TRAINING[0].split(), "\n", "    ", "😀", "é", "unhappiness", "x" * 40]), max_size=40))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text(tokenizer: Tokenizer, words: list[str]) -> None:
    check(tokenizer, " ".join(words))


def test_windows_of_a_plain_vocabulary_have_the_tokens_of_the_text_and_the_last_has_three(tokenizer: Tokenizer) -> None:
    text = "the river ran under the old bridge " * 30
    windows = check(tokenizer, text)
    whole = tokenizer.spans(text)[0]
    if tokenizer.spans(" the")[0] == tokenizer.spans("a the")[0][1:]:
        assert [i for window in windows for i in tokenizer.spans(window)[0]] == whole
    for words in range(9, 13):
        short = TokenWindows(Tokenizer(read_facts("sample")), SIZE).split("river " * words)
        assert [window.count("river") for window in short] == {9: [6, 3], 10: [7, 3]}.get(words, [8, words - 8])


def test_no_window_is_too_short_to_be_kept() -> None:
    text = "".join(f"commit {sha1(b'%d' % i).hexdigest()}\n" for i in range(60))
    own = Tokenizer(read_facts("sample"))
    for size in (8, 16):
        assert min(len(own.spans(window)[0]) for window in check(own, text, size)) >= LEAST_OF_WINDOW


def test_characters_of_several_tokens_are_not_cut(tmp_path: Path) -> None:
    own = saved(byte_level, tmp_path)
    text = "日本語のテキスト" * 4
    assert max(len(own.spans(c)[0]) for c in text) >= 3
    windows = check(own, text)
    assert all("\ufffd" not in window for window in windows)
    assert all(len(own.spans(window)[0]) >= SIZE - 2 for window in windows[:-1])


def test_a_text_without_a_place_for_a_cut_is_cut_within_the_size(tokenizer: Tokenizer) -> None:
    check(tokenizer, "z" * 500)
    check(tokenizer, "".join(chr(0x4E00 + i) for i in range(200)))


def test_sizes_and_tokenizers_that_cannot_be(tmp_path: Path) -> None:
    own = Tokenizer(read_facts("sample"))
    assert own.limit == 512
    TokenWindows(own, 510)
    with pytest.raises(InputError, match=r"--split tokens:511: .* at most 512 .* give tokens:510 or fewer"):
        make_splitter("tokens:511", own)
    ByT5Tokenizer().save_pretrained(tmp_path)
    with pytest.raises(InputError, match="--split tokens:9: the model's tokenizer does not report"):
        TokenWindows(Tokenizer(replace(read_facts("sample"), location=Location(str(tmp_path)))), 9)
    assert [window_size(split) for split in ("tokens:128", "sentences", "none")] == [128, None, None]
