"""Checks of the runtime family."""
