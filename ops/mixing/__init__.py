"""Mixing and preserving in attention, residual and LayerNorm (Kobayashi 2021)."""
