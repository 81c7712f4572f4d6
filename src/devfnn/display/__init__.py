"""How things look: bars on a terminal, plain lines elsewhere, tables."""

from devfnn.display.runs import drift_table, result_table, watched

__all__ = ["drift_table", "result_table", "watched"]
