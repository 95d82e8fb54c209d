"""An autoencoder of sentence states with a short code in the middle (Hinton and Salakhutdinov 2006), not pretrained."""

import torch
from torch import nn

from ops.arrays import Float32s
from ops.meaning.hashing import BITS, REAL, Codes, lost

HIDDEN, BATCH, RATE = 256, 256, 1e-3
_NOISE = 4.0  # standard deviation of the noise added to a code's bits in training, so that they become 0 or 1


class Autoencoder(nn.Module):
    """An autoencoder with layers of width, 256, code size, 256 and width units; the hidden layers use tanh.

    Args:
        width: width of the states.
        size: size of the code.
        bits: whether the code's units are logistic, with noise added to their input in training (Salakhutdinov and
            Hinton 2009).
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
        given: the training states, `[n, width]`.
        asked: other states to encode, `[m, width]`.
        size: size of the code.
        epochs: number of passes over the training states.
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
