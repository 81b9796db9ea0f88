"""The engine: starts climb a density. Arrays in, arrays out; it knows nothing of estimators."""
