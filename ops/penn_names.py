"""Names in plain English for Penn tags, phrase labels, and patterns of tags and labels."""

import re
from collections.abc import Sequence
from functools import cache
from itertools import groupby

from ops.penn import ROOT, Tree

# The singular and plural of the tags and labels of the Penn Treebank, with those that the English Web Treebank,
# OntoNotes and GUM add.
TAGS: dict[str, tuple[str, str]] = {
    "ADD": ("an address or URL", "addresses or URLs"),
    "AFX": ("an affix", "affixes"),
    "BES": ("a contracted form of to be", "contracted forms of to be"),
    "CC": ("a coordinating conjunction", "coordinating conjunctions"),
    "CD": ("a number", "numbers"),
    "DT": ("a determiner", "determiners"),
    "EX": ("an existential there", "existential theres"),
    "FW": ("a foreign word", "foreign words"),
    "GW": ("a part of a split word", "parts of split words"),
    "HVS": ("a contracted form of to have", "contracted forms of to have"),
    "HYPH": ("a hyphen", "hyphens"),
    "IN": ("a preposition or subordinator", "prepositions or subordinators"),
    "JJ": ("an adjective", "adjectives"),
    "JJR": ("a comparative adjective", "comparative adjectives"),
    "JJS": ("a superlative adjective", "superlative adjectives"),
    "LS": ("a list marker", "list markers"),
    "MD": ("a modal verb", "modal verbs"),
    "NFP": ("a superfluous mark", "superfluous marks"),
    "NIL": ("an untagged word", "untagged words"),
    "NN": ("a singular noun", "singular nouns"),
    "NNP": ("a proper noun", "proper nouns"),
    "NNPS": ("a plural proper noun", "plural proper nouns"),
    "NNS": ("a plural noun", "plural nouns"),
    "PDT": ("a predeterminer", "predeterminers"),
    "POS": ("a possessive ending", "possessive endings"),
    "PRP": ("a personal pronoun", "personal pronouns"),
    "PRP$": ("a possessive pronoun", "possessive pronouns"),
    "RB": ("an adverb", "adverbs"),
    "RBR": ("a comparative adverb", "comparative adverbs"),
    "RBS": ("a superlative adverb", "superlative adverbs"),
    "RP": ("a verb particle", "verb particles"),
    "SP": ("a space", "spaces"),
    "SYM": ("a symbol", "symbols"),
    "TO": ("the word to", "words to"),
    "UH": ("an interjection", "interjections"),
    "VB": ("a base verb", "base verbs"),
    "VBD": ("a past-tense verb", "past-tense verbs"),
    "VBG": ("an -ing verb", "-ing verbs"),
    "VBN": ("a past participle", "past participles"),
    "VBP": ("a plain present-tense verb", "plain present-tense verbs"),
    "VBZ": ("a present-tense verb in -s", "present-tense verbs in -s"),
    "WDT": ("a wh-determiner", "wh-determiners"),
    "WP": ("a wh-pronoun", "wh-pronouns"),
    "WP$": ("a possessive wh-pronoun", "possessive wh-pronouns"),
    "WRB": ("a wh-adverb", "wh-adverbs"),
    "XX": ("an unclear word", "unclear words"),
    "_SP": ("a space", "spaces"),
    "#": ("a number sign", "number signs"),
    "$": ("a currency sign", "currency signs"),
    '""': ("a quotation mark", "quotation marks"),
    "''": ("a closing quotation mark", "closing quotation marks"),
    "``": ("an opening quotation mark", "opening quotation marks"),
    "-LRB-": ("an opening bracket", "opening brackets"),
    "-RRB-": ("a closing bracket", "closing brackets"),
    ",": ("a comma", "commas"),
    ".": ("a sentence-final mark", "sentence-final marks"),
    ":": ("a colon, semicolon or dash", "colons, semicolons or dashes"),
}
PHRASES: dict[str, tuple[str, str]] = {
    "ADJP": ("an adjective phrase", "adjective phrases"),
    "ADVP": ("an adverb phrase", "adverb phrases"),
    "CONJP": ("a conjunction phrase", "conjunction phrases"),
    "EDITED": ("a repaired part", "repaired parts"),
    "EMBED": ("an embedded part", "embedded parts"),
    "FRAG": ("a fragment", "fragments"),
    "INTJ": ("an interjection phrase", "interjection phrases"),
    "LST": ("a list-marker phrase", "list-marker phrases"),
    "META": ("a note on the text", "notes on the text"),
    "NAC": ("a loose group", "loose groups"),
    "NML": ("a noun's modifier", "noun's modifiers"),
    "NP": ("a noun phrase", "noun phrases"),
    "NX": ("a head of a noun phrase", "heads of noun phrases"),
    "PP": ("a prepositional phrase", "prepositional phrases"),
    "PRN": ("a parenthesis", "parentheses"),
    "PRT": ("a particle phrase", "particle phrases"),
    "QP": ("a quantity", "quantities"),
    "ROOT": ("a sentence", "sentences"),
    "RRC": ("a reduced relative clause", "reduced relative clauses"),
    "S": ("a clause", "clauses"),
    "SBAR": ("a subordinate clause", "subordinate clauses"),
    "SBARQ": ("a wh-question", "wh-questions"),
    "SINV": ("an inverted clause", "inverted clauses"),
    "SQ": ("a yes/no question", "yes/no questions"),
    "TOP": ("a sentence", "sentences"),
    "TYPO": ("a misspelt part", "misspelt parts"),
    "UCP": ("a coordination of unlike parts", "coordinations of unlike parts"),
    "VP": ("a verb phrase", "verb phrases"),
    "WHADJP": ("a wh-adjective phrase", "wh-adjective phrases"),
    "WHADVP": ("a wh-adverb phrase", "wh-adverb phrases"),
    "WHNP": ("a wh-noun phrase", "wh-noun phrases"),
    "WHPP": ("a wh-prepositional phrase", "wh-prepositional phrases"),
    "X": ("an unclear phrase", "unclear phrases"),
}
_NAMES = TAGS | PHRASES
# The tags and labels that a general term of grammar covers, for terms that are not the name of a single one.
GROUPS: dict[str, tuple[str, ...]] = {
    "adjective": ("JJ", "JJR", "JJS"),
    "adverb": ("RB", "RBR", "RBS"),
    "bracket": ("-LRB-", "-RRB-"),
    "clause": ("S", "SBAR", "SBARQ", "SINV", "SQ"),
    "comparative": ("JJR", "RBR"),
    "conjunction": ("CC",),
    "gerund": ("VBG",),
    "infinitive": ("TO VB",),
    "modal": ("MD",),
    "noun": ("NN", "NNS", "NNP", "NNPS"),
    "participle": ("VBG", "VBN"),
    "particle": ("RP",),
    "past tense": ("VBD",),
    "possessive": ("POS", "PRP$", "WP$"),
    "preposition": ("IN",),
    "present participle": ("VBG",),
    "present tense": ("VBP", "VBZ"),
    "pronoun": ("PRP", "PRP$", "WP", "WP$"),
    "proper noun": ("NNP", "NNPS"),
    "question": ("SBARQ", "SQ"),
    "quotation": ("``", "''"),
    "quotation mark": ("``", "''", '""'),
    "relative clause": ("RRC",),
    "superlative": ("JJS", "RBS"),
    "url": ("ADD",),
    "verb": ("VB", "VBD", "VBG", "VBN", "VBP", "VBZ"),
}
_ARTICLE, _INNER_HYPHEN = re.compile("^(?:an?|the) "), re.compile(r"(?<=\w)-(?=\w)")
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
# The phrases that are usual for a complete sentence; a sentence that is any other phrase is described as "only" that.
_WHOLE = frozenset({"S", "SBARQ", "SINV", "SQ"})
ROOTS = frozenset({ROOT, "TOP"})


def name_of(code: str, count: int = 1) -> str:
    """Return the English name of one or several items with a tag or phrase label.

    A label's function, such as SBJ in `NP-SBJ`, is left out. A code that has no name is used as it is.

    >>> name_of("VBD"), name_of("NN", 3), name_of("NP-SBJ"), name_of("QQ")
    ('a past-tense verb', 'three singular nouns', 'a noun phrase', 'a QQ')
    """
    base = code if code in _NAMES else code.partition("-")[0].partition("=")[0]
    one, several = _NAMES.get(base, (f"a {code}", f"{code}s"))
    return one if count == 1 else f"{_NUMBERS[count] if count < len(_NUMBERS) else count} {several}"


@cache
def codes_by_name() -> dict[str, tuple[str, ...]]:
    """Return the tags and labels that each English name stands for, in lower case, in the singular and the plural.

    Articles are left out, and a hyphen within a name is a space.

    >>> codes = codes_by_name()
    >>> codes["past participles"], codes["noun phrase"], codes["modal"], codes["wh question"]
    (('VBN',), ('NP',), ('MD',), ('SBARQ',))
    """
    found: dict[str, tuple[str, ...]] = {}
    for code, names in _NAMES.items():
        for name in names:
            spelled = _INNER_HYPHEN.sub(" ", _ARTICLE.sub("", name).lower())
            found[spelled] = (*found.get(spelled, ()), code)
    return found | {name + end: codes for name, codes in GROUPS.items() for end in ("", "s")}


def name_tags(tags: Sequence[str]) -> str:
    """Return a sequence of tags, with or without words between them, in plain English.

    >>> name_tags(["VBD", "VBN"])
    'a past-tense verb followed by a past participle'
    >>> name_tags(["VB", "DT", "NN", "NN"])
    'a base verb followed by a determiner, then two singular nouns'
    """
    first, *rest = _counted([(tag, None) for tag in tags])
    return f"{first} followed by {_in_order(rest)}" if rest else first


def name_tree(tree: Tree) -> str:
    """Return a subtree below the sentence's root in plain English; siblings are in order but need not be adjacent.

    >>> name_tree(Tree("VP", [Tree("VB"), Tree("NP", [Tree("NN"), Tree("NN")])]))
    'a verb phrase with a base verb, then a noun phrase that has two singular nouns'
    """
    return _named(tree, 0)


def name_root(tree: Tree, is_collapsed: bool = False) -> str:
    """Return the English for a subtree with the sentence's root, to follow the words "a sentence that".

    Args:
        tree: the subtree, with the root and at least one other node.
        is_collapsed: whether a clause directly below the root was merged into it, so that the root has its children.

    >>> name_root(Tree("ROOT", [Tree("NP")])), name_root(Tree("ROOT", [Tree("SBARQ")]))
    ('is only a noun phrase', 'is a wh-question')
    >>> name_root(Tree("ROOT", [Tree("NP")]), is_collapsed=True)
    'has a noun phrase at the top'
    """
    if is_collapsed or len(tree.children) != 1:
        return f"has {_below(tree, 1)} at the top"
    (child,) = tree.children
    return f"is {'' if child.label in _WHOLE else 'only '}{_named(child, 0)}"


def _named(tree: Tree, depth: int) -> str:
    name = name_of(tree.label)
    if not tree.children:
        return name
    return f"{name} {'that has' if depth % 2 else 'with'} {_below(tree, depth + 1)}"


def _below(tree: Tree, depth: int) -> str:
    return _in_order(_counted([(child.label, child if child.children else None) for child in tree.children], depth))


def _counted(codes: Sequence[tuple[str, Tree | None]], depth: int = 0) -> list[str]:
    """Return the names of codes in order; equal adjacent codes without children are named once with their count."""
    names = []
    for (code, tree), same in groupby(codes):
        alike = len(list(same))
        names += [name_of(code, alike)] if tree is None else [_named(tree, depth)] * alike
    return names


def _in_order(names: Sequence[str]) -> str:
    return ", then ".join(names)
