import pytest

from ops.storage.fingerprint import fingerprint


def test_it_is_one_name_for_ever() -> None:
    assert fingerprint({"k": 100, "poles": ["top"]}) == fingerprint({"poles": ["top"], "k": 100})
    assert fingerprint({}) == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"


@pytest.mark.parametrize("other", [{"k": 101}, {"k": "100"}, {"k": 100.5}, {"K": 100}, {"k": None}, {}])
def test_any_change_changes_it(other: dict[str, object]) -> None:
    assert fingerprint(other) != fingerprint({"k": 100})


def test_letters_beyond_ascii() -> None:
    found = fingerprint({"ü": "😀\ud800"})
    assert len(found) == 64
    assert found != fingerprint({"ü": "😀"})
