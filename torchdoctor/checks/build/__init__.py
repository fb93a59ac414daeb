"""Checks of the build family."""
