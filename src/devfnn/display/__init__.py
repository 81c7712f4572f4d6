"""What commands show on a terminal: progress while they work, tables of what they found."""
