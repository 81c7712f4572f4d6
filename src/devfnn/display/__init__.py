"""What commands show on a terminal: progress while they work, tables of what they found."""

from devfnn.display.live import watched
from devfnn.display.results import detection_line, drift_table, result_table

__all__ = ["detection_line", "drift_table", "result_table", "watched"]
