"""Trains a small GPT-2 on your own texts, so that `jobs.positions` can measure a decoder without a download.

    python -m bench train_gpt2 --out runs/gpt2 --corpus 'corpora/*.parquet' --steps 2000
    atlas positions --out runs/positions --preset small --model runs/gpt2 --split none \\
        --corpus runs/gpt2/held_out.jsonl

The program reads Parquet files with the columns `text` and `doc_id` and one sentence per row. It trains a byte-level
BPE of 4,096 tokens, and then a model of 4 layers of 192 units (2.6 million parameters, 128 positions) on concatenated
documents, with a start token before each document. A twentieth of the documents is held out and written next to the
model. All random numbers are drawn with --seed, and the same seed, files and number of threads give the same model on
the same hardware. To train a second model on the same documents with the same tokenizer, give another number to --seed
and the first number to --split-seed.
"""

import glob
import json
import math
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import torch

from bench.harness import Result
from ops.errors import InputError
from ops.model.transformers_calls import quiet_transformers

VOCABULARY, LENGTH, BATCH = 4_096, 128, 16
SIZES: dict[str, Any] = {"n_embd": 192, "n_layer": 4, "n_head": 6, "n_positions": LENGTH}
RATE, WARM_UP, HELD_OUT = 1e-3, 100, 0.05
START = "<|endoftext|>"
MOST_HELD_OUT = 2_000  # maximum number of held-out texts that are written for the measurement


def measure(
    out: str, corpus: str, steps: int = 2_000, threads: int = 2, seed: int = 0, split_seed: int | None = None
) -> Result:
    """Train the model.

    Args:
        out: folder of the model, its tokenizer and the texts held out.
        corpus: path or glob of Parquet files with text and doc_id.
        steps: number of steps, each of 2,048 tokens.
        threads: threads of torch.
        seed: the seed of the weights and the order of the texts.
        split_seed: the seed of which documents are held out, if it is not that of `--seed`.
    """
    split_seed = seed if split_seed is None else split_seed
    files = sorted(glob.glob(corpus))
    if not files:
        raise InputError(f"--corpus {corpus}: matches no file")
    torch.manual_seed(seed)
    torch.set_num_threads(threads)
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    train, held_out = read(files, split_seed)
    tokenizer = train_tokenizer(folder, [" ".join(texts) for texts in train])
    stream = np.array([i for texts in train for i in (0, *tokenizer.encode(" ".join(texts)).ids)], np.int64)
    model, losses, seconds = fit(stream, steps, seed)
    with quiet_transformers():
        model.save_pretrained(folder)
    return {
        "parameters": sum(p.numel() for p in model.parameters()),
        "tokens_of_the_corpus": len(stream),
        "steps": steps,
        "loss_of_the_last_hundred_steps": round(float(np.mean(losses[-100:])), 4),
        "seconds": round(seconds),
        "held_out_texts": write_held_out(folder, held_out, split_seed),
        "seed": seed,
        "split_seed": split_seed,
    }


def write_held_out(out: Path, documents: list[list[str]], seed: int) -> int:
    """Write a sample of the held-out sentences next to the model, and return their number."""
    sentences = [(str(i), text) for i, texts in enumerate(documents) for text in texts]
    chosen = sorted(np.random.default_rng([seed, 2]).permutation(len(sentences))[:MOST_HELD_OUT].tolist())
    lines = [json.dumps({"text": sentences[i][1], "doc_id": sentences[i][0]}) + "\n" for i in chosen]
    (out / "held_out.jsonl").write_text("".join(lines), encoding="utf-8")
    return len(lines)


def read(files: list[str], seed: int) -> tuple[list[list[str]], list[list[str]]]:
    """Return the sentences of each document in order, first for training documents, then for held-out documents."""
    documents: dict[tuple[str, str], list[str]] = {}
    for name in files:
        table = pq.read_table(name, columns=["text", "doc_id"])
        for text, document in zip(table["text"].to_pylist(), table["doc_id"].to_pylist(), strict=True):
            if text:
                documents.setdefault((name, str(document)), []).append(text)
    rng = np.random.default_rng([seed, 0])
    order = rng.permutation(len(documents))
    found = list(documents.values())
    held = max(round(HELD_OUT * len(order)), 1)
    return [found[i] for i in order[held:]], [found[i] for i in order[:held]]


def train_tokenizer(out: Path, texts: list[str]) -> Any:
    """Train a byte-level BPE, save it in the format of transformers, and return it."""
    from tokenizers import ByteLevelBPETokenizer
    from transformers import PreTrainedTokenizerFast

    made = ByteLevelBPETokenizer()
    made.train_from_iterator(texts, vocab_size=VOCABULARY, special_tokens=[START], show_progress=False)
    made.save(str(out / "tokenizer.json"))
    with quiet_transformers():
        PreTrainedTokenizerFast(
            tokenizer_file=str(out / "tokenizer.json"), bos_token=START, eos_token=START, unk_token=START
        ).save_pretrained(out)
    return made


def fit(stream: np.ndarray, steps: int, seed: int) -> tuple[Any, list[float], float]:
    """Return the model fitted to random pieces of a stream of tokens, the loss of each step, and the seconds taken."""
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(vocab_size=VOCABULARY, **SIZES, bos_token_id=0, eos_token_id=0)
    config.resid_pdrop = config.embd_pdrop = config.attn_pdrop = 0.0
    model: Any = GPT2LMHeadModel(config).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.01, betas=(0.9, 0.95))

    def rate(step: int) -> float:
        return min((step + 1) / WARM_UP, 0.5 * (1 + math.cos(math.pi * step / max(steps, 1))) + 0.02)

    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)
    rng = np.random.default_rng([seed, 1])
    losses = []
    started = time.monotonic()
    for step in range(steps):
        starts = rng.integers(0, len(stream) - LENGTH, BATCH)
        ids = torch.from_numpy(np.stack([stream[i : i + LENGTH] for i in starts]))
        logits = model(input_ids=ids).logits[:, :-1]
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(float(loss.detach()))
        if step % 50 == 49:
            took = time.monotonic() - started
            print(f"step {step + 1} of {steps}: loss {np.mean(losses[-50:]):.3f}, {took:.0f} s", file=sys.stderr)
    return model.eval(), losses, time.monotonic() - started
