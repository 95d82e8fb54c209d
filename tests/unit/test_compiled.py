import numpy as np

from ops.compiled import compiled


@compiled
def total(numbers: np.ndarray) -> float:
    result = 0.0
    for number in numbers:
        result += number
    return result


def test_a_compiled_function_computes_without_the_lock():
    assert total(np.array([1.5, 2.0])) == 3.5
    assert total.targetoptions["nogil"]
    assert total.signatures
