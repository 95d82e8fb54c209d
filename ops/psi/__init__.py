"""The norm stretch ratio psi of attention heads (Maeda 2024)."""
