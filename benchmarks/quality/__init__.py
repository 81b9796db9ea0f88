"""How good: choices of ours against those of peers."""
