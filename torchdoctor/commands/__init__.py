"""One file per command: ``arguments(parser)`` and ``run(options)``."""
