"""Figures of tables, drawn once for print and for pages: lines, points, quantiles, heat maps and maps of points."""
