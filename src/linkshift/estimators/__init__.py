"""Scikit-learn estimators: thin classes over links, bandwidth, shift and modes.

Each is imported from its own module when it is first used: see ``linkshift.__init__``.
"""
