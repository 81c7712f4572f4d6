"""Kinds of layers, one file each: parameters, layout, how it widens, its rules and its reasons."""
