from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from transformers import AutoModel, BertConfig, GPT2Config, LlamaConfig, MPNetConfig, PreTrainedConfig

from ops.errors import InputError
from ops.model import activations
from ops.model.activations import ScoreOptions, Scorer, site_widths
from ops.model.load import ModelFacts, read_facts
from ops.model.sites import SITES
from ops.model.tokenizer import Tokens

BATCH = [Tokens([5, 6, 7, 8], [1, 0, 0, 1], False), Tokens([9, 10, 11], [1, 0, 1], False), Tokens([12], [0], False)]


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> ModelFacts:
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("model")
    size = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 12}
    AutoModel.from_config(BertConfig(**size, vocab_size=30)).save_pretrained(folder)
    return read_facts(str(folder))


@pytest.mark.parametrize("special_tokens", ["include", "exclude"])
@pytest.mark.parametrize(("pool", "pad_id"), [("mean", 0), ("max", 4), ("last", 0)])
def test_a_batch_scores_as_its_sentences_alone(facts: ModelFacts, pool: str, special_tokens: str, pad_id: int) -> None:
    scorer = Scorer(facts, ScoreOptions(pool=pool, special_tokens=special_tokens), pad_id)
    together = scorer.score(BATCH)
    for i, tokens in enumerate(BATCH):
        with torch.inference_mode():
            states = scorer.reader.model(input_ids=torch.tensor([tokens.ids]), output_hidden_states=True).hidden_states
        keep = [not a or special_tokens == "include" for a in tokens.added]
        for layer in range(2):
            own = states[layer + 1][0][torch.tensor(keep)]
            expected = {"mean": own.mean(0), "max": own.max(0).values, "last": own[-1]}[pool]
            torch.testing.assert_close(together[layer][i], expected, rtol=1e-5, atol=1e-5)


SMALL = {"hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 2, "vocab_size": 40, "intermediate_size": 24}
CONFIGS: dict[str, Callable[[], PreTrainedConfig]] = {
    "bert": lambda: BertConfig(**SMALL),
    "gpt2": lambda: GPT2Config(vocab_size=40, n_embd=16, n_layer=3, n_head=2, n_inner=24, n_positions=32),
    "llama, gated": lambda: LlamaConfig(**SMALL, num_key_value_heads=1),
    "mpnet, which cannot run on the meta device": lambda: MPNetConfig(**SMALL),
}


def saved(config: PreTrainedConfig, folder: Path) -> ModelFacts:
    torch.manual_seed(0)
    AutoModel.from_config(config).save_pretrained(folder)
    return read_facts(str(folder))


@pytest.mark.parametrize("kind", CONFIGS)
def test_a_site_is_as_wide_as_what_is_scored_there_and_most_need_no_weights_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    facts = saved(CONFIGS[kind](), tmp_path)
    expected = {site: (24 if site == "mlp" else 16,) * 3 for site in SITES}
    assert {site: Scorer(facts, ScoreOptions(site)).widths() for site in SITES} == expected
    if "meta" not in kind:
        (tmp_path / "model.safetensors").unlink()
        monkeypatch.delattr(activations, "load_model")
    assert {site: site_widths(facts, site) for site in SITES} == expected


def test_a_model_that_cannot_be_run_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    facts = saved(MPNetConfig(**SMALL), tmp_path)
    monkeypatch.setattr(Scorer, "score", lambda scorer, batch: 1 / 0)
    with pytest.raises(InputError, match=r"cannot be run .*division by zero.*give another model"):
        site_widths(facts, "hidden")
