"""Small random models with heads, saved as models are, and each one's head as one writes it down by hand."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import (
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    BertConfig,
    CohereConfig,
    DistilBertConfig,
    ElectraConfig,
    Gemma2Config,
    GPT2Config,
    GPTNeoXConfig,
    LlamaConfig,
    ModernBertConfig,
    OPTConfig,
    RobertaConfig,
)

from ops.model.load import ModelFacts, read_facts
from ops.model.transformers_calls import quiet_transformers
from ops.outputs.token_head import TokenHead
from tests.unit.small_models import save_tokenizer

LAYERS, WIDTH, VOCABULARY, INNER = 3, 24, 60, 32
_SMALL: dict[str, Any] = {
    "hidden_size": WIDTH, "num_hidden_layers": LAYERS, "num_attention_heads": 4, "vocab_size": VOCABULARY,
    "intermediate_size": INNER, "max_position_embeddings": 40, "pad_token_id": 1,
}  # fmt: skip
_ENDS: dict[str, Any] = {"bos_token_id": 0, "eos_token_id": 0}
_GPT2 = {"n_embd": WIDTH, "n_layer": LAYERS, "n_head": 4, "n_positions": 40, "n_inner": INNER}
CONFIGS: dict[str, Callable[[], Any]] = {
    "gpt2": lambda: GPT2Config(vocab_size=VOCABULARY, **_GPT2, **_ENDS),
    "llama": lambda: LlamaConfig(**_SMALL, **_ENDS, num_key_value_heads=2),
    "gpt_neox": lambda: GPTNeoXConfig(**_SMALL, **_ENDS),
    "gemma2": lambda: Gemma2Config(
        **_SMALL, **_ENDS, num_key_value_heads=2, head_dim=6, final_logit_softcapping=5.0
    ),
    "cohere": lambda: CohereConfig(**_SMALL, **_ENDS, logit_scale=0.3),
    "opt": lambda: OPTConfig(
        vocab_size=VOCABULARY, hidden_size=WIDTH, num_hidden_layers=LAYERS, num_attention_heads=4, ffn_dim=INNER,
        max_position_embeddings=40, word_embed_proj_dim=12, **_ENDS,
    ),
    "bert": lambda: BertConfig(**_SMALL),
    "roberta": lambda: RobertaConfig(**_SMALL),
    "distilbert": lambda: DistilBertConfig(
        vocab_size=VOCABULARY, dim=WIDTH, n_layers=LAYERS, n_heads=4, hidden_dim=INNER, max_position_embeddings=40
    ),
    "electra": lambda: ElectraConfig(**_SMALL, embedding_size=16),
    "modernbert": lambda: ModernBertConfig(**_SMALL, **_ENDS, cls_token_id=0, sep_token_id=0),
}  # fmt: skip
DECODERS = ("gpt2", "llama", "gpt_neox", "gemma2", "cohere", "opt")
# Each head as its paper or transformers' source has it, from the stream after the last layer.
BY_HAND: dict[str, Callable[[Any, torch.Tensor], torch.Tensor]] = {
    "gpt2": lambda m, x: m.transformer.ln_f(x) @ m.transformer.wte.weight.T,
    "llama": lambda m, x: m.lm_head(m.model.norm(x)),
    "gpt_neox": lambda m, x: m.get_output_embeddings()(m.gpt_neox.final_layer_norm(x)),
    "gemma2": lambda m, x: 5.0 * torch.tanh(m.lm_head(m.model.norm(x)) / 5.0),
    "cohere": lambda m, x: 0.3 * m.lm_head(m.model.norm(x)),
    "opt": lambda m, x: m.lm_head(m.model.decoder.project_out(m.model.decoder.final_layer_norm(x))),
    "bert": lambda m, x: (
        nn.functional.layer_norm(
            nn.functional.gelu(m.cls.predictions.transform.dense(x)), (WIDTH,),
            m.cls.predictions.transform.LayerNorm.weight, m.cls.predictions.transform.LayerNorm.bias, 1e-12,
        )
        @ m.bert.embeddings.word_embeddings.weight.T
    ),
    "roberta": lambda m, x: m.lm_head(x),
    "distilbert": lambda m, x: m.vocab_projector(m.vocab_layer_norm(m.activation(m.vocab_transform(x)))),
    "electra": lambda m, x: m.generator_lm_head(m.generator_predictions(x)),
    "modernbert": lambda m, x: m.decoder(m.head(m.model.final_norm(x))),
}  # fmt: skip


def whole(kind: str) -> Any:
    """Return a model with its head whose every weight is drawn at random."""
    loader: Any = AutoModelForCausalLM if kind in DECODERS else AutoModelForMaskedLM
    torch.manual_seed(0)
    model = loader.from_config(CONFIGS[kind]()).eval()
    for weight in model.parameters():
        nn.init.normal_(weight, std=0.3)
    return model


def saved(kind: str, folder: Path) -> tuple[Any, ModelFacts]:
    """Return such a model, and what is known of the folder that it was saved in."""
    model = whole(kind)
    with quiet_transformers():
        model.save_pretrained(folder)
    save_tokenizer(folder, VOCABULARY)
    return model, read_facts(str(folder))


def stream(head: TokenHead, ids: torch.Tensor) -> torch.Tensor:
    """Return the states of one text after the last layer, `[tokens, width]`."""
    kept: list[torch.Tensor] = []
    assert head.layer_modules is not None
    handle = head.layer_modules[-1].register_forward_hook(
        lambda m, a, out: kept.append(out if isinstance(out, torch.Tensor) else out[0])
    )
    with torch.inference_mode():
        head.model(input_ids=ids)
    handle.remove()
    return kept[0].reshape(ids.shape[1], -1)
