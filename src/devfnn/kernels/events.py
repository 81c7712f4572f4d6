"""Writing structural changes to the event buffer."""

from devfnn.kernels._jit import part


@part()
def report(events, row, kind, layer, first, second, numbers):
    """Write a line into the event buffer, if there is room."""
    line = events.count[0]
    if line < events.lines.shape[0]:
        events.lines[line, 0] = row
        events.lines[line, 1] = kind
        events.lines[line, 2] = layer
        events.lines[line, 3] = first
        events.lines[line, 4] = second
        for k in range(4):
            events.numbers[line, k] = numbers[k]
        events.count[0] += 1
