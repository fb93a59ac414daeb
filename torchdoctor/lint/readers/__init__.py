"""One module per kind of file: its text -> groups of what is installed together, each part with its line."""
