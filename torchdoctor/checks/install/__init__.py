"""Checks of the family install."""
