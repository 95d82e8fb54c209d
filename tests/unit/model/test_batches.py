from itertools import combinations, pairwise
from math import inf
from typing import cast

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ops.model.batches import ON_CPU, encode_batches, length_batches, token_budget
from ops.model.tokenizer import Tokenizer, Tokens


@given(st.lists(st.integers(0, 600), max_size=80), st.integers(1, 1500))
def test_every_row_once_within_the_budget_and_longest_first(lengths: list[int], budget: int) -> None:
    batches = [rows.tolist() for rows in length_batches(np.array(lengths, np.int32), budget)]
    flat = [row for rows in batches for row in rows]
    assert flat == sorted(range(len(lengths)), key=lambda row: (-lengths[row], row))
    for rows in batches:
        assert rows
        assert len(rows) == 1 or max(lengths[row] for row in rows) * len(rows) <= budget


@given(st.lists(st.integers(1, 30), max_size=80), st.integers(1, 200))
def test_equal_is_of_one_length(lengths: list[int], budget: int) -> None:
    batches = [rows.tolist() for rows in length_batches(np.array(lengths, np.int32), budget, equal_lengths=True)]
    assert sorted(row for rows in batches for row in rows) == list(range(len(lengths)))
    for rows in batches:
        assert len({lengths[row] for row in rows}) == 1
        assert len(rows) == 1 or sum(lengths[row] for row in rows) <= budget


@given(st.lists(st.integers(1, 60), min_size=1, max_size=9), st.integers(1, 400))
def test_no_other_cut_costs_less(lengths: list[int], budget: int) -> None:
    ordered = sorted(lengths, reverse=True)

    def cost(cuts: tuple[int, ...]) -> float:
        total = 0
        for start, stop in pairwise((0, *cuts, len(ordered))):
            tokens = ordered[start] * (stop - start)
            if stop - start > 1 and tokens > budget:
                return inf
            total += tokens + max(budget // 64, 1)
        return total

    inner = range(1, len(ordered))
    least = min(cost(cuts) for n in range(len(ordered)) for cuts in combinations(inner, n))
    sizes = [len(rows) for rows in length_batches(np.array(lengths), budget)]
    assert cost(tuple(np.cumsum(sizes)[:-1])) == least
    for kind in (np.uint8, np.int16, np.int64):
        assert [len(rows) for rows in length_batches(np.array(lengths, kind), budget)] == sizes


def test_batches_are_tokenized_in_their_order() -> None:
    class Letters:
        def encode(self, texts: list[str]) -> list[Tokens]:
            return [Tokens([ord(c) for c in text], [0] * len(text), False) for text in texts]

    texts = ["abc", "d", "efg", "ghij", "k"]
    lengths = np.array([len(t) for t in texts])
    found = list(encode_batches(np.arange(10, 15), texts, lengths, cast(Tokenizer, Letters()), 6))
    assert [ids.tolist() for ids, _ in found] == [[13], [10, 12], [11, 14]]
    for ids, tokens in found:
        assert ["".join(map(chr, t.ids)) for t in tokens] == [texts[i - 10] for i in ids]
    assert list(encode_batches(np.arange(0), [], np.arange(0), cast(Tokenizer, Letters()), 6)) == []


# What torch shows of GPUs (`torch.cuda.get_device_properties(0).total_memory`).
KNOWN = {
    "H100 80GB": (85_028_765_696, 131_072),
    "L40S": (47_697_362_944, 65_536),
    "V100-SXM2-32GB": (34_079_637_504, 32_768),
    "L4": (23_677_177_856, 32_768),
    "V100-SXM2-16GB": (16_935_682_048, 16_384),
}


def test_a_gpu_gets_the_batches_of_its_class_and_a_cpu_the_smallest() -> None:
    assert {name: (memory, token_budget(memory)) for name, (memory, _) in KNOWN.items()} == KNOWN
    assert token_budget(None) == token_budget(0) == ON_CPU == 2_048
