"""Streams that are read: any file, or what comes through a pipe."""
