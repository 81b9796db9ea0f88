"""What a release goes through: contents of its files, fresh environments, bounds, papers."""
