"""Pages that several tests look at, made once."""

import pytest

from devfnn.reports import comparison_report, run_report
from reports.made_results import made_comparison, made_result, made_results_of, ranked
from reports.parsed import Page


@pytest.fixture(scope="session")
def run_page():
    """The report of a run of 200 chunks with some 300 events."""
    return Page(run_report(made_result()))


@pytest.fixture(scope="session")
def comparison():
    """Six models on eight streams with three seeds."""
    return ranked(made_comparison())


@pytest.fixture(scope="session")
def comparison_page(comparison):
    """The report of the comparison with its single runs."""
    return Page(comparison_report(comparison, made_results_of(comparison, n_chunks=12)))
