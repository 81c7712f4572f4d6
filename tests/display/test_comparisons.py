"""What a comparison of models looks like."""

import io

import pytest
import rich.console

from devfnn.display.comparisons import accuracy_table, grid_bar, ranking_lines
from devfnn.evaluation.ranking import rank
from devfnn.experiments import StreamSettings
from devfnn.experiments.grid import Outcome, cells_of

SCORES = {("rls", "sea"): (0.8, 0.9), ("rls", "led"): (0.5, 0.7)}
SCORES |= {("gclass", "sea"): (0.7, 0.7), ("gclass", "led"): (0.9, 0.8)}


def comparison(scores=SCORES, **others):
    """A comparison of two seeds."""
    models = list(dict.fromkeys(model for model, _ in scores))
    streams = list(dict.fromkeys(stream for _, stream in scores))
    cells = [
        {"model": model, "stream": stream, "seed": seed, "accuracy_mean": score, "rows": 100}
        | {"rows_per_second": 1000.0 * 4**seed, "model_bytes": 1000 * (seed + 1)}
        for (model, stream), seeds in scores.items()
        for seed, score in enumerate(seeds)
    ]
    means = {m: [sum(scores[m, s]) / 2 for s in streams if (m, s) in scores] for m in models}
    ranking = rank(means).to_dict() if len(streams) > 1 else None
    found = {"models": models, "streams": streams, "cells": cells, "ranking": ranking}
    return found | others


def shown(thing, is_terminal=False):
    """What a console shows for something."""
    screen = rich.console.Console(file=io.StringIO(), width=120, force_terminal=is_terminal)
    screen.print(thing)
    return screen.file.getvalue()


def lines_of(found):
    """The lines of the table, as cells."""
    return [
        [cell.strip() for cell in line.strip("│").split("│")]
        for line in shown(accuracy_table(found)).splitlines()
        if line.startswith("│")
    ]


def test_the_table_has_means_over_seeds_ranks_speed_and_size():
    assert lines_of(comparison()) == [
        ["rls", "85.00", "60.00", "1.50", "1,600", "2.0 kB"],
        ["gclass", "70.00", "85.00", "1.50", "1,600", "2.0 kB"],
    ]


def test_the_best_of_each_stream_is_bold():
    text = shown(accuracy_table(comparison()), is_terminal=True)
    assert text.count("\x1b[1m85.00") == 2
    assert "\x1b[1m60.00" not in text


def test_what_is_missing_is_a_dash():
    found = comparison(ranking=None)
    found["cells"] = [cell for cell in found["cells"] if cell["model"] == "rls"]
    found["cells"][0] |= {"accuracy_mean": None, "rows_per_second": None, "model_bytes": None}
    assert lines_of(found) == [
        ["rls", "90.00", "60.00", "-", "2,000", "2.0 kB"],
        ["gclass", "-", "-", "-", "-", "-"],
    ]


def test_nothing_at_all_can_be_shown():
    nothing = {"models": [], "streams": [], "cells": [], "ranking": None}
    assert lines_of(nothing) == []
    assert "Ranks need two models or more" in ranking_lines(nothing)[0]


def test_names_are_shown_as_they_are():
    found = comparison({("rls", "[bold]x.csv"): (0.5, 0.5)})
    assert "[bold]x.csv" in shown(accuracy_table(found))


def test_the_tests_are_told_in_sentences():
    scores = {"a": [0.9, 0.8, 0.7], "b": [0.8, 0.7, 0.6], "c": [0.1, 0.2, 0.3]}
    text = " ".join(ranking_lines({"ranking": rank(scores).to_dict()}))
    assert "Friedman test over 3 streams: p = 0.0498" in text
    assert "Nemenyi: mean ranks that differ by 1.91 or more differ significantly, at 0.05" in text
    other = rank(scores, post_hoc="wilcoxon-holm").to_dict()
    text = " ".join(ranking_lines({"ranking": other}))
    assert "Friedman test" in text
    assert "Wilcoxon's test of all pairs" in text
    assert "Nemenyi" not in text


@pytest.mark.parametrize("is_terminal", [True, False])
def test_every_run_is_told_when_it_is_done(is_terminal):
    cells = cells_of(["majority"], [StreamSettings(name=name) for name in ("sea", "[b].csv")], 2)
    result = {"accuracy_mean": 0.875, "rows_per_second": 1234.5}
    outcomes = [
        Outcome(cells[0], result),
        Outcome(cells[1], result, was_there=True),
        Outcome(cells[2], None, "it broke"),
    ]
    screen = rich.console.Console(file=io.StringIO(), width=120, force_terminal=is_terminal)
    with grid_bar(screen, 3) as show:
        for outcome in outcomes:
            show(outcome)
    text = screen.file.getvalue()
    if is_terminal:
        assert "3 of 3 runs" in text
        assert "majority on [b].csv, seed 0: failed" in text
        return
    assert text.splitlines() == [
        "majority on sea, seed 0: 87.50 %, 1,234 rows/s",
        "majority on sea, seed 1: 87.50 %, was there",
        "majority on [b].csv, seed 0: failed",
    ]
