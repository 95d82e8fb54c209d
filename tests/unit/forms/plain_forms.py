"""The forms of one sentence in plain Python, as a reference for `ops.forms`."""

import re
from collections.abc import Iterable, Sequence

from ops.forms.affixes import PREFIXES, SUFFIXES
from ops.forms.word_facts import PRONOUNS
from ops.penn import PUNCTUATION_TAGS

NEGATIONS = {"not", "never", "no", "nobody", "nothing", "neither", "nor", "without", "hardly", "cannot"}
BE = {"am", "is", "are", "was", "were", "be", "been", "being", "ai", "'s", "'re", "'m"}
GET = {"get", "gets", "got", "getting", "gotten"}
ACTIVE = {"been", "gone", "had", "got", "gotten", "become", "come", "happened", "arrived"}
LETTERS = re.compile("[a-z]+")


def affixes(words: Iterable[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the productive prefix and the productive suffix of each word of a corpus that has one."""
    known = {word.lower() for word in words if LETTERS.fullmatch(word.lower())}
    return _productive(known, PREFIXES.split(), False), _productive(known, SUFFIXES.split(), True)


def _productive(known: set[str], letters: list[str], at_end: bool) -> dict[str, str]:
    found: dict[str, str] = {}
    for affix in sorted(letters, key=len):
        least = 3 if at_end else 4
        spelled = {word for word in known if (word.endswith if at_end else word.startswith)(affix)}
        spelled = {word for word in spelled if len(word) >= len(affix) + least}
        having = {word for word in spelled if any(_is_rest(rest, least, known) for rest in _rests(word, affix, at_end))}
        if len(having) >= 10 and 4 * len(having) >= len(spelled):
            found |= dict.fromkeys(having, f"-{affix}" if at_end else f"{affix}-")
    return found


def _is_rest(rest: str, least: int, known: set[str]) -> bool:
    return len(rest) >= least and rest in known and not set(rest).isdisjoint("aeiouy")


def _rests(word: str, affix: str, at_end: bool) -> list[str]:
    if not at_end:
        return [word[len(affix) :]]
    rest = word[: -len(affix)]
    found = [rest, rest[:-1] + "y" if rest.endswith("i") else ""]
    if affix[0] in "aeiouy":
        found += [rest + "e", rest[:-1] if rest[-1:] == rest[-2:-1] else ""]
    return found


def plain_forms(words: list[str], tags: list[str] | None, top: str) -> dict[str, set[str]]:
    """Return the values that a sentence has of every property but the affixes; `top` is the label below the root."""
    marks = {i for i, word in enumerate(words) if _is_mark(word, tags[i] if tags else None)}
    inner = [word.lower() for i, word in enumerate(words) if i not in marks]
    found = {"form": set(), "first_word": set(inner[:1]), "last_word": set(inner[-1:]), "shape": _shapes(words)}
    lower = [word.lower().replace("\u2019", "'") for word in words]
    negated = any(w in NEGATIONS or w.endswith("n't") for w in lower) or "nt" in words
    forms = {"negation": negated, "question": _asks(words, top), "quotation": _quotes(words, tags)}
    if tags:
        forms |= {"imperative": _commands(lower, tags), "passive": _is_passive(lower, tags, _asks(words, top))}
        own = {pronoun: name for name, every in PRONOUNS.items() for pronoun in every.split()}
        pairs = [(w.lower(), t) for w, t in zip(words, tags, strict=True) if w not in ("IT", "US")]
        found["pronoun"] = {own[w] for w, t in pairs if t in ("PRP", "PRP$") and w in own}
        found["tense"] = _tense(lower, tags)
    found["form"] = {name for name, holds in forms.items() if holds}
    return found


def _is_mark(word: str, tag: str | None) -> bool:
    return (
        tag in PUNCTUATION_TAGS
        if tag
        else all(c in ".,:;!?'\"`()[]{}-\u2014\u2018\u2019\u201c\u201d\u2026" for c in word)
    )


def _is_url(word: str) -> bool:
    return bool(re.match(r"(https?://|www\.)\S", word, re.I))


def _is_plain(words: Sequence[str], i: int) -> bool:
    word = words[i]
    tagged = re.match(r"#\w*[^\W\d_]", word) or (i and words[i - 1] == "#" and word[0].isalpha())
    return any(c.isalnum() for c in word) and not word.startswith("@") and not tagged and not _is_url(word)


def _asks(words: list[str], top: str) -> bool:
    for i in reversed(range(len(words))):
        if "?" in words[i] and set(words[i]) <= set("?!.\u2026"):
            return True
        if _is_plain(words, i):
            break
    return top in ("SBARQ", "SQ")


def _quotes(words: list[str], tags: list[str] | None) -> bool:
    plain = [i for i in range(len(words)) if _is_plain(words, i)]
    measured = {i for i in range(1, len(words)) if words[i - 1].isdigit()}
    double = [i for i, w in enumerate(words) if w in ('"', "\u201c", "\u201d", "\u201e", "\u00ab", "\u00bb", "''")]
    double = [i for i in double if i not in measured]
    single = [i for i, w in enumerate(words) if w in ("'", "\u2018", "\u2019") and tags and tags[i] in ("``", "''")]
    if any(marks and marks[0] < i < marks[-1] for marks in (double, single) for i in plain):
        return True
    return bool(plain) and any(i < plain[0] or i > plain[-1] or words[i] == "''" for i in double)


def _commands(lower: list[str], tags: list[str]) -> bool:
    breaks = (".", ":", "``", "-LRB-", "-RRB-")
    verbs = ("MD", "TO", "VB", "VBD", "VBG", "VBN", "VBP", "VBZ")

    def before(i: int) -> int:
        i -= 1
        while i >= 0 and (tags[i] in ("RB", "RBR", "UH") or lower[i].startswith("@")):
            i -= 1
        return i

    for i, tag in enumerate(tags):
        negated = i + 1 < len(tags) and lower[i + 1] in ("not", "n't", "nt")
        if tag != "VB" and not (tag == "VBP" and lower[i] == "do" and negated):
            continue
        j = before(i)
        if j < 0 or tags[j] in breaks:
            return True
        start = max((k + 1 for k in range(i) if tags[k] in breaks), default=0)
        lead = tags[start:j]
        is_clause = tags[start] in ("IN", "WRB", "TO", "VBG", "VBN") and "," not in lead
        if tags[j] == "," and (is_clause or not any(t in verbs for t in lead)):
            return True
        k = before(j)
        if tags[j] == "CC" and (k < 0 or tags[k] in breaks):
            return True
    return False


def _is_passive(lower: list[str], tags: list[str], asks: bool) -> bool:
    verbs = ("MD", "TO", "VB", "VBD", "VBG", "VBN", "VBP", "VBZ")

    def is_be(i: int) -> bool:
        return lower[i] in BE | GET and tags[i] in verbs and tags[i + 1 : i + 2] != ["EX"]

    for i, tag in enumerate(tags):
        if tag != "VBN" or lower[i] == "gone":
            continue
        head = next((j for j in reversed(range(i)) if tags[j] not in ("RB", "RBR", "UH")), None)
        if head is not None and is_be(head) and not (lower[i] in ACTIVE and lower[head] == "'s"):
            return True
        verb = next((j for j in reversed(range(i)) if tags[j] in verbs), None)
        if asks and verb is not None and is_be(verb) and (verb == 0 or tags[verb - 1] in ("WRB", "WP", "WDT")):
            return True
    return False


def _tense(lower: list[str], tags: list[str]) -> set[str]:
    for i, tag in enumerate(tags):
        if tag == "MD":
            return {"future" if lower[i] in ("will", "shall", "wo", "sha", "'ll") else "modal"}
        if tag in ("VBD", "VBP", "VBZ"):
            return {"past" if tag == "VBD" else "present"}
        head = next((tags[j] for j in reversed(range(i)) if tags[j] not in ("RB", "RBR", "UH")), None)
        if tag == "VB" and head != "TO":
            return set()
    return set()


def _shapes(words: list[str]) -> set[str]:
    found = set()
    for i, word in enumerate(words):
        if word.startswith("@") and len(word) > 1:
            found.add("@name")
        elif _is_url(word):
            found.add("URL")
        elif re.match(r"#\w*[^\W\d_]", word) or (i and words[i - 1] == "#" and word[0].isalpha()):
            found.add("#tag")
        else:
            letters = [c for c in word if c.isalpha()]
            is_clean = all(c.isalnum() or c in ".&'\u2019_/-" for c in word)
            found |= {"capitals"} if len(letters) > 1 and is_clean and all(c.isupper() for c in letters) else set()
            found |= {"digits"} if any(c.isnumeric() for c in word) else set()
            found |= (
                {"emoji"} if any(0x1F000 <= ord(c) <= 0x1FAFF or 0x2600 <= ord(c) <= 0x27BF for c in word) else set()
            )
            is_stretched = re.search(r"([a-z])\1\1", word.lower()) and re.fullmatch("[A-Za-z'\u2019]+", word)
            is_numeral = re.fullmatch("[ivx]+|www", word.lower())
            found |= {"repeated letters"} if is_stretched and not is_numeral else set()
    return found
