"""Kinds of layers, one file each: parameters, layout, how it widens, its rules and its reasons.

A module names its arrays in `State` (NAME) and its numbers in `Params` (PARAMS), its kinds with
their numbers (KINDS), parameters of `Layer` that they have (TAKES), and sections of the
configuration: class, kinds that they belong to, and whether these cannot do without (SECTIONS).
"""
