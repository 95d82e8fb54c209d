"""The names that stages give to their files: by these a job knows what is its own to remove."""

import re

# Every name that a stage gives to what it has under way, to a part of a table, a figure and a page; unfinished ones.
_STEMS = (
    "part|shard|words|piece|distinct|near|pilot|bound|wanted|range|run|union|totals|vocabulary|block|chosen|codes|plane"
)
# A model's files, as transformers names them; and where a training was when it was last saved.
_MODEL = r"config\.json|model[\w.-]*\.(safetensors|json)|classifier\.(safetensors|json)|checkpoint-\d+\.tar"
_TOKENIZER = (
    r"\w*token\w*(\.\w+)?\.(json|model)|(vocab|merges|spiece|sentencepiece\.bpe|unigram|bpe)\.(json|txt|model|codes)"
)
_OURS = re.compile(
    rf"(({_STEMS})[\w.-]*\.(parquet|bin)|[\w-]+\.(png|svg|pdf|html|css|js)|\..+\.[0-9a-f]{{12}}|{_MODEL}|{_TOKENIZER})"
)


def is_ours(name: str) -> bool:
    """Tell whether a file's name, without its folder, is one that a stage gives to what it has under way."""
    return _OURS.fullmatch(name) is not None
