"""The learning system, one mechanism per file."""
