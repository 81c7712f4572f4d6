"""How things look: a panel on a terminal, plain lines elsewhere, tables."""

from devfnn.display.runs import detection_line, drift_table, result_table
from devfnn.display.watching import watched

__all__ = ["detection_line", "drift_table", "result_table", "watched"]
