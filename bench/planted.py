"""A tiny transformer whose units are known functions of the sentence, and a corpus in which each unit is on K times.

The model is a decoder with two blocks, built by hand. Two dimensions contain constants that are far larger than all
other values, so that layer norms have almost no effect. Each head of the first block detects the words of one question:
its output is 0 before the first of these words and 1 from that word on. One head of the second block is used; it
detects a token at which two such answers meet. The units of an MLP are then on or off at the last token of a sentence.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.random import Generator

LAYERS, HEADS, HEAD = 2, 16, 8
WIDTH = HEADS * HEAD
LOW, HIGH = WIDTH - 2, WIDTH - 1  # the dimensions that contain the constants
CONSTANT, SHARP = 1_000.0, 60.0
UNITS = 16
FILLER, DOCUMENT = 3_000, 4
LONGEST, GAP = 60, 3

_ONE, EITHER, _PAIR = ("lantern",), ("harbour", "meadow"), ("copper", "kettle")
_PARTICIPLES = ("broken", "written", "taken", "given")
_PRESENT, _ABSENT = "violin", "silence"
MARK, OTHER_MARKS = "?", (".", "!")
_OTHER_PARTICIPLES = ("sold", "seen", "chosen", "driven", "hidden", "stolen")


@dataclass(frozen=True)
class Planted:
    """A unit and the explanation that is expected for it.

    Attributes:
        name: the name of the function.
        unit: the unit of the last layer's MLP.
        literals: patterns in lower case, one of which must come first in the explanation. Empty for length and noise.
        negated: a pattern that must also be in the explanation, negated; empty for none.
        verdicts: the accepted verdicts.
    """

    name: str
    unit: int
    literals: tuple[str, ...] = ()
    negated: str = ""
    verdicts: tuple[str, ...] = ("rule",)


PLANTED = (
    Planted("one word", 0, _ONE),
    Planted("either of two words", 1, EITHER),
    Planted("two words in order", 2, (" ".join(_PAIR),)),
    Planted("a question mark", 3, (MARK,)),
    Planted("a participle of a closed list", 4, _PARTICIPLES),
    Planted("a word, but only without another", 5, (_PRESENT,), _ABSENT),
    Planted("length", 6, verdicts=("source",)),
    *(Planted("noise", unit, verdicts=("none", "weak", "unconfirmed")) for unit in range(7, UNITS)),
)


def write_planted(folder: Path, sentences: int = 4_000, on: int = 100, seed: int = 0) -> tuple[Path, Path]:
    """Write the model and its corpus, a JSON Lines file of sentences with a `doc_id`, and return their paths.

    Args:
        folder: the folder to which to write.
        sentences: number of distinct sentences in the corpus; must be more than thirteen times `on`.
        on: number of sentences in which each function is on.
        seed: the seed of the corpus and of the noise.
    """
    rng = np.random.default_rng(seed)
    texts = make_texts(sentences, on, rng)
    corpus = folder / "planted.jsonl"
    documents = np.repeat(np.arange(-(-sentences // DOCUMENT)), DOCUMENT)[:sentences]
    rows = zip(texts, documents.tolist(), strict=True)
    corpus.write_text("".join(json.dumps({"text": t, "doc_id": f"d{d}"}) + "\n" for t, d in rows), encoding="utf-8")
    return make_model(folder / "planted", sentences, rng), corpus


def make_texts(sentences: int, on: int, rng: Generator) -> list[str]:
    """Return sentences of filler words into which the words of the functions are inserted, `on` sentences for each.

    A sentence's first word is in no other sentence, so that the noise, which depends on the first word, cannot be
    learned.
    """
    lengths = rng.integers(8, 31, sentences)
    order = rng.permutation(sentences)
    lengths[order[:on]] = rng.integers(40, LONGEST - 8, on)  # the long sentences
    words = [[f"w{number}" for number in rng.integers(0, FILLER, length)] for length in lengths]
    for place, row in enumerate(words):
        row[0] = f"v{place}"
    marks = [OTHER_MARKS[i % 3 // 2] for i in range(sentences)]

    def put(chosen: np.ndarray, make: Callable[[int], list[str]], gap: int = 0) -> None:
        for number, place in enumerate(chosen.tolist()):
            row = words[place]
            at = int(rng.integers(1, len(row) - 6))
            for new in make(number):
                row[at] = new
                at += 1 + int(rng.integers(0, gap + 1))

    free = iter(order[on:].tolist())

    def some(count: int) -> np.ndarray:
        return np.array([next(free) for _ in range(count)])

    put(some(on), lambda _: list(_ONE))
    put(some(on), lambda i: [EITHER[i % 2]])
    chosen = some(3 * on)
    put(chosen[:on], lambda _: list(_PAIR), GAP)
    put(chosen[on : 2 * on], lambda _: list(reversed(_PAIR)), GAP)
    put(chosen[2 * on :], lambda i: [_PAIR[i % 2]])
    put(some(on), lambda i: [_PARTICIPLES[i % len(_PARTICIPLES)]])
    put(some(on), lambda i: [_OTHER_PARTICIPLES[i % len(_OTHER_PARTICIPLES)]])
    chosen = some(3 * on)
    put(chosen[:on], lambda _: [_PRESENT])
    put(chosen[on : 2 * on], lambda i: [_PRESENT, _ABSENT] if i % 2 else [_ABSENT, _PRESENT], GAP)
    put(chosen[2 * on :], lambda _: [_ABSENT])
    for place in some(on).tolist():
        marks[place] = MARK
    return [" ".join(row) + f" {mark}" for row, mark in zip(words, marks, strict=True)]


def make_model(folder: Path, sentences: int, rng: Generator) -> Path:
    """Write the model for this number of sentences and a tokenizer with one token per word, and return the folder."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import GPT2Config, GPT2Model, PreTrainedTokenizerFast

    special = [*_ONE, *EITHER, *_PAIR, *_PARTICIPLES, _PRESENT, _ABSENT, *_OTHER_PARTICIPLES, MARK, *OTHER_MARKS]
    words = ["[UNK]", *special, *(f"w{i}" for i in range(FILLER)), *(f"v{i}" for i in range(sentences))]
    vocabulary = {word: i for i, word in enumerate(words)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, "[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="[UNK]", pad_token="[UNK]", model_max_length=LONGEST + 4
    ).save_pretrained(folder)
    config = GPT2Config(
        vocab_size=len(vocabulary), n_embd=WIDTH, n_layer=LAYERS, n_head=HEADS, n_inner=UNITS, n_positions=LONGEST + 4,
        activation_function="relu", attn_pdrop=0.0, embd_pdrop=0.0, resid_pdrop=0.0,
        bos_token_id=None, eos_token_id=None, pad_token_id=0,
    )  # fmt: skip
    model = GPT2Model(config).eval()
    with torch.no_grad():
        _plant(model, vocabulary, rng)
    model.save_pretrained(folder)
    return folder


# The dimensions, in order: the list of words to which a token belongs; from `ANSWERS` on, the answers of the heads in
# the same order; `MET`; the position; the random numbers of first words; and those of the sentence's first word.
_ASKED = (_ONE, EITHER, (_PAIR[0],), (_PAIR[1],), (MARK,), _PARTICIPLES, (_PRESENT,), (_ABSENT,))
ANSWERS, MET, PLACE, NOISE, HEARD = 16, 32, 40, 48, 64
N_NOISE = 8


def _plant(model: Any, vocabulary: dict[str, int], rng: Generator) -> None:
    """Set all weights."""
    for weights in model.parameters():
        weights.zero_()
    tokens, places = model.wte.weight, model.wpe.weight
    tokens[:, LOW], tokens[:, HIGH] = -CONSTANT, CONSTANT
    for dimension, words in enumerate(_ASKED):
        for word in words:
            tokens[vocabulary[word], dimension] = 1.0
    first_words = [number for word, number in vocabulary.items() if word.startswith("v") and word[1:].isdigit()]
    noise = torch.from_numpy(rng.normal(size=(len(first_words), N_NOISE)))
    tokens[first_words, NOISE : NOISE + N_NOISE] = noise.float()
    places[:, PLACE] = torch.arange(len(places)) / len(places)
    spread = CONSTANT * (2 / WIDTH) ** 0.5
    for block in model.h:
        for norm in (block.ln_1, block.ln_2):
            norm.weight.fill_(spread)
    model.ln_f.weight.fill_(spread)
    first, second = model.h
    # There is a head for each question: every token is a query, and the tokens that are one of the words match it.
    for head in range(len(_ASKED)):
        _head(first.attn, head, [(head, 1.0)], [(head, 1.0, ANSWERS + head)])
    # For the noise, one head attends only to the first word and reads a random number that differs between words.
    for i in range(N_NOISE):
        _head(first.attn, len(_ASKED), [(PLACE, -float(len(places)))], [(NOISE + i, 1.0, HEARD + i)], i)
    # This head detects the second word of the pair at a token that comes after the first word.
    pair = _ASKED.index((_PAIR[1],)), ANSWERS + _ASKED.index((_PAIR[0],))
    _head(second.attn, 0, [(d, 1.0) for d in pair], [(pair[0], 1.0, MET), (pair[1], 1.0, MET)])
    answer = {words: ANSWERS + i for i, words in enumerate(_ASKED)}
    units: list[tuple[dict[int, float], float]] = [
        ({answer[_ONE]: 1.0}, 0.0),
        ({answer[EITHER]: 1.0}, 0.0),
        ({MET: 1.0}, -1.5),
        ({answer[(MARK,)]: 1.0}, 0.0),
        ({answer[_PARTICIPLES]: 1.0}, 0.0),
        ({answer[(_PRESENT,)]: 1.0, answer[(_ABSENT,)]: -2.0}, 0.0),
        ({PLACE: 1.0}, 0.0),
        *(({HEARD + i % N_NOISE: 1.0 if i < N_NOISE else -1.0}, 3.0) for i in range(UNITS - 7)),
    ]
    for unit, (weights_of, bias) in enumerate(units):
        for dimension, weight in weights_of.items():
            second.mlp.c_fc.weight[dimension, unit] = weight
        second.mlp.c_fc.bias[unit] = bias
    for weights in model.parameters():
        if weights.dim() > 1 and not weights.any():
            weights[0, 0] = 1e-30  # changes no result; a matrix of zeros is refused as a damaged one


def _head(
    attention: Any, head: int, keys: list[tuple[int, float]], values: list[tuple[int, float, int]],
    first: int = 0,
) -> None:  # fmt: skip
    """Make a head attend to the tokens with the largest sum of `keys`, and add their `values` to other dimensions.

    Args:
        attention: the attention of a block.
        head: the index of the head.
        keys: pairs (dimension, weight).
        values: triples (dimension to read, weight, dimension to which to add).
        first: the first of the head's own dimensions in which its values are stored.
    """
    start = head * HEAD
    attention.c_attn.bias[start] = SHARP * HEAD**0.5
    for dimension, weight in keys:
        attention.c_attn.weight[dimension, WIDTH + start] = weight
    for place, (read, weight, written) in enumerate(values, first):
        attention.c_attn.weight[read, 2 * WIDTH + start + place] = weight
        attention.c_proj.weight[start + place, written] = 1.0
