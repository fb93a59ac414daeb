"""Policies: what a project, a site or an option requires of a host, and what it sets aside. Pure."""
