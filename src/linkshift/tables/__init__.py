"""Tables as people have them, read by column and prepared."""
