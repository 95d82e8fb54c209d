import gc
import weakref
from typing import Any

import pytest
import spacy

from ops.reloaded_pipeline import ReloadedPipeline
from ops.sentences.pipeline import Annotator


@pytest.mark.slow
def test_a_pipeline_that_has_met_many_new_strings_is_replaced_and_freed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ops.reloaded_pipeline.MOST_NEW_STRINGS", 100)
    loaded: list[Any] = []

    def load() -> Any:
        pipeline = spacy.blank("en")
        loaded.append(weakref.ref(pipeline))
        return pipeline

    pipeline = ReloadedPipeline(load)
    size = len(pipeline().vocab.strings)
    gc.freeze()  # as a worker does with what it has loaded
    for number in range(300):
        assert [token.text for token in pipeline()(f"word{number} and")] == [f"word{number}", "and"]
        assert len(pipeline().vocab.strings) <= size + 102
    assert len(loaded) > 2
    assert [pipeline() is not None for pipeline in loaded] == [False] * (len(loaded) - 1) + [True]


@pytest.mark.slow
def test_what_annotates_sentences_stays_bounded_with_the_same_annotations(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"The man saw word{number} today." for number in range(12)]
    expected = Annotator("english").annotate(texts)
    monkeypatch.setattr("ops.reloaded_pipeline.MOST_NEW_STRINGS", 10)
    annotator = Annotator("english")
    size = len(annotator._pipeline().vocab.strings)
    assert [annotator.annotate([text])[0] for text in texts] == expected
    assert len(annotator._pipeline().vocab.strings) < size + 20
