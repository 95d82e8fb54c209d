"""Short codes of sentence states: principal components, an autoencoder, and the bits of both.

The autoencoder has a short code in the middle (Hinton and Salakhutdinov 2006), and is not pretrained.
"""

from typing import NamedTuple

import numpy as np
import torch
from torch import nn

from ops.arrays import Arrays, Float32s

PCA, AUTOENCODER, STATES, SHUFFLED = "pca", "autoencoder", "states", "shuffled"
REAL, BITS = "real", "bits"
HIDDEN, BATCH, RATE = 256, 256, 1e-3
_NOISE = 4.0  # standard deviation of the noise added to a code's bits in training, so that they become 0 or 1


class Codes(NamedTuple):
    """The codes of sentences, and the error of their reconstruction.

    Attributes:
        given, asked: the codes of the sentences to search, and of the query sentences whose neighbours are searched,
            `[n, size]` each.
        error: the share of the variance of the query states that is lost when they are rebuilt from their codes; None
            if they do not vary.
    """

    given: Float32s
    asked: Float32s
    error: float | None


def at_length_1(states: Float32s) -> Float32s:
    """Scale states to length 1, `[n, width]`, so that Euclidean distance orders them like cosine."""
    return np.asarray(states / np.maximum(np.linalg.norm(states, axis=1, keepdims=True), 1e-30), np.float32)


def principal_codes(given: Float32s, asked: Float32s, size: int) -> dict[str, Codes]:
    """Return codes from principal component analysis: the first components, and their signs.

    States are rebuilt from the components, and from the signs by least squares, as fitted on the given states.

    Args:
        given, asked: the states on which the components are fitted, `[n, width]`, and other ones, `[m, width]`.
        size: number of dimensions or bits.
    """
    mean = given.astype(np.float64).mean(0)
    one, other = given.astype(np.float64) - mean, asked.astype(np.float64) - mean
    _, axes = np.linalg.eigh(one.T @ one)
    axes = axes[:, ::-1][:, :size]
    # The largest entry of each axis is positive, so that the same states give the same picture.
    axes = axes * np.where(axes[np.abs(axes).argmax(0), np.arange(axes.shape[1])] < 0, -1, 1)
    real, real_asked = one @ axes, other @ axes
    bits, bits_asked = np.where(real > 0, 1.0, -1.0), np.where(real_asked > 0, 1.0, -1.0)
    rebuild, *_ = np.linalg.lstsq(np.hstack([bits, np.ones((len(bits), 1))]), one, rcond=None)
    from_bits = np.hstack([bits_asked, np.ones((len(bits_asked), 1))]) @ rebuild
    return {
        REAL: Codes(real.astype(np.float32), real_asked.astype(np.float32), lost(other, real_asked @ axes.T)),
        BITS: Codes(bits.astype(np.float32), bits_asked.astype(np.float32), lost(other, from_bits)),
    }


def lost(states: Arrays, rebuilt: Arrays) -> float | None:
    """Return the share of the states' variance, around the mean of the given states, that their codes lose.

    The result is None if all states equal this mean, so that there is no variance.
    """
    variance = float((states**2).sum())
    return float(((states - rebuilt) ** 2).sum()) / variance if variance else None


class Autoencoder(nn.Module):
    """An autoencoder with layers of width, 256, code size, 256 and width units; the hidden layers use tanh.

    With `bits`, the code's units are logistic, with noise added to their input in training (Salakhutdinov and Hinton
    2009).
    """

    def __init__(self, width: int, size: int, bits: bool) -> None:
        super().__init__()
        self.bits = bits
        self.encoder = nn.Sequential(nn.Linear(width, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, size))
        self.decoder = nn.Sequential(nn.Linear(size, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, width))

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """Return the reconstruction of states, `[n, width]`."""
        code = self.encoder(states)
        if self.bits:
            code = torch.sigmoid(code + _NOISE * torch.randn_like(code))
        return self.decoder(code)  # type: ignore[no-any-return]

    @torch.inference_mode()
    def code(self, states: torch.Tensor) -> torch.Tensor:
        """Return the codes of states, `[n, size]`: real numbers, or 0 and 1 if `bits`."""
        code = self.encoder(states)
        return (code > 0).float() if self.bits else code  # type: ignore[no-any-return]


def autoencoder_codes(given: Float32s, asked: Float32s, size: int, epochs: int, seed: int) -> dict[str, Codes]:
    """Return the codes of an autoencoder with a linear code and of one with a binary code.

    This function runs on the CPU with the threads of this process. The same states, seed and number of threads give the
    same codes.

    Args:
        given, asked: the training states, `[n, width]`, and other states to encode, `[m, width]`.
        seed: the seed of the weights, the order and the noise.
    """
    mean = given.mean(0)
    scale = max(float((given - mean).std()), 1e-12)
    training, queries = (torch.from_numpy((s - mean) / scale) for s in (given, asked))
    codes = {}
    for kind in (REAL, BITS):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed * 1_000 + size)
            model = _train(training, size, kind == BITS, epochs)
        with torch.inference_mode():
            code, code_asked = model.code(training), model.code(queries)
            error = lost(queries.double().numpy(), model.decoder(code_asked).double().numpy())
        codes[kind] = Codes(code.numpy(), code_asked.numpy(), error)
    return codes


def _train(states: torch.Tensor, size: int, bits: bool, epochs: int) -> Autoencoder:
    model = Autoencoder(states.shape[1], size, bits)
    descent = torch.optim.Adam(model.parameters(), lr=RATE)
    for _ in range(epochs):
        for rows in torch.randperm(len(states)).split(BATCH):
            descent.zero_grad()
            loss = ((model(states[rows]) - states[rows]) ** 2).mean()
            loss.backward()  # type: ignore[no-untyped-call]
            descent.step()
    return model.eval()
