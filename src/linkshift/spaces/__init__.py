"""Where points are moved: explicit coordinates, and a way there for new rows."""
