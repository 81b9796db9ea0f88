"""The floor that every room stands on. Imports nothing else of linkshift."""
