from ops.facts.neuron_facts import is_hub
from ops.sentences.hubs import most_wins


def test_a_hub_wins_ten_times_as_often_as_by_chance_beyond_its_family() -> None:
    most = most_wins(100, 5_000, 4_608)
    assert not is_hub({"wins": 922}, most), "its own win is one of them"
    assert is_hub({"wins": 923}, most)
    assert not is_hub({"wins": 1_000}, most, family=79)
    assert is_hub({"wins": 1_001}, most, family=79)
