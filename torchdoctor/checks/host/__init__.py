"""Checks of the host family."""
