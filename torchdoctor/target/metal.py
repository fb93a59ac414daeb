"""Tells whether a file is a library of Metal, Apple's GPU code. It says no architecture: it is compiled where it runs."""

MAGIC = b"MTLB"
ENDING = ".metallib"


def is_library(data: bytes) -> bool:
    """Whether the head of a file is that of a Metal library."""
    return data[:4] == MAGIC
