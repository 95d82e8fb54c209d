"""A model's own pretraining heads: next-sentence prediction and masked-token prediction."""

import torch

from ops.model.direction import is_decoder
from ops.model.load import ModelFacts, load_model, read_weights
from ops.model.transformers_calls import ModelError, naming, quiet_transformers
from ops.model.weights import check_loaded, require_filled, require_finite

NEXT_SENTENCE, MASKED_WORD = "next_sentence", "masked_word"


def load_head(facts: ModelFacts, head: str, device: str, dtype: str) -> torch.nn.Module | None:
    """Load a model with one of its heads for inference; return None if its weights do not contain the complete head.

    Models with random weights return None, because the predictions of an untrained head are chance.

    Args:
        head: `next_sentence` (BERT and similar models) or `masked_word` (encoders).

    Raises:
        InputError: the weights cannot be read, or they are not what the model would compute with.
    """
    from transformers import AutoModelForMaskedLM, AutoModelForNextSentencePrediction
    from transformers.models.auto import modeling_auto as auto

    loader, kinds = {
        NEXT_SENTENCE: (AutoModelForNextSentencePrediction, auto.MODEL_FOR_NEXT_SENTENCE_PREDICTION_MAPPING_NAMES),
        MASKED_WORD: (AutoModelForMaskedLM, auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES),
    }[head]
    if facts.seed is not None or facts.part or facts.model_type not in kinds or is_decoder(facts):
        return None
    with naming(facts.name), quiet_transformers():
        try:
            model, report = read_weights(facts.location, loader, dtype)
        except Exception as error:
            load_model(facts, device, dtype)  # raises an error that says what is wrong with the weights
            raise ModelError(f"cannot be loaded with its head ({head})") from error
        # transformers initialises missing weights at random: the head's own weights, or those of the pooler before it.
        if report["missing_keys"] or report["mismatched_keys"]:
            return None
        check_loaded(model, report)
        model = model.eval().to(device)
        require_finite(model)
        require_filled(model)
        return model  # type: ignore[no-any-return]


def heads_of(facts: ModelFacts) -> tuple[str, ...]:
    """Return which of the two heads the model's weights contain, by loading them."""
    return tuple(head for head in (NEXT_SENTENCE, MASKED_WORD) if load_head(facts, head, "cpu", "float32") is not None)
