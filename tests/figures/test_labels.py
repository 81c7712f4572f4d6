"""Accuracy against labels."""

import pytest

from devfnn.errors import InputError
from devfnn.figures import accuracy_against_labels
from devfnn.figures.style import new_figure


def result(share, accuracy, model="devfnn", stream="sea"):
    """A run, as far as the figure needs it."""
    return {"model": model, "stream": stream, "label_fraction": share, "accuracy_mean": accuracy}


def test_runs_of_a_model_make_a_line_in_the_order_of_labels():
    runs = [result(0.5, 0.9), result(0.1, 0.8), result(1.0, 0.91), result(0.2, 0.7, "logistic")]
    ax = accuracy_against_labels(runs)
    first, second = ax.lines
    assert first.get_xdata().tolist() == [0.1, 0.5, 1.0]
    assert first.get_ydata().tolist() == [0.8, 0.9, 0.91]
    assert second.get_xdata().tolist() == [0.2]
    assert len({line.get_color() for line in ax.lines}) == 2


def test_it_draws_where_it_is_told():
    ax = new_figure(4.0, 3.0).add_subplot()
    assert accuracy_against_labels([result(0.5, 0.9)], ax) is ax


def test_results_without_labels_are_refused():
    with pytest.raises(InputError, match="share of labels"):
        accuracy_against_labels([result(None, 0.9)])
