"""Public data sets by name: what they are, where they are, how they get here."""
