"""Reading package indexes over the network, only where somebody asked for it: ``tables refresh``, ``--online``."""
