"""Reports as HTML: one page for a run or for a comparison of models."""

from devfnn.reports.comparison import comparison_report
from devfnn.reports.run import run_report

__all__ = ["comparison_report", "run_report"]
