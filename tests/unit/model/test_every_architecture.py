"""Every encoder and decoder of transformers that can be built tiny: read rightly, or refused in one line."""

import re
import warnings
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from ops.errors import InputError
from ops.model.activations import ScoreOptions, Scorer
from ops.model.check_states import check_layers, padding_leaks
from ops.model.load import read_facts
from ops.model.tokenizer import Tokenizer, Tokens
from ops.model.transformers_calls import quiet_transformers
from tests.conftest import ROOT

TEXTS = (
    "a short one.",
    "it is",
    "the quick brown fox jumps over the lazy dog and then it goes away to sleep",
    "he said that they would not come again because of the rain that fell all day long.",
    "one two three four five six seven eight nine ten " * 9,
)
WIDTHS = {
    **dict.fromkeys(
        ("hidden_size", "d_model", "n_embd", "dim", "emb_dim", "embedding_size", "word_embed_proj_dim"), 32
    ),
    **dict.fromkeys(("intermediate_size", "n_inner", "hidden_dim", "d_ff", "ffn_dim"), 64),
    **dict.fromkeys(("num_hidden_layers", "n_layer", "n_layers", "num_layers"), 2),
    **dict.fromkeys(("num_attention_heads", "n_head", "n_heads"), 4),
    **dict.fromkeys(("num_experts", "num_local_experts", "n_routed_experts"), 4),
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 32,
    "max_position_embeddings": 512,
    "attention_window": 8,
    "pad_token_id": 0,
}
VOCABULARY = 30_522  # of the packaged tokenizer
HEADS = {"num_key_value_heads": 2, "head_dim": 8}
# Funnel counts its layers by blocks, and is found by the class that its configuration names.
FUNNEL = {
    "block_sizes": [1, 1, 1],
    "num_decoder_layers": 1,
    "d_head": 8,
    "d_inner": 64,
    "architectures": ["FunnelModel"],
}
MOST_WEIGHTS = 30_000_000  # models that also read images or sound have parts without sizes of these names
SLOW = ("falcon_h1", "kimi_linear")  # a minute each, in recurrences that are compiled or step by step

# What is known to be so: what users are likely to have, and all in which padding leaks.
EQUAL = (
    "albert bart bert big_bird bigbird_pegasus bloom camembert deberta deberta-v2 distilbert electra flaubert "
    "gemma gemma2 gpt2 gpt_neox llama longformer mbart mistral mixtral modernbert mpnet nomic_bert olmo2 openai-gpt "
    "opt phi3 qwen2 qwen3 roberta roformer squeezebert xlm xlm-roberta"
)
BY_LENGTH = "convbert fnet nystromformer yoso"
REFUSED = "funnel mamba rwkv"


def names() -> list[str]:
    from transformers.models.auto import modeling_auto as auto

    of_text = {*auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, *auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES}
    return sorted(of_text & {*auto.MODEL_MAPPING_NAMES} - {*SLOW})


def tiny(name: str) -> Any:
    """Return a small configuration, or None if no combination of these settings works."""
    from transformers import AutoModel
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    blocks = {**{key: value for key, value in WIDTHS.items() if "layers" not in key}, **FUNNEL}
    for settings in (blocks,) if name == "funnel" else ({**WIDTHS, **HEADS}, WIDTHS):
        try:
            kind = CONFIG_MAPPING[name]
            known = kind()
            # A table that is smaller than the packaged tokenizer is refused, whatever the architecture.
            rows = {"vocab_size": max(getattr(known, "vocab_size", 0) or 0, VOCABULARY)}
            config = kind(**{key: value for key, value in {**settings, **rows}.items() if hasattr(known, key)})
            with torch.device("meta"):
                weights = AutoModel.from_config(config).parameters()
            if sum(w.numel() for w in weights) > MOST_WEIGHTS:
                continue
            tokens = torch.arange(5, 21)[None]
            with torch.inference_mode():
                AutoModel.from_config(config).eval()(input_ids=tokens)
            return config
        except Exception:  # whatever it is: these sizes do not fit together
            continue
    return None


def alone(scorer: Scorer, tokens: Tokens) -> list[torch.Tensor]:
    """The mean of each layer's states of one sentence, as transformers returns them."""
    with torch.inference_mode():
        ids = torch.tensor([tokens.ids])
        states = scorer.reader.model(input_ids=ids, output_hidden_states=True).hidden_states
    return [layer[:, : len(tokens.ids)].mean(1) for layer in states[1:]]


def outcome(config: Any, make_model: Callable[..., Path]) -> str:
    try:
        facts = read_facts(str(make_model(config)))
        tokenizer = Tokenizer(facts)
        scorer, batch = Scorer(facts, ScoreOptions(), tokenizer.pad_id), tokenizer.encode(list(TEXTS))
        check_layers(scorer, batch)
    except InputError as error:
        return "refused" if "\n" not in str(error) else "refused in several lines"
    leaks = padding_leaks(scorer, batch)
    groups = [[tokens] for tokens in batch] if leaks else [batch]
    for group in groups:
        for layer, found in enumerate(scorer.score(group)):
            expected = torch.cat([alone(scorer, tokens)[layer] for tokens in group])
            assert (found - expected).norm() < 1e-2 * expected.norm(), f"layer {layer + 1}"
    return "by length" if leaks else "equal"


@pytest.mark.faults
def test_none_is_wrong(make_model: Callable[..., Path]) -> None:
    found: dict[str, list[str]] = defaultdict(list)
    for name in names():
        with warnings.catch_warnings(), quiet_transformers():
            warnings.simplefilter("ignore")
            config = tiny(name)
            found["not built" if config is None else outcome(config, make_model)].append(name)
    for kind, of_kind in found.items():
        print(f"{kind} ({len(of_kind)}): {' '.join(of_kind)}")
    assert set(EQUAL.split()) <= set(found["equal"])
    assert found["by length"] == BY_LENGTH.split()
    assert set(REFUSED.split()) <= set(found["refused"])
    assert "refused in several lines" not in found
    assert len(found["equal"]) > 100


def test_the_documentation_counts_what_it_lists_and_says_what_is_tested() -> None:
    text = (ROOT / "docs" / "models.md").read_text()
    rows = re.findall(r"^\| (equal|by equal length|refused): (\d+) \|[^|]*\| ([^|]*) \|$", text, re.MULTILINE)
    listed = {kind: found.split() for kind, _, found in rows}
    assert {kind: int(count) for kind, count, _ in rows} == {kind: len({*found}) for kind, found in listed.items()}
    assert set(EQUAL.split()) <= {*listed["equal"]}
    assert listed["by equal length"] == BY_LENGTH.split()
    assert set(REFUSED.split()) <= {*listed["refused"]}
    assert not {*listed["equal"]} & {*listed["refused"], *listed["by equal length"]}
