from ops.facts.hub_sentences import is_hub, most_wins_of_run

TOPK = {"identity": {"k": 100, "poles": "both"}, "counts": {"scored": 5_000}}


def test_a_hub_wins_ten_times_as_often_as_by_chance_beyond_its_family() -> None:
    most = most_wins_of_run(TOPK, 2_304)
    assert most == 10 * 100 / 5_000 * 4_608
    assert most_wins_of_run({**TOPK, "identity": {"k": 100, "poles": "top"}}, 2_304) == most / 2
    assert not is_hub({"wins": 922}, most), "its own win is one of them"
    assert is_hub({"wins": 923}, most)
    assert not is_hub({"wins": 1_000}, most, family=79)
    assert is_hub({"wins": 1_001}, most, family=79)
    assert not is_hub({}, most), "a row without `wins`"
    few = {"identity": {"k": 100, "poles": "both"}, "counts": {"scored": 30}}
    assert not is_hub({"wins": 24}, most_wins_of_run(few, 12))
