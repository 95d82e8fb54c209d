"""Prefixes and suffixes that a corpus makes productive."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ops.arrays import Bools, Int16s, Int64s

PREFIXES = (
    "anti auto bi bio co counter cyber de dis down en ex extra fore hyper il im in infra inter intra ir macro mega "
    "meta micro mid mini mis mono multi nano neo neuro non out over para photo poly post pre pro proto pseudo psycho "
    "re retro semi sub super sur tele trans tri ultra un under uni up"
)
SUFFIXES = (
    "able age al an ance ancy ant ary ate ation cy dom ed ee eer en ence ency ent er ery ese esque ess est ette fold "
    "ful hood ian ible ic ical ify ing ish ism ist ition ity ive ization isation ize ise less let like ling ly ment "
    "most ness or ory ous ship some ster tion ty ure ward wards ware wise y"
)
LEAST_WORDS, LEAST_SHARE = 10, 0.25
PREFIX_REST, SUFFIX_REST = 4, 3  # minimum number of letters of the rest of a word with a prefix, or with a suffix
_WORD, _VOWEL = "^[a-z]+$", "[aeiouy]"


@dataclass(frozen=True)
class Affixes:
    """The productive prefixes, or the productive suffixes, of a corpus.

    Attributes:
        names: the affixes, such as `un-` or `-ness`, sorted.
        of_word: the index of each word's affix in `names`, -1 for none, `[words]`.
    """

    names: list[str]
    of_word: Int16s


def productive_prefixes(words: pa.Array) -> Affixes:
    """Return the productive prefixes of English in the distinct words of a corpus, all in lower case, `[words]`.

    A word has a prefix if its rest, at least four letters with a vowel, is itself a word of the corpus. A prefix of
    `PREFIXES` is productive if at least 10 distinct words have it, and a quarter of those that begin with its letters
    and are long enough. Of several prefixes, a word has the longest.
    """
    return _productive(words, PREFIXES.split(), at_end=False)


def productive_suffixes(words: pa.Array) -> Affixes:
    """Return the productive suffixes of English, as `productive_prefixes` does, with rests of at least three letters.

    The rest may have lost an *e* before a vowel (*mak-ing*), doubled its last letter (*stopp-ed*) or changed *y* to *i*
    (*happi-ness*).
    """
    return _productive(words, SUFFIXES.split(), at_end=True)


def _productive(words: pa.Array, affixes: list[str], at_end: bool) -> Affixes:
    place, of_word = np.flatnonzero(pc.match_substring_regex(words, _WORD)), np.full(len(words), -1, np.int16)
    words = words.take(pa.array(place)).cast(pa.string())
    # A longer affix comes later, and replaces a shorter one of the same word.
    by_length = sorted(affixes, key=lambda affix: (len(affix), affix))
    spelled = [_spelled(words, affix, at_end) for affix in by_length]
    rests = [_rests(words, affix, own, at_end) for affix, own in zip(by_length, spelled, strict=True)]
    are_words = _are_words(pa.chunked_array([rest for _, rest in rests], pa.string()), words, at_end)
    parts = np.split(are_words, np.cumsum([len(rest) for _, rest in rests])[:-1])
    found = {}
    for affix, own, (word, _), is_word in zip(by_length, spelled, rests, parts, strict=True):
        having = np.unique(word[is_word])
        if len(having) >= max(LEAST_WORDS, LEAST_SHARE * len(own)):
            found[f"-{affix}" if at_end else f"{affix}-"] = having
    names = sorted(found)
    for name, own in found.items():
        of_word[place[own]] = names.index(name)
    return Affixes(names, of_word)


def _spelled(words: pa.Array, affix: str, at_end: bool) -> Int64s:
    """Return which words begin or end with these letters and have enough others."""
    matches = (pc.ends_with if at_end else pc.starts_with)(words, affix)
    least = len(affix) + (SUFFIX_REST if at_end else PREFIX_REST)
    return np.flatnonzero(pc.and_(matches, pc.greater_equal(pc.binary_length(words), least)))


def _rests(words: pa.Array, affix: str, own: Int64s, at_end: bool) -> tuple[Int64s, pa.Array]:
    """Return the possible rests of the words `own` without these letters: the word of each, and the rest."""
    some = words.take(pa.array(own))
    if not at_end:
        return own, pc.utf8_slice_codeunits(some, len(affix))
    rest = pc.utf8_slice_codeunits(some, 0, -len(affix))
    found = [rest, pc.if_else(pc.ends_with(rest, "i"), pc.replace_substring_regex(rest, "i$", "y"), "")]
    if affix[0] in "aeiouy":
        is_double = pc.equal(pc.utf8_slice_codeunits(rest, -1), pc.utf8_slice_codeunits(rest, -2, -1))
        found.append(pc.binary_join_element_wise(rest, "e", ""))
        found.append(pc.if_else(is_double, pc.utf8_slice_codeunits(rest, 0, -1), ""))
    return np.tile(own, len(found)), pa.concat_arrays(found)


def _are_words(rests: pa.ChunkedArray, words: pa.Array, at_end: bool) -> Bools:
    is_long = pc.greater_equal(pc.binary_length(rests), SUFFIX_REST if at_end else PREFIX_REST)
    has_vowel = pc.match_substring_regex(rests, _VOWEL)
    return np.asarray(pc.and_(pc.is_in(rests, value_set=words), pc.and_(is_long, has_vowel)))
