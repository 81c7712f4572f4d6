"""Streams that are made, not read: concepts, and what lies between them."""
