"""What the commands write: tables, figures, text on stdout; there is never half a file."""
