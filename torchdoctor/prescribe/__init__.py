"""Choose a build for a host and write the command that installs it."""
