"""Clustering with a little help: mean shift that takes must-link and cannot-link pairs."""
