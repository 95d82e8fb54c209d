from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModel

from ops.dictionaries.description import Description
from ops.dictionaries.read import describe_all
from ops.dictionaries.reconstruction import Explained
from ops.dictionaries.scorer import DictionaryScorer
from ops.errors import InputError
from ops.model.activations import ScoreOptions
from ops.model.load import ModelFacts, read_facts
from ops.model.tokenizer import Tokens
from ops.reducers.histogram import edges_of_sparse
from ops.reducers.top_k import EMPTY, TopK, decode_keys
from ops.respond.texts import score_texts
from ops.topk.partial_file import TOKENS_ACTIVE, read_keys
from ops.topk.score_shard import ShardScorer
from ops.topk.sentences import read_sample
from tests.unit.dictionaries.made import weights, write
from tests.unit.small_models import CONFIGS, LAYERS, VOCABULARY, WIDTH, save_tokenizer
from tests.unit.topk.rows_in_memory import ShardResult, table_of

FEATURES, N, K = 40, 30, 6
RNG = np.random.default_rng(5)
SENTENCES = [
    Tokens(RNG.integers(1, VOCABULARY, n).tolist(), [1, *[0] * (n - 2), 1], False)
    for n in RNG.integers(3, 9, N).tolist()
]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ModelFacts]:
    found = {}
    for kind in ("bert", "gpt2"):
        folder = tmp_path_factory.mktemp(kind)
        torch.manual_seed(0)
        model = AutoModel.from_config(CONFIGS[kind]())
        for weight in model.parameters():
            torch.nn.init.normal_(weight, std=0.3)
        model.save_pretrained(folder)
        save_tokenizer(folder, VOCABULARY)
        found[kind] = read_facts(str(folder))
    return found


def saved(
    folder: Path, hook: str, layer: int, facts: ModelFacts, architecture: str = "topk"
) -> tuple[Description, ...]:
    own = weights(architecture, WIDTH, FEATURES)
    return describe_all([f"{layer}={write(folder, architecture, own, hook)}"], facts)


def hidden_states(scorer: DictionaryScorer, sentence: Tokens) -> tuple[torch.Tensor, ...]:
    model = scorer.reader.model
    with torch.inference_mode():
        return tuple(model(input_ids=torch.tensor([sentence.ids]), output_hidden_states=True).hidden_states)


@torch.inference_mode()
@pytest.mark.parametrize(("kind", "layer"), [("bert", 0), ("bert", LAYERS), ("gpt2", 1), ("gpt2", LAYERS)])
def test_the_residual_stream_is_the_model_s_own_before_a_final_norm(
    models: dict[str, ModelFacts], kind: str, layer: int
) -> None:
    scorer = DictionaryScorer(models[kind], ScoreOptions(), 0, describe_all([f"{layer}=rotated:0"], models[kind]))
    found = scorer.read_tokens([SENTENCES[0]], [lambda states: states.clone()])[0][0]
    expected = hidden_states(scorer, SENTENCES[0])[layer][0]
    if kind == "gpt2" and layer == LAYERS:
        assert not torch.allclose(found, expected, atol=1e-2)
        found = scorer.reader.model.ln_f(found)  # type: ignore[operator,union-attr]
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


@torch.inference_mode()
@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_what_attention_and_feed_forward_add_makes_the_stream(
    tmp_path: Path, models: dict[str, ModelFacts], kind: str
) -> None:
    facts, found = models[kind], {}
    for hook in ("hook_attn_out", "hook_mlp_out", "attn.hook_z", "mlp.hook_in"):
        own = saved(tmp_path / hook, f"blocks.1.{hook}", 2, facts)
        scorer = DictionaryScorer(facts, ScoreOptions(), 0, own)
        found[hook] = scorer.read_tokens([SENTENCES[0]], [lambda states: states.clone()])[0][0]
    states = hidden_states(scorer, SENTENCES[0])
    before, after, model = states[1][0], states[2][0], scorer.reader.model
    if kind == "gpt2":
        torch.testing.assert_close(before + found["hook_attn_out"] + found["hook_mlp_out"], after, rtol=1e-4, atol=1e-4)
        block = model.h[1]  # type: ignore[index,union-attr]
        middle = block.ln_2(before + found["hook_attn_out"])
        projected = block.attn.c_proj(found["attn.hook_z"])
    else:
        block = model.encoder.layer[1]  # type: ignore[index,union-attr]
        middle = block.attention.output.LayerNorm(before + found["hook_attn_out"])
        torch.testing.assert_close(block.output.LayerNorm(middle + found["hook_mlp_out"]), after, rtol=1e-4, atol=1e-4)
        projected = block.attention.output.dense(found["attn.hook_z"])
    torch.testing.assert_close(middle, found["mlp.hook_in"], rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(projected, found["hook_attn_out"], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_a_dictionary_of_heads_has_the_width_of_all_heads_together(
    tmp_path: Path, models: dict[str, ModelFacts], kind: str
) -> None:
    narrow = write(tmp_path, "standard", weights("standard", WIDTH - 4, FEATURES), "blocks.1.attn.hook_z")
    with pytest.raises(InputError, match=f"takes states of {WIDTH - 4} values, and those of .* have {WIDTH}$"):
        describe_all([f"2={narrow}"], models[kind])


@pytest.mark.parametrize("pool", ["mean", "max"])
@pytest.mark.parametrize(
    ("architecture", "none", "more"),
    [
        ("standard", {}, {}),
        ("gated", {"r_mag": -200}, {}),
        ("topk", {"W_dec": 0}, {"rescale_acts_by_decoder_norm": True}),
    ],
)
def test_the_dictionary_whose_numbers_overflow_is_known(
    tmp_path: Path, models: dict[str, ModelFacts], architecture: str, none: dict[str, int], more: Any, pool: str
) -> None:
    own, options = weights(architecture, WIDTH, FEATURES), ScoreOptions(pool=pool)
    own["W_enc"] = np.sign(own["W_enc"]) * np.float32(3e38)
    own |= {name: np.full_like(own[name], value) for name, value in none.items()}  # infinity times 0 is NaN
    large = write(tmp_path / "large", architecture, own, "blocks.1.hook_resid_post", **more)
    fine = write(tmp_path / "fine", "standard", weights("standard", WIDTH, FEATURES), "blocks.0.hook_resid_post")
    facts = models["bert"]
    dictionaries = describe_all([f"1={fine}", f"2={large}"], facts)
    assert DictionaryScorer(facts, options, 0, dictionaries).overflowing(SENTENCES) == dictionaries[1]
    assert DictionaryScorer(facts, options, 0, dictionaries[:1]).overflowing(SENTENCES) is None
    scorer = DictionaryScorer(facts, options, 0, dictionaries)
    torch.nn.init.constant_(scorer.reader.model.embeddings.word_embeddings.weight, torch.inf)  # type: ignore[union-attr, arg-type]
    assert scorer.overflowing(SENTENCES) is None, "the states are not finite, so the model is to blame"


@pytest.mark.parametrize(("kind", "pool"), [("bert", "max"), ("bert", "last"), ("gpt2", "mean")])
def test_features_are_pooled_over_the_tokens_that_count(
    tmp_path: Path, models: dict[str, ModelFacts], kind: str, pool: str
) -> None:
    own = saved(tmp_path, "blocks.1.hook_resid_post", 2, models[kind])
    scorer = DictionaryScorer(models[kind], ScoreOptions(pool=pool, special_tokens="exclude"), 0, own)
    (found,) = scorer.score(SENTENCES)
    active = torch.zeros(FEATURES, dtype=torch.int64)
    for row, sentence in enumerate(SENTENCES):
        values = scorer.encoders[0].encode(hidden_states(scorer, sentence)[2][0])
        # The first token is an added one here; of a decoder it does not count in any case.
        values = values[[i for i, added in enumerate(sentence.added) if not added]]
        pooled = {"max": values.amax(0), "mean": values.mean(0), "last": values[-1]}[pool]
        torch.testing.assert_close(found[row], pooled, rtol=1e-3, atol=1e-3)
        active += (values > 0).sum(0)
    assert scorer.tokens_active.tolist() == active.tolist()
    plain = [Tokens(s.ids, [0] * len(s.ids), False) for s in SENTENCES]
    scorer.reset()
    scorer.score(plain)
    counted = sum(len(s.ids) - (kind == "gpt2") for s in plain)
    assert int(scorer.tokens_active.sum()) == 5 * counted


@pytest.mark.parametrize("pool", ["max", "mean", "last"])
def test_a_text_without_tokens_that_count_has_no_activations(
    tmp_path: Path, models: dict[str, ModelFacts], pool: str
) -> None:
    own = saved(tmp_path, "blocks.1.hook_resid_post", 2, models["gpt2"])
    scorer = DictionaryScorer(models["gpt2"], ScoreOptions(pool=pool, special_tokens="exclude"), 0, own)
    short = Tokens([5], [0], False)
    for texts in ([short], [SENTENCES[0], short]):
        assert scorer.score(texts)[0][-1].isnan().all()
    with pytest.raises(InputError, match=r"^text 130: the run leaves out its only tokens"):
        score_texts(scorer, [SENTENCES[0], short], 100, False, first=128)


def shards(scorer: DictionaryScorer, cuts: list[int]) -> tuple[list[ShardResult], np.ndarray]:
    """Score the sentences in shards of a batch each, and return what each gave, and all pooled activations."""
    spans = list(pairwise(cuts))
    values = torch.cat([scorer.score(SENTENCES[a:b])[0] for a, b in spans])
    made = ShardScorer(scorer, K, ("top",), edges_of_sparse(values.amax(0)))
    sample = np.array([1, 4, 17])
    found = []
    for a, b in spans:
        rows, totals = made.run((a, b), iter([(np.arange(a, b), SENTENCES[a:b])]), sample)
        found.append(ShardResult(table_of(rows), totals))
        assert found[-1].table.num_rows == FEATURES
    return found, values.numpy()


@pytest.mark.parametrize("cuts", [[0, N], [0, 7, 20, N]])
def test_top_k_is_what_sorting_gives_and_zeros_do_not_win(
    tmp_path: Path, models: dict[str, ModelFacts], cuts: list[int]
) -> None:
    scorer = DictionaryScorer(
        models["bert"], ScoreOptions(pool="max"), 0, saved(tmp_path, "layers.1", 2, models["bert"])
    )
    results, values = shards(scorer, cuts)
    best, tokens = TopK(FEATURES, K), 0
    for result in results:
        best.merge_keys(*read_keys(result.table, "top"))
        tokens += sum(result.table[TOKENS_ACTIVE].to_pylist())
    keys = best.result()
    found_values, found_ids = decode_keys(keys)
    for feature, column in enumerate(values.T):
        right = sorted((-v, i) for i, v in enumerate(column.tolist()) if v > 0)[:K]
        filled = keys[feature] != EMPTY
        assert [
            (-v, i) for v, i in zip(found_values[feature][filled], found_ids[feature][filled], strict=True)
        ] == right
    active = (values > 0).sum(0)
    assert 0 < (active < K).sum() < FEATURES
    counts = sum(np.array([np.frombuffer(b, "u2") for b in r.table["histogram"].to_pylist()], int) for r in results)
    assert np.array_equal(N - np.asarray(counts)[:, 0], active)
    assert tokens == 5 * sum(len(s.ids) for s in SENTENCES)
    for result, (a, b) in zip(results, pairwise(cuts), strict=True):
        expected = [i for i in (1, 4, 17) if a <= i < b]
        assert result.totals.sampled == expected
        assert np.array_equal(read_sample(result.table, len(expected)).toarray(), values[expected])


def test_units_at_tokens_are_those_of_all_features(tmp_path: Path, models: dict[str, ModelFacts]) -> None:
    scorer = DictionaryScorer(models["bert"], ScoreOptions(), 0, saved(tmp_path, "layers.1", 2, models["bert"]))
    rows, units = torch.tensor([0, 2, 2, 1]), torch.tensor([3, 39, 0, 17])
    found = scorer.read_units(SENTENCES[:3], [(rows, units)])
    for row, unit, own in zip(rows.tolist(), units.tolist(), found, strict=True):
        right = scorer.encoders[0].encode(hidden_states(scorer, SENTENCES[row])[2][0])[:, unit]
        torch.testing.assert_close(own[: len(right)], right, rtol=1e-3, atol=1e-3)


def test_explained_variance_is_one_of_a_perfect_dictionary_and_none_of_another_site(
    tmp_path: Path, models: dict[str, ModelFacts]
) -> None:
    # Each axis in both directions: relu(x) - relu(-x) is x.
    both = np.concatenate([np.eye(WIDTH), -np.eye(WIDTH)]).astype(np.float32)
    own = {
        "W_enc": np.ascontiguousarray(both.T), "W_dec": both,
        "b_enc": np.zeros(2 * WIDTH, np.float32), "b_dec": np.zeros(WIDTH, np.float32),
    }  # fmt: skip
    folder, facts = write(tmp_path, "standard", own, "blocks.1.hook_resid_post"), models["gpt2"]
    scorer = DictionaryScorer(facts, ScoreOptions(), 0, describe_all([f"2={folder}"], facts))
    sums = [Explained(WIDTH)]
    scorer.explained(SENTENCES, sums)
    assert sums[0].share() == pytest.approx(1.0, abs=1e-6)
    right, wrong = Explained(3), Explained(3)
    states = torch.randn(200, 3, generator=torch.Generator().manual_seed(0)) + 5
    right.add(states[:90], states[:90] * 0.9)
    right.add(states[90:], states[90:] * 0.9)
    centred = states - states.mean(0)
    assert right.share() == pytest.approx(float(1 - (states * 0.1).square().sum() / centred.square().sum()), abs=1e-5)
    wrong.add(states, torch.zeros_like(states))
    assert (wrong.share() or 0) < 0
    assert Explained(3).share() is None
