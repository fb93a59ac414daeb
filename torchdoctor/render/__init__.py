"""Reports as text: one file per format."""
