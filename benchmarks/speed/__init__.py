"""How fast: against peers, against C, against ourselves with approximations."""
