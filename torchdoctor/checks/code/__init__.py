"""Checks of the family code."""
