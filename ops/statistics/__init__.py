"""Measures of association, false discovery rates, areas under the curve."""
