"""The index that the search field of a static site searches: the evidence that all searches rank, as a script."""

import gzip
import json
import math
from base64 import b64encode
from collections.abc import Collection, Iterable, Mapping, Sequence

import pyarrow as pa

from ops.facts.evidence import OF_PLACES
from ops.facts.query import CHOICES, FILTER, KIND, NUMBERS, PERSON, PLURAL, QUOTED
from ops.facts.rows import Key, Row, key_of
from ops.facts.text import in_brief
from ops.penn_names import codes_by_name

# The columns of the evidence that an index has, and which rows: all single tags, and the strongest others of each
# neuron, pole and kind. All words of a small run are among its strongest.
COLUMNS = "layer, unit, pole, form, kind, found, text, g2, lift, q"
STRONGEST, STRONGEST_LONG = 20, 4
LEAST_Q = 1e-300  # a smaller q, and 0, counts as this
LISTED = (
    f"if(form = 'codes' and contains(text, ' '), rank <= {STRONGEST_LONG}, "
    f"rank <= {STRONGEST} or form = 'codes' or form = 'group')"
)


def search_index(
    evidence: pa.Table, neurons: Sequence[Key], known: Mapping[Key, Row], pages: Collection[tuple[int, int]]
) -> str:
    """Return the index as a script that sets `atlasIndex` to base64 of gzip of JSON, a third of the JSON's size.

    `layer`, `unit` and `pole` have an entry for each neuron and pole; `text` (the explanation without its numbers),
    `verdict`, `across` and `score` say what is known of it. `terms` has, by form, kind and term, four integers for each
    entry that has the term: the entry's index, G2 in tenths, 100 times the logarithm of the lift, and -100 times the
    decimal logarithm of q, rounded down. `names`, `places`, `numbers`, `choices` and the regular expressions `filter`,
    `quoted`, `kind`, `plural` and `person` are those of `jobs.show --find`.

    Args:
        neurons: all neurons with each of their poles, in the order in which they are listed without a phrase.
        known: for neurons and poles, what is known of `text`, `verdict`, `across` and `auc`.
        pages: layer and unit of the neurons that have a page.
    """
    at = {key: entry for entry, key in enumerate(neurons)}
    rows = [known.get(key, {}) for key in neurons]
    scores = [row.get("auc") for row in rows]
    index = {
        "layer": [key[0] for key in neurons], "unit": [key[1] for key in neurons], "pole": [key[2] for key in neurons],
        "text": [in_brief(row.get("text") or "") for row in rows],
        "verdict": [row.get("verdict") for row in rows], "across": [row.get("across") for row in rows],
        "score": [None if score is None else round(score, 3) for score in scores],
        "terms": _terms(evidence.to_pylist(), at), "names": codes_by_name(), "places": OF_PLACES, "numbers": NUMBERS,
        "choices": CHOICES, "filter": FILTER, "quoted": QUOTED, "kind": KIND, "person": PERSON, "plural": PLURAL,
        "pages": [f"{layer}-{unit}" for layer, unit in pages],
    }  # fmt: skip
    packed = gzip.compress(json.dumps(index, separators=(",", ":")).encode(), mtime=0)
    return f'atlasIndex = "{b64encode(packed).decode()}";\n'


def _terms(evidence: Iterable[Row], at: Mapping[Key, int]) -> dict[str, dict[str, dict[str, list[int]]]]:
    terms: dict[str, dict[str, dict[str, list[int]]]] = {}
    for row in evidence:
        entry = at.get(key_of(row))
        if entry is not None:
            kinds = terms.setdefault(row["form"], {}).setdefault(row["kind"], {})
            # A group is found by any of its words, so these are the term.
            term = row["text"] if row["form"] == "group" else row["found"]
            of_q = math.floor(-100 * math.log10(max(row["q"], LEAST_Q)) + 1e-6)
            kinds.setdefault(term, []).extend((entry, round(10 * row["g2"]), round(100 * math.log(row["lift"])), of_q))
    return terms
