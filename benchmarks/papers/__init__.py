"""The tables that the papers print, as data."""
