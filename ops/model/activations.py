"""A forward pass that returns the pooled activation of every neuron for a batch of sentences."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import torch

from ops.errors import InputError
from ops.model.attention import batch_without_padding, use_known_padding
from ops.model.batches import TokenBlock, pad
from ops.model.load import ModelFacts, load_model, skeleton
from ops.model.numerics import set_numerics
from ops.model.pooling import Pooler
from ops.model.sites import SiteReader, Take
from ops.model.tokenizer import Tokens
from ops.model.transformers_calls import naming, refusing


class ScoreOptions(NamedTuple):
    """The options that define an activation: the site, the pooling, whether special tokens count, and the arithmetic.

    `queued` says whether batches are put into the device's queue without waiting for the results. If it is None, they
    are queued on every device except a CPU.
    """

    site: str = "hidden"
    pool: str = "mean"
    special_tokens: str = "include"
    device: str = "cpu"
    dtype: str = "float32"
    threads: int = 1
    queued: bool | None = None

    @property
    def never_waits(self) -> bool:
        """Whether batches are queued."""
        return self.device != "cpu" if self.queued is None else self.queued


class Scorer:
    """A model ready to score batches.

    Creating a scorer sets how torch computes in this process (`ops.model.numerics`).

    Attributes:
        sparse: whether most activations are 0 and none is negative.
        tokens_active: number of tokens at which each unit is above 0, `[units]`; only if units are sparse.

    Raises:
        InputError: the model cannot be loaded, or the site is not known for its architecture.
    """

    sparse = False
    tokens_active: torch.Tensor

    def __init__(self, facts: ModelFacts, options: ScoreOptions, pad_id: int = 0) -> None:
        set_numerics(options.device, options.threads, options.dtype)
        self.options = options
        self.name = facts.name
        self.pad_id = pad_id
        self.device = torch.device(options.device)
        self.leaves_first = False  # whether the first token of a sentence never counts
        model = load_model(facts, options.device, options.dtype)
        if options.never_waits:
            use_known_padding(model)
        self.reader = self._reader(model, facts.layers)

    def _reader(self, model: torch.nn.Module, layers: int) -> SiteReader:
        return SiteReader(model, layers, self.options.site)

    def reset(self) -> None:
        """Restart the count of active tokens; neurons are not counted, because their activations are not sparse."""

    @property
    def layers(self) -> tuple[int, ...]:
        """The layers whose units are scored, in the order of what `score` returns."""
        return tuple(range(1, self.reader.layers + 1))

    @torch.inference_mode()
    def score(self, batch: Sequence[Tokens], last_pool: str | None = None) -> list[torch.Tensor]:
        """Return each layer's pooled activations `[sentences, units]` float32, on the model's device.

        Args:
            last_pool: if given, the last layer's states are also pooled in this way over all tokens of a sentence, and
                appended to the result.
        """
        inputs, pooler, block = self.prepare(batch)
        takes = self._takes(pooler)
        found: list[torch.Tensor] = []
        if last_pool is not None:
            last = Pooler(last_pool, inputs["attention_mask"].bool(), block.of_one_length, queued=True)

            def take_last(states: torch.Tensor, take: Take = takes[-1]) -> torch.Tensor:
                found.append(last(states))
                return take(states)

            takes[-1] = take_last
        with batch_without_padding(block.of_one_length):
            return [*self.reader.read(inputs, takes), *found]

    def _takes(self, pooler: Pooler) -> list[Take]:
        """Return what is taken of the states that are read at each layer."""
        return [pooler] * self.reader.layers

    def prepare(self, batch: Sequence[Tokens]) -> tuple[dict[str, torch.Tensor], Pooler, TokenBlock]:
        """Return the model's inputs for a batch, the pooler over the tokens that count, and the batch as a block."""
        block = TokenBlock.of(batch)
        ids, real, added = pad(block, self.pad_id, self.device)
        excludes = self.options.special_tokens == "exclude"
        counted = real & ~added if excludes else real
        if self.leaves_first:
            counted[:, 0] = False
        whole = block.of_one_length and not (excludes and block.added.any()) and not self.leaves_first
        pooler = Pooler(self.options.pool, counted, whole, self.options.never_waits)
        return {"input_ids": ids, "attention_mask": real.long()}, pooler, block

    @torch.inference_mode()
    def read_tokens(self, batch: Sequence[Tokens], takes: Sequence[Take]) -> list[torch.Tensor]:
        """Return `takes[i](states)` for each layer i; the states are `[sentences, tokens, units]`."""
        inputs, _, block = self.prepare(batch)
        with batch_without_padding(block.of_one_length):
            return self.reader.read(inputs, takes)

    def site_states(self, batch: Sequence[Tokens]) -> list[torch.Tensor]:
        """Return the pooled states from which units are computed, `[sentences, width]` for each layer."""
        return self.score(batch)

    def read_units(self, batch: Sequence[Tokens], wanted: Sequence[tuple[torch.Tensor, torch.Tensor]]) -> torch.Tensor:
        """Return the activations of some units at each token of some sentences, `[units, tokens]` float32.

        Args:
            wanted: for each layer, the positions of sentences in the batch and a unit for each, both `[units]` int64.
        """

        def take(rows: torch.Tensor, units: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
            # numpy puts the axes of advanced indices that a slice separates first, so the result is [units, tokens].
            return states[rows.to(states.device), :, units.to(states.device)].float()

        return torch.cat(self.read_tokens(batch, [partial(take, *own) for own in wanted]))

    def widths(self) -> tuple[int, ...]:
        """Return the number of units of each layer at this site, by scoring one token."""
        return tuple(layer.shape[1] for layer in self.score([Tokens([0], [0], False)]))


@torch.inference_mode()
def site_widths(facts: ModelFacts, site: str) -> tuple[int, ...]:
    """Return the number of units of each layer at a site, as `Scorer.widths` does, without reading the weights.

    One token goes through a model on the meta device; a model that cannot run there is loaded.

    Raises:
        InputError: the model cannot be built or run, or the site is not known for its architecture.
    """
    with naming(facts.name):
        model = skeleton(facts.location, facts.seed is None).model.eval()
    model.config.use_cache = False
    # Otherwise transformers reads the mask's values, and tensors on the meta device have none.
    use_known_padding(model)
    reader = SiteReader(model, facts.layers, site)
    token = torch.ones(1, 1, dtype=torch.int64, device="meta")
    inputs, takes = {"input_ids": token, "attention_mask": token}, [lambda states: states] * facts.layers
    try:
        with batch_without_padding(True):
            return tuple(states.shape[-1] for states in reader.read(inputs, takes))
    except InputError:
        raise
    except Exception:
        # Some architectures (Longformer, MPNet, Nystroemformer) read values, which the meta device does not have.
        scorer = Scorer(facts, ScoreOptions(site))
    with naming(facts.name), refusing("cannot be run", "give another model"):
        return scorer.widths()
