"""Pictures: what is drawn (`scene`, `charts`), on matplotlib's axes (`plot`) or a page (`page`)."""
