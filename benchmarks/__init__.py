"""Measurements: speed against peers, quality of defaults, and the papers' printed tables."""
