"""Many reports of hosts that should be alike: what most of them are, and who is not."""
