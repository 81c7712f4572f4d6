"""Reports: a run or a comparison as one HTML page that needs nothing else."""

from devfnn.reports.comparison import comparison_report
from devfnn.reports.run import run_report

__all__ = ["comparison_report", "run_report"]
