import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest
from tokenizers import Tokenizer as FastTokenizer
from tokenizers.models import BPE, Unigram, WordLevel
from tokenizers.pre_tokenizers import ByteLevel, Metaspace, Whitespace, WhitespaceSplit
from tokenizers.processors import TemplateProcessing
from tokenizers.trainers import BpeTrainer, UnigramTrainer
from transformers import AutoTokenizer, ByT5Tokenizer, PreTrainedTokenizerFast

from ops.errors import InputError
from ops.model.load import ModelFacts, read_facts
from ops.model.names import Location
from ops.model.tokenizer import Tokenizer


@pytest.fixture(scope="module")
def facts() -> ModelFacts:
    return read_facts("sample")


@pytest.fixture(scope="module")
def tokenizer(facts: ModelFacts) -> Tokenizer:
    return Tokenizer(facts)


def test_the_limit_is_the_models_not_the_tokenizers(tokenizer: Tokenizer) -> None:
    assert tokenizer.limit == 512
    found = tokenizer.encode(["word " * 510, "word " * 511, "word " * 5000])
    assert [len(t.ids) for t in found] == [512, 512, 512]
    assert [t.cut for t in found] == [0, 1, 4490]
    assert tokenizer.decode(found[2].ids)[-1] == "[SEP]"


def test_nothing_is_padded_and_sentences_do_not_see_each_other(tokenizer: Tokenizer) -> None:
    texts = ["snow", "a cat in the north today", ""]
    together = tokenizer.encode(texts)
    assert together == [tokenizer.encode([text])[0] for text in texts]
    assert [len(t.ids) for t in together] == [3, 8, 2]
    assert tokenizer.encode([]) == []


def test_only_what_the_tokenizer_added_is_marked(tokenizer: Tokenizer) -> None:
    found = tokenizer.encode(["a \u2603\U000131d0 b", "say [SEP] or [CLS]"])
    strings = [tokenizer.decode(t.ids) for t in found]
    assert "[UNK]" in strings[0]
    assert strings[1][1:-1] == ["say", "[", "sep", "]", "or", "[", "cl", "##s", "]"]
    for tokens in found:
        assert tokens.added == [1, *[0] * (len(tokens.ids) - 2), 1]
    assert tokenizer.unknown_id in found[0].ids
    assert tokenizer.pad_id == 0
    assert tokenizer.has_cls


SPECIAL = ["<pad>", "<unk>", "[CLS]", "</s>", "<|end|>"]
TYPED = "say </s> or <pad>, [CLS]x<|end|> and <unk> [ s >"


def trained(kind: str) -> FastTokenizer:
    """A tokenizer whose vocabulary has the special tokens as if they were words."""
    options = {"special_tokens": SPECIAL, "show_progress": False}
    letters = sorted({*TYPED.replace(" ", "")})
    if kind == "word-level":
        words = [*SPECIAL, *letters, "say", "or", "and"]
        own = FastTokenizer(WordLevel({word: i for i, word in enumerate(words)}, unk_token="<unk>"))
        own.pre_tokenizer = WhitespaceSplit()
    elif kind == "bytes":
        own = FastTokenizer(BPE())
        own.pre_tokenizer = ByteLevel()
        own.train_from_iterator([TYPED] * 9, BpeTrainer(**options, initial_alphabet=ByteLevel.alphabet()))
    else:
        own = FastTokenizer(Unigram())
        own.pre_tokenizer = Metaspace() if kind == "unigram" else None
        own.train_from_iterator([TYPED] * 9, UnigramTrainer(**options, vocab_size=60, unk_token="<unk>"))
    own.add_special_tokens(SPECIAL)
    own.post_processor = TemplateProcessing(single="[CLS] $A </s>", special_tokens=[("[CLS]", 2), ("</s>", 3)])
    return own


@pytest.mark.parametrize("kind", ["word-level", "bytes", "unigram", "unigram without words"])
def test_special_tokens_that_are_typed_are_text(kind: str, facts: ModelFacts, tmp_path: Path) -> None:
    special = {"pad_token": "<pad>", "unk_token": "<unk>", "cls_token": "[CLS]", "eos_token": "</s>"}
    own = PreTrainedTokenizerFast(tokenizer_object=trained(kind), **special, extra_special_tokens=["<|end|>"])
    own.save_pretrained(tmp_path)
    tokenizer = Tokenizer(replace(facts, location=Location(str(tmp_path))))
    (found,) = tokenizer.encode([TYPED])
    assert (found.ids[0], found.ids[-1]) == (2, 3)
    assert found.added == [1, *[0] * (len(found.ids) - 2), 1]
    assert not {*found.ids[1:-1]} & ({0, 2, 3, 4} if kind == "word-level" else {*range(5)})
    (placed,) = tokenizer.encode_with_spans([TYPED])
    assert placed.tokens == found
    assert {i for span in placed.spans if span for i in range(*span)} >= {i for i, c in enumerate(TYPED) if c != " "}
    ((pair, _),) = tokenizer.encode_pairs([TYPED], ["say"])
    assert sum(id in range(5) and id != 1 for id in pair.ids) == sum(pair.added)
    assert tokenizer.encode([TYPED]) == [found]
    rules = AutoTokenizer.from_pretrained(tmp_path).backend_tokenizer
    rules.no_padding()
    rules.no_truncation()
    assert tokenizer.fingerprint == hashlib.sha256(f"512\n{rules.to_str()}".encode()).hexdigest()


def test_special_tokens_that_are_typed_are_text_in_slow_tokenizers(facts: ModelFacts, tmp_path: Path) -> None:
    ByT5Tokenizer().save_pretrained(tmp_path)
    tokenizer = Tokenizer(replace(facts, location=Location(str(tmp_path))))
    (found,) = tokenizer.encode(["a</s>"])
    assert found.ids == [ord(letter) + 3 for letter in "a</s>"] + [1]
    assert found.added == [0, 0, 0, 0, 0, 1]


def test_the_fingerprint_is_of_what_it_does(facts: ModelFacts, tokenizer: Tokenizer) -> None:
    before = tokenizer.fingerprint
    tokenizer.encode(["snow " * 1000])
    assert tokenizer.fingerprint == before
    assert tokenizer.encode(["snow " * 1000])[0].cut
    assert Tokenizer(replace(facts, name="another name", fingerprint="0")).fingerprint == before
    assert Tokenizer(replace(facts, position_limit=100)).fingerprint != before


def test_a_tokenizer_without_cls(facts: ModelFacts, tmp_path: Path) -> None:
    own = FastTokenizer(WordLevel({"[UNK]": 0, "snow": 1}, unk_token="[UNK]"))
    own.pre_tokenizer = Whitespace()
    PreTrainedTokenizerFast(tokenizer_object=own, unk_token="[UNK]").save_pretrained(tmp_path)
    found = Tokenizer(replace(facts, location=Location(str(tmp_path))))
    assert found.encode(["snow falls"])[0].ids == [1, 0]
    assert not found.has_cls
    assert found.unknown_id == 0


def test_a_tokenizer_s_own_code_is_never_run_and_nobody_is_asked(
    facts: ModelFacts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config.json").write_bytes((Path(facts.location.path) / "config.json").read_bytes())
    described = {"tokenizer_class": "Own", "auto_map": {"AutoTokenizer": ["own.Own", None]}}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(described))
    (tmp_path / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\nclass Own: pass\n")
    questions: list[object] = []
    monkeypatch.setattr("builtins.input", lambda *asked: questions.append(asked) or "y")
    with pytest.raises(InputError, match="--model mine: its tokenizer cannot be loaded"):
        Tokenizer(replace(facts, name="mine", location=Location(str(tmp_path))))
    assert not questions
    assert not (tmp_path / "ran").exists()


def test_a_table_with_fewer_rows_than_the_tokenizer_has_ids_is_told(facts: ModelFacts) -> None:
    Tokenizer(replace(facts, vocabulary=30_522))
    with pytest.raises(InputError, match=r"its tokenizer's ids reach 30,521, its table .* has 30,521 rows"):
        Tokenizer(replace(facts, vocabulary=30_521))


HOSTILE = [
    "Caf\u00e9s in 東京 are ﬁne 😀, 👩‍👩‍👧!",
    "<script>alert('x')</script> & \u202eא שלום\u202c e\u0301",
    "say [SEP] or [CLS]",
    "word " * 600,
]


def test_spans_are_the_tokenizer_s_own(tokenizer: Tokenizer, facts: ModelFacts) -> None:
    own = AutoTokenizer.from_pretrained(facts.location.path, split_special_tokens=True)
    placed = tokenizer.encode_with_spans(HOSTILE)
    assert [p.tokens for p in placed] == tokenizer.encode(HOSTILE)
    for text, found in zip(HOSTILE, placed, strict=True):
        given = own(text, return_offsets_mapping=True, truncation=True, max_length=512, padding=False)
        expected = given["offset_mapping"]
        assert [s for s in found.spans if s is not None] == expected[1:-1]
        assert (found.spans[0], found.spans[-1]) == (None, None)
        assert found.strings == tokenizer.decode(found.tokens.ids)
        for string, span in zip(found.strings, found.spans, strict=True):
            if span is not None and string.isascii() and string.isalpha() and text[slice(*span)].isascii():
                assert text[slice(*span)].lower() == string
    first = zip(placed[0].strings, placed[0].spans, strict=True)
    pieces = {HOSTILE[0][slice(*span)]: token for token, span in first if span is not None}
    assert pieces["東"] == "東"
    assert pieces["Caf\u00e9s"] == "cafes"


def test_spans_of_a_byte_level_vocabulary_hold_whole_characters(tmp_path: Path, facts: ModelFacts) -> None:
    rules = FastTokenizer(BPE())
    rules.pre_tokenizer = ByteLevel(add_prefix_space=False)
    rules.train_from_iterator(HOSTILE[:2], BpeTrainer(special_tokens=["<s>"], initial_alphabet=ByteLevel.alphabet()))
    PreTrainedTokenizerFast(tokenizer_object=rules, unk_token="<s>").save_pretrained(tmp_path)
    tokenizer = Tokenizer(replace(facts, location=Location(str(tmp_path))))
    text = "so 😀 é 東京 there"
    (found,) = tokenizer.encode_with_spans([text])
    spans = [span for span in found.spans if span is not None]
    assert len(spans) == len(found.strings) > len(text.split())
    covered = {i for start, end in spans for i in range(start, end)}
    assert covered == set(range(len(text)))
    # The four bytes of an emoji are separate tokens, and each has the span of the complete emoji.
    bytes_of_emoji = [span for span in spans if text[slice(*span)].strip() == "😀"]
    assert len(bytes_of_emoji) >= 1
