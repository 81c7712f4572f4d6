"""The confusion matrix and the reliability curve."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from devfnn.errors import InputError
from devfnn.figures import accuracy_against_labels, confusion_matrix, reliability_curve
from devfnn.figures.runs import MOST_COUNTS
from devfnn.figures.style import new_figure
from figures import made


def written(ax):
    """Texts in the cells, by true and predicted class."""
    return {
        (int(text.get_position()[1]), int(text.get_position()[0])): text.get_text()
        for text in ax.texts
    }


def confusing(counts, names):
    """A run with these mistakes."""
    return made.result(confusion=counts, class_names=names, classes=list(range(len(names))))


@pytest.mark.parametrize("draw", [confusion_matrix, reliability_curve])
def test_axes_that_are_given_are_drawn_on_and_returned(draw):
    ax = Figure().add_subplot()
    assert draw(made.result(), ax=ax) is ax
    assert ax.has_data()


def test_colours_are_shares_of_the_true_class():
    ax = confusion_matrix(confusing([[90, 10], [50, 50]], ["up", "down"]))
    (image,) = ax.images
    assert image.get_array().tolist() == [[0.9, 0.1], [0.5, 0.5]]
    assert image.get_clim() == (0.0, 1.0)


def test_counts_and_shares_are_written_into_their_cells():
    ax = confusion_matrix(confusing([[9000, 1000], [50, 50]], ["up", "down"]))
    texts = written(ax)
    assert texts[0, 1] == "1,000\n10.0 %"
    assert texts[1, 0] == "50\n50.0 %"
    assert len(texts) == 4


def test_counts_can_be_read_on_dark_cells():
    ax = confusion_matrix(confusing([[99, 1], [1, 99]], ["up", "down"]))
    colours = {text.get_position(): text.get_color() for text in ax.texts}
    assert colours[0, 0] == "white"
    assert colours[1, 0] != "white"


def test_classes_are_named_along_both_axes():
    ax = confusion_matrix(confusing([[1, 0], [0, 1]], ["up $1", "down"]))
    for labels in (ax.get_xticklabels(), ax.get_yticklabels()):
        assert [text.get_text() for text in labels] == [r"up \$1", "down"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("predicted", "true")


@pytest.mark.parametrize(("n_classes", "n_texts"), [(MOST_COUNTS, 144), (MOST_COUNTS + 1, 0)])
def test_counts_are_written_for_up_to_12_classes(n_classes, n_texts):
    assert len(confusion_matrix(made.result(n_classes=n_classes)).texts) == n_texts


@pytest.mark.parametrize("n_classes", [2, 12, 23])
def test_all_labels_are_inside_the_figure(n_classes):
    names = [f"a rather long name {place}" for place in range(n_classes)]
    ax = confusion_matrix(made.result(n_classes=n_classes, class_names=names))
    figure = ax.figure
    figure.canvas.draw()
    whole = figure.bbox.padded(1.0)
    labels = [ax.xaxis.label, ax.yaxis.label, *ax.get_yticklabels(), *ax.get_xticklabels()]
    labels += [side.yaxis.label for side in ax.child_axes]
    for text in labels:
        extent = text.get_window_extent()
        assert whole.containsx(extent.x0)
        assert whole.containsx(extent.x1)
        assert whole.containsy(extent.y0)


@pytest.mark.parametrize("n_classes", [2, 5, 12])
def test_counts_fit_into_their_cells(n_classes):
    result = made.result(n_classes=n_classes)
    result["confusion"][0][0] = 1_234_567
    ax = confusion_matrix(result)
    ax.figure.canvas.draw()
    cell = ax.get_window_extent().width / n_classes
    assert max(text.get_window_extent().width for text in ax.texts) < cell


def test_a_class_that_never_came_has_no_share():
    ax = confusion_matrix(confusing([[9, 1], [0, 0]], ["up", "down"]))
    assert ax.images[0].get_array().mask.tolist() == [[False, False], [True, True]]
    assert written(ax)[1, 1] == "0"


@pytest.mark.parametrize("counts", [None, [], [[0, 0], [0, 0]]])
def test_a_run_without_predictions_is_refused(counts):
    with pytest.raises(InputError, match=r"no predictions to count.*more rows"):
        confusion_matrix(confusing(counts, ["up", "down"]))


def test_accuracy_is_drawn_against_confidence_with_the_diagonal():
    ax = reliability_curve(made.result())
    lines = {line.get_label(): line for line in ax.lines}
    x, y = lines["accuracy"].get_data()
    assert x.tolist() == [0.56, 0.66, 0.75, 0.86, 0.97]
    assert y.tolist() == [0.50, 0.58, 0.70, 0.80, 0.93]
    assert np.array_equal(*lines["ideal"].get_data())


def test_bars_are_shares_of_rows():
    (bars,) = reliability_curve(made.result()).patches
    values, edges, _ = bars.get_data()
    assert values.tolist() == [0, 0, 0, 0, 0, 0.025, 0.04, 0.075, 0.16, 0.7]
    assert edges.tolist() == [place / 10 for place in range(11)]


def test_the_calibration_error_is_said():
    assert reliability_curve(made.result()).get_title(loc="left") == "calibration error 4.5 %"


@pytest.mark.parametrize(
    "calibration",
    [None, {"edges": [0, 1], "rows": [0], "confidence": [None], "accuracy": [None]}],
)
def test_a_run_without_calibration_is_refused(calibration):
    with pytest.raises(InputError, match=r"no calibration.*gives probabilities"):
        reliability_curve(made.result(calibration=calibration))


# ---- accuracy against labels


def budgeted(share, accuracy, model="devfnn", stream="sea"):
    """A run, as far as the figure needs it."""
    return {"model": model, "stream": stream, "label_fraction": share, "accuracy_mean": accuracy}


def test_runs_of_a_model_make_a_line_in_the_order_of_labels():
    runs = [
        budgeted(0.5, 0.9),
        budgeted(0.1, 0.8),
        budgeted(1.0, 0.91),
        budgeted(0.2, 0.7, "logistic"),
    ]
    ax = accuracy_against_labels(runs)
    first, second = ax.lines
    assert first.get_xdata().tolist() == [0.1, 0.5, 1.0]
    assert first.get_ydata().tolist() == [0.8, 0.9, 0.91]
    assert second.get_xdata().tolist() == [0.2]
    assert len({line.get_color() for line in ax.lines}) == 2


def test_it_draws_where_it_is_told():
    ax = new_figure(4.0, 3.0).add_subplot()
    assert accuracy_against_labels([budgeted(0.5, 0.9)], ax) is ax


def test_results_without_labels_are_refused():
    with pytest.raises(InputError, match="share of labels"):
        accuracy_against_labels([budgeted(None, 0.9)])
