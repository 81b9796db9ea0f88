"""Fitted models in files: by what they were built from, checked and built again on loading."""
