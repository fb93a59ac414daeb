"""Raw text to facts: each reader yields statements and touches no machine."""
