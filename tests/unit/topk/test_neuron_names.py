import pytest

from ops.errors import InputError
from ops.topk.neuron_names import NEURON, parse_pair


def test_a_neuron_is_two_whole_numbers() -> None:
    assert parse_pair("--neuron", "3:17", NEURON) == (3, 17)
    for text, said in (("", "is missing"), ("3", "expected LAYER"), ("1:" + "9" * 40, "no model is that large")):
        with pytest.raises(InputError, match=said):
            parse_pair("--neuron", text, NEURON)
