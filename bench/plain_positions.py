"""Compares a finished run of `jobs.positions` with transformers alone, and prints one line of JSON.

    atlas positions --out runs/reviews --preset small --split none --limit 2000 --corpus reviews.parquet
    python -m bench.plain_positions --out runs/reviews

Every text of the run's corpus is read by itself, without padding, by `AutoTokenizer` and `AutoModel`: unchanged, with
the table of position embeddings set to zero (`none`), and with other `position_ids` (`shifted`, `constant`). The mean
cosine of each layer is compared with the run's positions/similarity. For a decoder, the perplexities of all tokens are
compared too. Runs with a start token, an answer column or --max-tokens are refused. The exit status is 1 if a value
differs by more than 1e-4, or a perplexity by more than a thousandth of its value.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import torch

from ops.model.direction import is_decoder
from ops.model.load import read_facts

TOLERANCE, RELATIVE = 1e-4, 1e-3
TABLES = ("embeddings.position_embeddings", "wpe")


def main() -> int:
    """Run the comparison and print its line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, help="the run")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    out = Path(options.out)
    record = json.loads((out / "run.json").read_text(encoding="utf-8")) if (out / "run.json").exists() else {}
    stage = record.get("stages", {}).get("positions", {})
    if not stage.get("complete"):
        print(f"error: --out {out}: holds no finished run of jobs.positions", file=sys.stderr)
        return 2
    if any(stage["config"][name] for name in ("start_token", "answer_column", "max_tokens")):
        print(f"error: --out {out}: has a start token, answers or --max-tokens; measure without", file=sys.stderr)
        return 2
    torch.set_num_threads(options.threads)
    texts = pq.read_table(out / "corpus", columns=["text"])["text"].to_pylist()
    plain = PlainModel(stage["config"]["model"], stage["config"]["shift"])
    cosines, losses = measure(plain, texts)
    similarity = pq.read_table(out / "positions/similarity")
    same = similarity.filter(pc.equal(similarity["reference"], "default")).to_pylist()
    found = {(row["variant"], row["layer"]): row["mean"] for row in same}
    rows, largest = [], 0.0
    for variant, values in cosines.items():
        for layer, own in enumerate(np.concatenate(values).mean(0).tolist(), 1):
            if (variant, layer) in found:
                ours = found[variant, layer]
                largest = max(largest, abs(ours - own))
                rows.append({"variant": variant, "layer": layer, "ours": round(ours, 6), "plain": round(own, 6)})
    relative = 0.0
    if losses:
        perplexity = {r["variant"]: r["corpus"] for r in pq.read_table(out / "positions/perplexity").to_pylist()}
        for variant, each in losses.items():
            if variant in perplexity:
                own = float(np.exp(np.concatenate(each).mean()))
                ours = perplexity[variant]
                relative = max(relative, abs(ours / own - 1))
                rows.append({"variant": variant, "perplexity": round(ours, 3), "plain": round(own, 3)})
    agree = bool(rows) and largest < TOLERANCE and relative < RELATIVE
    texts_and_tokens = {"texts": len(texts), "tokens": stage["counts"]["tokens"]}
    result = {"model": stage["config"]["model"], **texts_and_tokens, "largest_difference": largest, "agree": agree}
    print(json.dumps({"bench": "plain_positions", **result, "rows": rows}))
    return 0 if agree else 1


class PlainModel:
    """A model and its tokenizer as transformers loads them, with changed positions."""

    def __init__(self, name: str, shift: int) -> None:
        from transformers import AutoModel, AutoModelForCausalLM, AutoTokenizer

        facts = read_facts(name)
        self.limit, self.shift, self.decoder = facts.position_limit, shift, is_decoder(facts)
        self.tokenizer: Any = AutoTokenizer.from_pretrained(facts.path)
        whole = AutoModelForCausalLM if is_decoder(facts) else AutoModel
        self.models: dict[str, Any] = {kind: whole.from_pretrained(facts.path).eval() for kind in ("default", "none")}
        base = self.models["none"].base_model
        (table,) = (module for at, module in base.named_modules() if at in TABLES)
        table.weight.data.zero_()

    @torch.inference_mode()
    def read(self, text: str) -> Iterator[tuple[str, torch.Tensor, torch.Tensor | None]]:
        """Yield each variant with its states `[layers, tokens, width]` and a decoder's losses `[tokens - 1]`."""
        ids = torch.tensor([self.tokenizer(text, truncation=True, max_length=self.limit)["input_ids"]])
        places = torch.arange(ids.shape[1])[None]
        moved = {"default": places, "none": places, "constant": places * 0, "shifted": places + self.shift}
        for variant, positions in moved.items():
            if int(positions.max()) >= self.limit:
                continue
            model = self.models["none" if variant == "none" else "default"]
            given = model(input_ids=ids, position_ids=positions, output_hidden_states=True)
            loss = None
            if self.decoder:
                loss = torch.nn.functional.cross_entropy(given.logits[0, :-1].float(), ids[0, 1:], reduction="none")
            yield variant, torch.stack(given.hidden_states[1:])[:, 0], loss


def measure(plain: PlainModel, texts: list[str]) -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
    """Return, by variant, each text's cosines with the default `[tokens, layers]`, and its losses `[tokens - 1]`."""
    cosines: dict[str, list[Any]] = {}
    losses: dict[str, list[Any]] = {}
    for number, text in enumerate(texts, 1):
        default = torch.zeros(0)
        for variant, states, loss in plain.read(text):
            if variant == "default":
                default = states
            else:
                cosine = torch.cosine_similarity(states.double(), default.double(), dim=-1)
                cosines.setdefault(variant, []).append(cosine.T.numpy())
            if loss is not None:
                losses.setdefault(variant, []).append(loss.double().numpy())
        if number % 500 == 0:
            print(f"{number:,} of {len(texts):,} texts", file=sys.stderr)
    return cosines, losses


if __name__ == "__main__":
    sys.exit(main())
