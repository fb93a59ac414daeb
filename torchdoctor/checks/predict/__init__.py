"""What is foretold for hosts that are not here."""
