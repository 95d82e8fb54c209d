"""Design effects against loops over documents and sentences."""

from collections import defaultdict
from math import inf

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ops.statistics.association import signed_g2
from ops.statistics.design_effect import design_effects, expected_effects
from ops.statistics.false_discovery import p_values, selected_p_values

# Of each sentence its document and whether it has the pattern.
SENTENCES = st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=1, max_size=25)


def sums(sentences: list[tuple[int, bool]]) -> tuple[int, int, int, int, int, int, int]:
    """Return count, n, documents with the pattern, squares, products, documents, and the squares of their sizes."""
    documents = defaultdict(list)
    for document, has in sentences:
        documents[document].append(has)
    have, sizes = [sum(own) for own in documents.values()], [len(own) for own in documents.values()]
    squares, products = sum(a * a for a in have), sum(a * w for a, w in zip(have, sizes, strict=True))
    with_it = sum(a > 0 for a in have)
    return sum(have), len(sentences), with_it, squares, products, len(documents), sum(w * w for w in sizes)


def effect_of(sentences: list[tuple[int, bool]], share: float) -> np.ndarray:
    count, n, *rest = sums(sentences)
    return design_effects(count, n, share, *rest)


def slowly(sentences: list[tuple[int, bool]], share: float) -> float:
    """Return the design effect by its definition, one document and one sentence after the other."""
    residuals = defaultdict(float)
    alone = 0.0
    for document, has in sentences:
        residuals[document] += (1 if has else 0) - share
        alone += ((1 if has else 0) - share) ** 2
    documents, n = len(residuals), len(sentences)
    if documents == 1:
        return inf
    with_it = {document for document, has in sentences if has}
    if len(with_it) < 2 and documents < n and sum(has for _, has in sentences) > n * share:
        return inf
    clustered = sum(total**2 for total in residuals.values()) * documents / (documents - 1)
    return max(1.0, clustered / (alone * n / (n - 1))) if alone else max(1.0, documents / (documents - 1) * (n - 1) / n)


@given(SENTENCES, st.floats(0.001, 0.999))
def test_it_is_the_variance_by_documents_over_that_by_sentences(sentences, share):
    found = effect_of(sentences, share).item()
    assert found == pytest.approx(slowly(sentences, share), rel=1e-9)


@given(st.lists(st.booleans(), min_size=2, max_size=30), st.floats(0, 1))
def test_sentences_of_documents_of_their_own_have_exactly_one(has, share):
    effect = effect_of(list(enumerate(has)), share)
    assert effect.item() == 1.0
    table = (sum(has), len(has), 3, 40)
    assert p_values(signed_g2(*table), effect).item() == p_values(signed_g2(*table)).item()
    assert selected_p_values(*table, 1, effect).item() == selected_p_values(*table, 1).item()


def test_what_one_document_has_is_no_evidence_however_often():
    sentences = [(0, True)] * 30 + [(document, False) for document in range(1, 60)]
    effect = effect_of(sentences, 0.001)
    assert effect.item() == inf
    assert p_values(signed_g2(30, 89, 1, 5000), effect).item() == 1
    assert selected_p_values(30, 89, 1, 5000, 5, effect).item() == 1


def test_documents_that_are_alike_throughout_count_once_each():
    apart = signed_g2(8, 40, 20, 1000)
    pairs = [(document, document < 8) for document in range(40) for _ in range(2)]
    effect = effect_of(pairs, 0.03)
    assert effect.item() == pytest.approx(2 * (40 / 39) / (80 / 79))
    assert signed_g2(16, 80, 400, 20_000) / effect == pytest.approx(apart, rel=0.1)


@given(SENTENCES, st.floats(0, 1), st.data())
def test_of_all_sentences_of_the_baselines_documents_the_expected_effect_is_the_baselines(sentences, kept, data):
    count, n, _, squares, products, _, n_squares = sums(sentences)
    share = count / n
    assume(0 < share < 1)
    by_document = defaultdict(float)
    for document, has in sentences:
        by_document[document] += has - share
    whole = max(1.0, sum(r**2 for r in by_document.values()) / (n * share * (1 - share)))
    found = expected_effects(count, n, squares, products, n_squares, n, n_squares)
    assert found == pytest.approx(whole if n_squares > n else 1.0, rel=1e-9)
    # Keeps a part of each document's sentences, using the expected squares of the remaining numbers.
    left = kept * n_squares + (1 - kept) * n
    part = expected_effects(count, n, squares, products, n_squares, n, left)
    assert part == pytest.approx(1 + kept * (found - 1), rel=1e-9)
    assert expected_effects(0, 0, 0, 0, 0, 20, 60).item() == 1


def test_random_sets_of_whole_documents_have_a_difference_at_the_stated_rate():
    """Values that belong to a document: counted by sentence, more than a fifth of random sets would seem different."""
    random = np.random.default_rng(4)
    sizes = random.geometric(0.2, 600)
    has = np.repeat(random.random(600) < 0.2, sizes)
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    low, plain, draws = 0, 0, 400
    for _ in range(draws):
        chosen = random.choice(600, 40, replace=False)
        rows = [(int(d), bool(has[i])) for d in chosen for i in range(offsets[d], offsets[d + 1])]
        count = sum(own for _, own in rows)
        table = (count, len(rows), int(has.sum()) - count, len(has) - len(rows))
        low += bool(p_values(signed_g2(*table), effect_of(rows, has.mean())) < 0.05)
        plain += bool(p_values(signed_g2(*table)) < 0.05)
    assert low / draws <= 0.05 + 2.6 * np.sqrt(0.05 * 0.95 / draws)
    assert plain / draws > 0.2
