"""Sets of sentences that follow a form are found by its name, in profiles and in score cards."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from ops.explain.set_explainer import Known, Pool, SetExplainer
from ops.literals.find import Literals
from ops.literals.incidence import incidence
from ops.literals.pool import literal_rows
from ops.literals.sentence_literals import form_literals, length_literals
from ops.mine.baseline_counts import BlockCounter, add_up, read_baselines
from ops.mine.candidates import mine_candidates, unite
from ops.mine.findings import profile_rows
from ops.mine.pattern_kinds import pattern_kinds
from ops.mine.properties import Profiler
from ops.mine.sentence_sets import SentenceSets
from ops.patterns.sequences import Sequences
from ops.sentences.mining_view import MiningView
from tests.unit.small_corpus import Sentence, open_corpus

N = 2_400
OPTIONS = {
    "word_min_support": 0.02, "word_max_length": 1, "word_max_gap": 0, "tag_min_support": 0.2, "tag_max_length": 1,
    "tag_max_gap": 0, "subtree_min_support": 1.0, "subtree_max_nodes": 2, "min_count": 5, "engine": "compiled",
}  # fmt: skip
VERBS = [f"verb{i}" for i in range(20)]
NEGATIONS = ["not", "n't", "never", "no", "nobody", "nothing", "neither", "nor", "without", "hardly"]
NOUNS = [f"noun{i}" for i in range(30)]


def sentence(rng: np.random.Generator, forms: set[str]) -> Sentence:
    """Return a sentence with these forms and no others. Some have no verb, and some a question mark in the middle."""
    subject, tag = [], "VB"
    if "imperative" not in forms:
        pronoun, word = str(rng.choice(["we", "they", "she"])), str(rng.choice(NOUNS))
        subject, tag = ([(pronoun, "PRP")], "VBP") if rng.random() < 0.5 else ([(word, "NN")], "NN")
    found = [*subject, (str(rng.choice(VERBS)), tag)]
    found += [(str(rng.choice(NOUNS)), "NN") for _ in range(rng.integers(2, 8))]
    if "negation" in forms:
        found.insert(len(subject) + 1, (str(rng.choice(NEGATIONS)), "RB"))
    elif rng.random() < 0.1:
        found.insert(len(subject) + 1, ("?", "."))
    if "question" in forms or rng.random() < 0.5:
        found.append(("?" if "question" in forms else ".", "."))
    words, tags = zip(*found, strict=True)
    return Sentence([*words], [*tags], doc_id=str(rng.integers(0, 600)))


@pytest.mark.parametrize("form", ["negation", "question", "imperative"])
def test_a_planted_form_is_found_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    rng = np.random.default_rng(3)
    has = {name: rng.random(N) < 0.1 for name in ("negation", "question", "imperative")}
    store = open_corpus(
        tmp_path, monkeypatch, [sentence(rng, {name for name, own in has.items() if own[i]}) for i in range(N)]
    )
    view = MiningView(store, "lower")
    profiler = Profiler(view)
    winners = np.flatnonzero(np.where(has[form], rng.random(N) < 0.5, rng.random(N) < 0.01)).astype(np.int32)
    members = Sequences(winners, np.array([0, len(winners)]))

    kinds = pattern_kinds(view, OPTIONS)
    sets = SentenceSets.gather(np.array([0]), members, store)
    union = unite([mine_candidates(sets, kinds.values(), 5)])
    counted = BlockCounter(union, kinds, profiler).count([np.arange(N // 2), np.arange(N // 2, N)])
    baseline, _ = read_baselines(union, kinds, profiler, add_up([counted]))
    rows = profile_rows(profiler, baseline, sets, 5)[1].to_pylist()
    first = max((row for row in rows if row["property"] not in ("tag", "tag_class")), key=lambda row: row["g2"])
    assert (first["property"], first["value"]) == ("form", form)
    assert first["q_value"] < 1e-6

    words = [[word] for word in (*VERBS, *NEGATIONS, *NOUNS, "we", "they", "she")]
    pool = [
        literal_rows("word", [word for (word,) in words], words),
        literal_rows("mark", ["?", "."], [["?"], ["."]]),
        form_literals(profiler),
        length_literals(store),
    ]
    literals = Literals(pa.concat_tables(pool), view, kinds)
    known = Known(np.arange(N), incidence(literals.find(np.arange(N)), N))
    of_pool = Pool(literals.nuisance, literals.plainness, literals.known, lambda rows, which: known.matrix[:, rows])
    found = SetExplainer(known, of_pool, np.asarray(store.doc), np.asarray(store.fold), N, 6).fold(winners, None)
    card = found.which[found.published().literals]
    language = [literals.every[i] for i in card if not literals.nuisance[i]]
    assert (language[0].kind, list(language[0].items)) == ("form", ["form", form])
