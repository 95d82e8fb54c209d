"""The text model of a multimodal model and the encoder of an encoder-decoder, against the complete model."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import (
    AutoModel,
    BartConfig,
    BartForCausalLM,
    BartForConditionalGeneration,
    CLIPConfig,
    CLIPVisionConfig,
    Gemma3Config,
    Gemma3ForConditionalGeneration,
    LlamaConfig,
    LlavaConfig,
    MT5Config,
    MT5EncoderModel,
    PreTrainedConfig,
    SiglipVisionConfig,
    T5Config,
    T5ForConditionalGeneration,
    WhisperConfig,
)

from ops.errors import InputError
from ops.finetune.classifier import new_classifier
from ops.model import parts
from ops.model.activations import ScoreOptions, Scorer
from ops.model.check_states import check_layers, padding_leaks
from ops.model.direction import is_decoder
from ops.model.heads import heads_of
from ops.model.load import load_model, read_facts
from ops.model.tokenizer import Tokenizer
from ops.outputs.token_head import load_token_head
from tests.unit.small_models import save_tokenizer

SIZE: dict[str, Any] = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 20}
TEXT = SIZE | {"vocab_size": 60, "num_key_value_heads": 2, "head_dim": 8, "pad_token_id": 0}
IMAGE = SIZE | {"num_hidden_layers": 1, "image_size": 8, "patch_size": 4}
BOTH: dict[str, Any] = {
    "d_model": 16, "encoder_layers": 3, "decoder_layers": 1, "encoder_attention_heads": 2, "vocab_size": 60,
    "decoder_attention_heads": 2, "encoder_ffn_dim": 20, "decoder_ffn_dim": 20, "max_position_embeddings": 40,
    "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 2,
}  # fmt: skip
T5 = {"d_model": 16, "d_kv": 8, "d_ff": 20, "num_layers": 3, "num_decoder_layers": 1, "num_heads": 2, "vocab_size": 60}
GEMMA3: Callable[[], PreTrainedConfig] = lambda: Gemma3Config(  # noqa: E731
    text_config=TEXT | {"sliding_window": 8}, vision_config=SiglipVisionConfig(**IMAGE).to_dict()
)
LLAVA: Callable[[], PreTrainedConfig] = lambda: LlavaConfig(  # noqa: E731
    text_config=LlamaConfig(**TEXT).to_dict(), vision_config=CLIPVisionConfig(**IMAGE).to_dict()
)
KINDS: dict[str, tuple[Callable[[], PreTrainedConfig], Any, str, int, bool]] = {
    "gemma3": (GEMMA3, Gemma3ForConditionalGeneration, "text model", 2, True),
    "llava": (LLAVA, AutoModel, "text model", 2, True),
    "bart": (lambda: BartConfig(**BOTH), BartForConditionalGeneration, "encoder", 3, False),
    "t5": (lambda: T5Config(**T5), T5ForConditionalGeneration, "encoder", 3, False),
    "mt5": (lambda: MT5Config(**T5), AutoModel, "encoder", 3, False),
}


def save(folder: Path, config: PreTrainedConfig, kind: Any = AutoModel) -> str:
    torch.manual_seed(0)
    build = getattr(kind, "from_config", None) or kind
    model = build(config)
    for weight in model.parameters():
        torch.nn.init.normal_(weight, std=0.3)
    if hasattr(model, "tie_weights"):
        model.tie_weights()
    model.save_pretrained(folder)
    save_tokenizer(folder, 60)
    return str(folder)


@pytest.mark.parametrize("kind", KINDS)
@torch.inference_mode()
def test_the_part_has_the_states_of_the_complete_model(kind: str, tmp_path: Path) -> None:
    make, saved_as, what, layers, decoder = KINDS[kind]
    name = save(tmp_path, make(), saved_as)
    facts = read_facts(name)
    assert (facts.part, facts.layers, facts.width, facts.vocabulary) == (what, layers, 16, 60)
    assert is_decoder(facts) is decoder
    whole, batch = AutoModel.from_pretrained(name).eval(), Tokenizer(facts).encode(["w9 w3 w17", "w8 w40 w41 w5 w6"])
    scorer = Scorer(facts, ScoreOptions("hidden"))
    check_layers(scorer, batch)
    assert not padding_leaks(scorer, batch)
    found = scorer.score(batch)
    for row, tokens in enumerate(batch):
        ids = torch.tensor([tokens.ids])
        given: dict[str, Any] = {"input_ids": ids, "output_hidden_states": True}
        if what == "encoder":
            right = whole(**given, decoder_input_ids=ids[:, :1]).encoder_hidden_states[1:]
        else:
            right = whole(**given).hidden_states[1:]
        for layer in range(layers):
            torch.testing.assert_close(found[layer][row], right[layer][0].mean(0), rtol=1e-4, atol=1e-5)
    for site in ("mlp", "attention"):
        assert Scorer(facts, ScoreOptions(site)).widths() == ((20 if site == "mlp" else 16,) * layers)
    random = read_facts(f"random:{name}", 3)
    assert (random.part, random.layers) == (what, layers)
    load_model(random, "cpu", "float32")


def test_an_encoder_that_was_saved_alone_is_read(tmp_path: Path) -> None:
    facts = read_facts(save(tmp_path, MT5Config(**T5), MT5EncoderModel))
    assert (facts.part, facts.layers) == ("encoder", 3)
    load_model(facts, "cpu", "float32")


def test_weights_that_the_part_lacks_are_refused_and_those_of_others_are_not(tmp_path: Path) -> None:
    name = save(tmp_path, LLAVA())
    file = tmp_path / "model.safetensors"
    complete = load_file(file)
    image = {key: value for key, value in complete.items() if "vision_tower" not in key}
    assert len(image) < len(complete)
    save_file(image, file, {"format": "pt"})
    load_model(read_facts(name), "cpu", "float32")
    text = {key: value for key, value in complete.items() if not key.endswith("layers.1.mlp.up_proj.weight")}
    save_file(text, file, {"format": "pt"})
    with pytest.raises(InputError, match=r"lack 1 tensor of the model \(.*layers\.1\.mlp\.up_proj"):
        load_model(read_facts(name), "cpu", "float32")


def test_a_part_that_computes_something_else_alone_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here the complete model scales its embeddings, which its text model alone does not."""
    from transformers import LlavaModel

    facts = read_facts(save(tmp_path, LLAVA()))
    own = LlavaModel.forward

    def scaled(self: Any, input_ids: Any = None, **more: Any) -> Any:
        return own(self, inputs_embeds=3 * self.get_input_embeddings()(input_ids), **more)

    monkeypatch.setattr(LlavaModel, "forward", scaled)
    with pytest.raises(InputError, match="is a llava, whose text model alone has other states than in the complete"):
        load_model(facts, "cpu", "float32")


def test_models_without_a_part_that_reads_text_alone_are_refused(tmp_path: Path) -> None:
    whisper = WhisperConfig(**{**BOTH, "d_model": 16, "num_mel_bins": 8, "max_source_positions": 10})
    clip = CLIPConfig(
        text_config=SIZE | {"vocab_size": 60, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2},
        vision_config=IMAGE, projection_dim=8,
    )  # fmt: skip
    for number, (config, said) in enumerate((
        (whisper, "is a whisper, no part of which reads text alone"),
        (clip, "is a clip, whose text model cannot be compared with the complete model"),
    )):  # fmt: skip
        name = save(tmp_path / str(number), config)
        with pytest.raises(InputError, match=said):
            load_model(read_facts(name), "cpu", "float32")


def test_the_decoder_of_an_encoder_decoder_is_refused(tmp_path: Path) -> None:
    name = save(tmp_path, BartConfig(**BOTH, is_decoder=True, is_encoder_decoder=False), BartForCausalLM)
    with pytest.raises(InputError, match=r"is the decoder of an encoder-decoder \(bart\), which is not read"):
        read_facts(name)


def test_what_needs_more_than_the_part_says_so(tmp_path: Path) -> None:
    gemma, bart = read_facts(save(tmp_path / "a", GEMMA3(), Gemma3ForConditionalGeneration)), tmp_path / "b"
    with pytest.raises(InputError, match="is the text model of a larger model, whose head is not read"):
        load_token_head(gemma, "cpu")
    facts = read_facts(save(bart, BartConfig(**BOTH), BartForConditionalGeneration))
    assert heads_of(facts) == ()
    with pytest.raises(InputError, match="has no head that scores tokens"):
        load_token_head(facts, "cpu")
    with pytest.raises(InputError, match="whose encoder cannot be saved alone"):
        new_classifier(facts, Tokenizer(facts), 2, 0.1, 0)


def test_ids_that_stand_for_images_are_not_tried() -> None:
    from ops.model.parts import trial_tokens

    config = GEMMA3()
    config.image_token_index, config.boi_token_index = 5, 7
    model = AutoModel.from_config(config)
    assert not {5, 7, 0} & set(trial_tokens(model)["input_ids"][0].tolist())
    assert parts.find_part(model).path == "language_model"
