from ops.storage.fingerprint import differences, fingerprint


def test_it_is_one_name_for_ever() -> None:
    assert fingerprint({"k": 100, "poles": ["top"]}) == fingerprint({"poles": ["top"], "k": 100})
    assert fingerprint({}) == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"


def test_any_change_changes_it() -> None:
    others: list[dict[str, object]] = [{"k": 101}, {"k": "100"}, {"k": 100.5}, {"K": 100}, {"k": None}, {}]
    pairs = [({"k": 100}, other) for other in others]
    for one, other in (*pairs, ({"ü": "😀\ud800"}, {"ü": "😀"})):
        assert fingerprint(one) != fingerprint(other)


def test_a_long_name_of_a_model_does_not_hide_the_seed_of_its_weights() -> None:
    was, now = ({"model": f"random:{'/folder' * 20}", "model_seed": seed} for seed in (None, 2))
    name = "random:/folder/folder/folder/folder/fold..."
    assert differences({"model": "a"}, {"model": "b"}, was, now) == (
        f"model (was {name}, is {name} with --model-seed 2)"
    )
    assert differences({"model": "a"}, {"model": "b"}, now, now).endswith("--model-seed 2 has changed)")


def test_a_fingerprint_is_never_shown_and_the_option_that_decides_it_is_named() -> None:
    own, other = fingerprint({}), fingerprint({"k": 1})
    was, now = {"dictionary": ["1=a"]}, {"dictionary": ["1=b"]}
    changed = {"dictionaries": {"1": own}}, {"dictionaries": {"1": other}}
    assert differences(*changed, was, now) == "dictionary (was 1=a, is 1=b)"
    assert differences(*changed, was, was) == "dictionary (1=a has changed)"
    assert differences(*changed) == "dictionary (has changed)"
    assert differences({"against_run": own}, {"against_run": other}, {"against": "x"}, {"against": "y"}) == (
        "against (was x, is y)"
    )
    assert differences({"scores": None}, {"scores": own}) == "scores (was not given, is other contents)"
