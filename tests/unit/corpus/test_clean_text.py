import unicodedata
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ops.corpus.sentences import collapse_symbols, normalize

SYMBOLS = "!@#$%^&*()_+-=[]{};:?,."


def test_normalize() -> None:
    known = {"  a\t\r\n b\u00a0\u3000c ": "a b c", "cafe\u0301": "caf\u00e9", "": "", " \n": "", "\ufb01": "\ufb01"}
    assert {text: normalize(text) for text in known} == known


@given(st.text())
def test_normalize_is_idempotent_and_in_nfc(text: str) -> None:
    once = normalize(text)
    assert normalize(once) == once
    assert unicodedata.is_normalized("NFC", once)
    assert "  " not in once
    assert once == once.strip()


def test_a_run_of_a_symbol_becomes_one_and_other_runs_stay() -> None:
    for symbol in SYMBOLS:
        assert collapse_symbols(f"a{symbol * 5}b{symbol}") == f"a{symbol}b{symbol}"
    assert collapse_symbols("aa  \"\"~~//''\u2026\u2026 ?!?!") == "aa  \"\"~~//''\u2026\u2026 ?!?!"


@given(st.text(st.sampled_from(SYMBOLS + 'a "~')))
def test_no_run_of_a_symbol_is_left(text: str) -> None:
    collapsed = collapse_symbols(text)
    assert not any(a == b and a in SYMBOLS for a, b in pairwise(collapsed))
    assert len(collapse_symbols(collapsed)) == len(collapsed)
