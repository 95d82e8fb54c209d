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
