"""What can be done to chunks on their way: pure functions from chunks to chunks."""
