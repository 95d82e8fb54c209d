"""The effects of neurons: a planted one is found, and the numbers match the layers run by hand."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModel, BertConfig, ConvBertConfig

from ops.arrays import Float64s
from ops.compare.ablation import Ablator, Chosen, Effect, ablation_table, choose_neurons, matched_neurons
from ops.finetune.classifier import new_classifier, save_classifier
from ops.model.activations import ScoreOptions
from ops.model.load import ModelFacts, read_facts
from ops.model.tokenizer import Tokenizer
from ops.schema import TABLES
from ops.topk.neurons import Neurons

TEXTS = ["the cat sat on its mat", "shares fell", "a file is read line by line until its end", "profit rose again"]
NEURONS, PLANTED = Neurons((12, 12)), 7
RNG = np.random.default_rng(0)
MEAN, STD = RNG.normal(size=24), RNG.uniform(0.5, 2, size=24)


def plant(model: torch.nn.Module) -> None:
    """Make the output of layer 2 depend on one unit of layer 1, and make that unit vary."""
    first, second = model.encoder.layer  # type: ignore[union-attr, misc]
    first.output.LayerNorm.weight[PLANTED] = 8.0
    second.intermediate.dense.weight[:, torch.arange(12) != PLANTED] = 0.0
    second.intermediate.dense.weight[:, PLANTED] *= 200
    second.output.dense.weight *= 200


@pytest.fixture(scope="module")
def planted(make_model: Callable[..., Path], small_bert: BertConfig) -> ModelFacts:
    return read_facts(str(make_model(small_bert, change=plant)))


def ablator(facts: ModelFacts, **options: str) -> Ablator:
    return Ablator(facts, ScoreOptions("hidden", **options), NEURONS, MEAN, STD, TEXTS, 24)


def test_a_neuron_that_feeds_the_others_is_found(planted: ModelFacts) -> None:
    found = ablator(planted)
    effects = [found.effect(neuron) for neuron in range(12)]
    moved = [effect.moved for effect in effects]
    assert int(np.argmax(moved)) == PLANTED
    assert sorted(moved)[-1] > 2 * sorted(moved)[-2]
    assert np.isnan(effects[0].output)
    last = found.effect(12)
    assert np.isnan([last.moved, last.own_moved, last.most_moved]).all()
    assert last.most == last.own == -1


@pytest.mark.parametrize(("pool", "special"), [("mean", "include"), ("max", "exclude"), ("cls", "include")])
def test_the_numbers_are_those_of_the_layers_run_by_hand(planted: ModelFacts, pool: str, special: str) -> None:
    found = ablator(planted, pool=pool, special_tokens=special).effect(3)
    model, tokenizer = AutoModel.from_pretrained(planted.location.path).eval(), Tokenizer(planted)
    total = np.zeros(12)
    for tokens in tokenizer.encode(TEXTS):
        with torch.no_grad():
            ids = torch.tensor([tokens.ids])
            states = model.encoder.layer[0](model.embeddings(input_ids=ids))
            states = states[0] if isinstance(states, tuple) else states
            ablated = states.clone()
            ablated[..., 3] = float(MEAN[3])
            ends = []
            for start in (states, ablated):
                end = model.encoder.layer[1](start)
                ends.append((end[0] if isinstance(end, tuple) else end)[0])
        differences = []
        for end in ends:
            own = end[1:-1] if special == "exclude" else end
            differences.append({"mean": own.mean(0), "max": own.amax(0), "cls": own[0]}[pool].numpy())
        total += np.abs(differences[1] - differences[0])
    by_neuron = total / len(TEXTS) / STD[12:]
    # Unit 3 of layer 2 holds the residual of the unit that was set, so it is not among the others.
    assert (found.own, found.own_moved) == (15, pytest.approx(by_neuron[3], rel=1e-4))
    by_neuron[3] = np.nan
    assert found.moved == pytest.approx(np.nanmean(by_neuron), rel=1e-4)
    assert found.most == 12 + int(np.nanargmax(by_neuron))
    assert found.most_moved == pytest.approx(np.nanmax(by_neuron), rel=1e-4)


def test_a_classifier_s_output_moves_with_the_unit_that_it_reads(planted: ModelFacts, tmp_path: Path) -> None:
    model = new_classifier(planted, Tokenizer(planted), 2, 0.0, 0)
    with torch.no_grad():
        model.linear.weight.zero_()
        model.linear.weight[0, 5] = 2.0
    save_classifier(model, planted, ["a", "b"], tmp_path)
    facts = read_facts(str(tmp_path))
    found = ablator(facts)
    outputs = [found.effect(12 + unit).output for unit in range(12)]
    assert [unit for unit, output in enumerate(outputs) if output > 1e-9] == [5]
    encoder = AutoModel.from_pretrained(facts.location.path).eval()
    expected = []
    for tokens in Tokenizer(facts).encode(TEXTS):
        with torch.no_grad():
            state = encoder(input_ids=torch.tensor([tokens.ids])).last_hidden_state[0, 0]
            other = state.clone()
            other[5] = float(MEAN[17])
            before, after = (model.linear(x).softmax(0) for x in (state, other))
        expected.append(float((after - before).abs().sum() / 2))
    assert outputs[5] == pytest.approx(np.mean(expected), rel=1e-4)


def test_where_padding_leaks_sentences_are_read_by_length(make_model: Callable[..., Path]) -> None:
    sizes = {"hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 20}
    facts = read_facts(str(make_model(ConvBertConfig(**sizes, embedding_size=12, head_ratio=1))))
    found = ablator(facts)
    assert [len({len(tokens.ids) for tokens in batch}) for batch in found.batches] == [1] * len(found.batches)
    assert len(found.batches) == len({len(tokens.ids) for batch in found.batches for tokens in batch})


def test_the_strongest_of_each_property_are_taken_in_turn_up_to_a_bound() -> None:
    values = np.arange(24.0)
    properties: dict[str, Float64s] = {"down": -values, "up": values}
    assert choose_neurons(properties, NEURONS, 3, 100, False) == {"down": [0, 1, 2], "up": [11, 10, 9]}
    assert choose_neurons(properties, NEURONS, 3, 100, True)["up"] == [23, 22, 21]
    assert choose_neurons(properties, NEURONS, 3, 3, False) == {"down": [0, 1], "up": [11]}


def test_random_neurons_are_of_the_layer_and_of_a_like_spread() -> None:
    neurons, width = Neurons((200, 200)), 200
    std = np.random.default_rng(1).permutation(np.geomspace(0.5, 2, 2 * width))
    most = int(std[:width].argmax())
    middle = int(np.argsort(std[width:])[100]) + width
    drawn = matched_neurons(neurons, std, [most, middle, most], 20, 0)
    assert drawn.keys() == {most, middle}
    for neuron, own in drawn.items():
        assert len(set(own)) == len(own) == 20
        assert neuron not in own
        assert {i // width for i in own} == {neuron // width}
        assert np.abs(np.log(std[own] / std[neuron])).max() <= np.log(1.25)
    # The neurons drawn for one do not depend on the others in the request.
    assert matched_neurons(neurons, std, [middle], 20, 0)[middle] == drawn[middle]
    assert matched_neurons(neurons, std, [middle], 20, 1)[middle] != drawn[middle]
    # An outlier gets the nearest ones, and a neuron of a narrow layer all others.
    std[most] = 9
    nearest = np.argsort(-std[:width])[1:21]
    assert matched_neurons(neurons, std, [most], 20, 0)[most] == sorted(nearest.tolist())
    assert matched_neurons(NEURONS, STD, [3], 39, 0) == {3: [i for i in range(12) if i != 3]}


def test_rows_stand_beside_the_random_neurons_that_are_drawn_for_them() -> None:
    nan = float("nan")
    effects = {n: Effect(float(n), 12 + n, 9.0, 12 + (n + 1) % 12, 4.0 - n, nan) for n in range(12)}
    effects[14] = Effect(nan, -1, nan, -1, nan, 0.25)
    effects[13] = Effect(nan, -1, nan, -1, nan, 0.5)
    std = np.arange(24.0)
    matched = {11: [0, 1, 2], 1: [0, 2, 11], 13: [14]}
    table = ablation_table(Chosen({"up": [11, 13], "low": [1]}, matched, std), effects, NEURONS, 4)
    assert table.schema.equals(TABLES["compare/ablation"].arrow)
    low, first, last = table.to_pylist()
    assert (first["layer"], first["unit"], first["layer_b"], first["unit_b"]) == (1, 11, 2, 0)
    assert (first["moved"], first["random"], first["random_high"], first["p_value"]) == (11, 1, 2, 0.25)
    assert (first["std"], first["n_random"], first["random_std"]) == (11, 3, 1)
    assert (first["own_layer"], first["own_moved"]) == (2, 9)
    assert (first["moved_b"], first["p_value_b"]) == (-7, 1)
    assert (low["random"], low["p_value"]) == (pytest.approx(13 / 3), 0.75)
    assert (low["moved_b"], low["p_value_b"]) == (3, 0.5)
    assert (last["layer"], last["moved"], last["layer_b"], last["p_value"]) == (2, None, None, None)
    assert (last["own_layer"], last["own_moved"], last["p_value_b"]) == (None, None, None)
    assert (last["output"], last["output_random"]) == (0.5, 0.25)
