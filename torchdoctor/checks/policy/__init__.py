"""Checks of the policy family."""
