"""A report as one page: no network, no script needed to read it, every value escaped."""
