"""Facts about each word of a corpus by itself: negation, pronouns, auxiliaries, quotation marks and shapes."""

from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ops.arrays import Bools, Int8s, UInt8s

PRONOUNS = {
    "first singular": "i me my mine myself",
    "first plural": "we us our ours ourselves 's \u2019s",  # let's
    "second": "you your yours yourself yourselves u ur ya thou thee thy thine thyself ye",
    "third singular": "he him his himself she her hers herself it its itself",
    "third plural": "they them their theirs themselves themself 'em \u2019em",
}
SHAPES = ("capitals", "digits", "repeated letters", "emoji", "@name", "#tag", "URL")

_N = "n['\u2019]t"
_REGEXES = {
    # The tokenizer splits *dont* into *do* and *nt*.
    "negation": f"^(?i:not|never|no|nobody|nothing|neither|nor|without|hardly|cannot|.*{_N})$|^nt$",
    "not": f"^(?i:not|{_N}|nt)$",
    "do": "^(?i:do)$",
    "be": "^(?i:am|is|are|was|were|be|been|being|ai|['\u2019](?:s|re|m)|gets?|got|getting|gotten)$",
    "clitic": "^['\u2019][sS]$",
    # Participles of verbs that have no passive, so that a clitic before them is a form of *have*.
    "active": "^(?i:been|gone|had|got|gotten|become|come|happened|arrived)$",
    "gone": "^gone$",
    "will": "^(?i:will|shall|wo|sha|['\u2019]ll)$",
    "double quote": '^["\u201c\u201d\u201e\u00ab\u00bb]$',
    "closing quotes": "^''$",
    "single quote": "^['\u2018\u2019]$",
    "question mark": r"^[?!.\u2026]*\?[?!.\u2026]*$".replace(r"\u2026", "\u2026"),
    "letters or digits": r"[\pL\pN]",
    "number": r"^\pN+$",
    "hash": "^#$",
    "letter first": r"^\pL",
    "@name": r"^@[\pL\pN_]",
    "#tag": r"^#[\pL\pN_]*\pL",
    "URL": r"(?i)^(?:https?://|www\.)\S|^[\w-]+(?:\.[\w-]+)*\.(?:(?:com|org|net|edu|gov|info)\b|[a-z]{2}/)(?:$|\S*/|[^.]+$)",
    "capitals": r"^(?:[\pN.&'\u2019_/-]*\p{Lu}){2,}[\pN.&'\u2019_/-]*$".replace(r"\u2019", "\u2019"),
    "digits": r"\pN",
    "emoji": "[\U0001f000-\U0001faff\u2600-\u27bf\u231a\u231b\u23e9-\u23fa\u2b50\u2b55\ufe0f\u20e3]",
    "letters": "^[A-Za-z'\u2019]+$",
    "three": "(?i)" + "|".join(f"{letter}{{3}}" for letter in "abcdefghijklmnopqrstuvwxyz"),
    "numeral": "^(?i:[ivx]+|www)$",
}


class WordFacts:
    """Facts about words, each computed once for every distinct word when it is first asked for.

    Args:
        words: the words as written, `[words]`.
    """

    def __init__(self, words: pa.Array) -> None:
        self._words = words
        self._known: dict[str, Bools] = {}

    def are(self, name: str) -> Bools:
        """Return which words match a regular expression of this module, given its name, `[words]` bool."""
        if name not in self._known:
            found = pc.match_substring_regex(self._words, _REGEXES[name])
            self._known[name] = found.to_numpy(zero_copy_only=False).astype(bool)
        return self._known[name]

    @cached_property
    def are_plain(self) -> Bools:
        """Whether each word has a letter or digit and is no @name, #tag or URL, `[words]`."""
        return self.are("letters or digits") & ~(self.are("@name") | self.are("#tag") | self.are("URL"))

    @cached_property
    def pronoun(self) -> Int8s:
        """The index of each word's person and number in `PRONOUNS`, -1 if it is no pronoun, `[words]`.

        *US* and *IT* in capitals are taken for names.
        """
        is_name = pc.is_in(self._words, value_set=pa.array(["IT", "US"], self._words.type))
        lower = pc.if_else(is_name, "", pc.utf8_lower(self._words))
        place = {word: i for i, words in enumerate(PRONOUNS.values()) for word in words.split()}
        index = pc.fill_null(pc.index_in(lower, value_set=pa.array(list(place), lower.type)), len(place))
        return np.asarray(np.array([*place.values(), -1], np.int8)[index.to_numpy(zero_copy_only=False)])

    @cached_property
    def shapes(self) -> UInt8s:
        """The shapes of each word as bits in the order of `SHAPES`, `[words]`; a name or a URL has no other shape."""
        masks = {name: self.are(name) for name in SHAPES if name != "repeated letters"}
        masks["repeated letters"] = self.are("three") & self.are("letters") & ~self.are("numeral")
        is_whole = masks["@name"] | masks["#tag"] | masks["URL"]
        bits = np.zeros(len(is_whole), np.uint8)
        for i, name in enumerate(SHAPES):
            bits |= (masks[name] & (~is_whole | (name in ("@name", "#tag", "URL")))).astype(np.uint8) << i
        return bits
