"""Few coordinates for rows with many columns, learned without labels or links: extra ``deep``."""

from linkshift.embed.autoencoder import StackedDenoisingAutoencoder

__all__ = ["StackedDenoisingAutoencoder"]
