from ops.show.listing import lay_out_listings
from ops.show.side_jobs import word_listings


def test_contexts_and_the_neighbours_of_every_space() -> None:
    near = [{"rank": i + 1, "other": f"o{i}", "cosine": 0.9 - i / 10, "inner": 12.5} for i in range(4)]
    contexts = [{"context": "yellow" * 30, "count": 1_234, "ppmi": 3.217}] * 4
    facts = {"word": "banana", "count": 5_678, "n_contexts": 40, "contexts": contexts}
    text = lay_out_listings(word_listings({**facts, "neighbours": {"counts": near, "layer:1": near[:1]}}, 3), 60)
    lines = text.splitlines()
    assert lines[0] == "banana: 5,678 occurrences, 40 context words near it"
    assert [line.split()[:2] for line in lines[2:5]] == [["3.22", "1,234"]] * 3
    assert max(map(len, lines)) <= 60
    assert [line.split()[-1] for line in lines if line.startswith("Nearest in")] == ["counts", "layer:1"]
    assert [line.split() for line in lines if line.endswith("o1")] == [["0.800", "12.5", "o1"]]
    facts = {"word": "hm", "count": 2, "n_contexts": 0, "contexts": [], "neighbours": {}}
    assert lay_out_listings(word_listings(facts, 5), 80).splitlines()[-1].split() == ["-", "-", "none"]
