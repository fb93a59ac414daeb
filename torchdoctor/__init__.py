"""What is on this host, can the installed torch run on it, and which exact command would."""

__version__ = "0.1.0"
