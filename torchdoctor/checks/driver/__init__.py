"""Checks of the driver family."""
