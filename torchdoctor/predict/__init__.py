"""Whether what is examined will run on a host that is not here: its facts, the target's facts, the same checks."""
