"""Checks of the hygiene family."""
