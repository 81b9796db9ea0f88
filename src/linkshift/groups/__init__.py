"""Clusters that each have their own features: the parts of group-dependent clustering."""
