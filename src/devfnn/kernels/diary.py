"""Telling what changed in the structure of a concept network."""

from devfnn.kernels._jit import part


@part()
def note(diary, row, kind, layer, first, second, numbers):
    """Write a line into the diary, if there is room."""
    line = diary.n_lines[0]
    if line < diary.lines.shape[0]:
        diary.lines[line, 0] = row
        diary.lines[line, 1] = kind
        diary.lines[line, 2] = layer
        diary.lines[line, 3] = first
        diary.lines[line, 4] = second
        for k in range(4):
            diary.numbers[line, k] = numbers[k]
        diary.n_lines[0] += 1
