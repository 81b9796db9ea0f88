"""The commands: options and work of each in a file of its name, imported when it is called."""
