import pytest
import torch
from transformers import AutoModel, BertConfig

from ops.model.activations import ScoreOptions, Scorer
from ops.model.load import ModelFacts, read_facts
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
@pytest.mark.parametrize("pool", ["mean", "max", "last"])
@pytest.mark.parametrize("pad_id", [0, 4])
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


@pytest.mark.parametrize(("site", "widths"), [("hidden", (8, 8)), ("mlp", (12, 12)), ("attention", (8, 8))])
def test_widths_of_each_site(facts: ModelFacts, site: str, widths: tuple[int, ...]) -> None:
    assert Scorer(facts, ScoreOptions(site=site)).widths() == widths
