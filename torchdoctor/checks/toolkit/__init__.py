"""Checks of the toolkit family."""
