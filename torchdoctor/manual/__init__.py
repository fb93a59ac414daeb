"""What the command line's own parser knows, for those who read and those who complete: man page, shell completion."""
