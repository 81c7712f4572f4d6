"""What is shown while a run or a grid of runs lasts, on a terminal and elsewhere."""

import dataclasses
import itertools

import pytest
import rich.console

from devfnn import presets
from devfnn.display.live import grid_bar, watched
from devfnn.experiments import StreamSettings
from devfnn.experiments.grid import Outcome, cells_of
from devfnn.types import Standing
from display.made import console, results


def watch(run, n_rows, is_terminal=False, **others):
    """What is shown over a run."""
    screen = console(is_terminal)
    assert list(watched(iter(run), n_rows, screen, **others)) == list(run)
    return screen.file.getvalue()


def last_panel(text):
    """The last picture of a live panel, without codes and frames."""
    picture = rich.text.Text.from_ansi(text[text.rindex("╭") :]).plain
    return " ".join(picture.replace("│", " ").split())


@pytest.fixture
def clock(monkeypatch):
    """A clock that goes on by 0.05 s whenever it is asked."""
    ticks = itertools.count(0, 1)
    monkeypatch.setattr("devfnn.display.live.time.monotonic", lambda: next(ticks) * 0.05)


# ---- on a terminal


def test_the_panel_tells_all_that_is_worth_knowing():
    text = watch(results(3, 6), 1000, is_terminal=True, name="DEVFNN on sea")
    shown = last_panel(text)
    for part in (
        *("DEVFNN on sea", "1,000 of 1,000 rows, time left 0 s", "accuracy now 90.00 %"),
        *("accuracy so far 90.00 %", "layers 2", "rules 3", "rows/s 2,000", "last drift 700"),
    ):
        assert part in shown, part


def test_accuracy_now_is_that_of_the_last_chunks():
    run = results(n_chunks=21, n_correct=[0] * 11 + [100] * 10)
    shown = last_panel(watch(run, 2100, is_terminal=True))
    assert "accuracy now 100.00 %" in shown
    assert "accuracy so far 50.00 %" in shown


def test_the_time_left_is_taken_from_the_pace_since_the_start(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("devfnn.display.live.time.monotonic", lambda: now[0])

    def run():
        for result in results()[5:]:
            now[0] += 10.0
            yield result

    screen = console(is_terminal=True)
    shown = watched(run(), 1000, screen, before=results()[:5])
    next(shown)
    assert "600 of 1,000 rows" in last_panel(screen.file.getvalue())
    assert "time left 40 s" in last_panel(screen.file.getvalue())
    shown.close()


def test_pictures_are_drawn_now_and_then_only(clock):
    text = watch(results(n_chunks=200), 20_000, is_terminal=True)
    assert 20 < text.count("accuracy now") < 150


def test_the_name_in_the_panel_is_shown_as_it_is():
    assert "on [bold].csv" in watch(results(), 1000, is_terminal=True, name="on [bold].csv")


def test_without_a_known_length_rows_are_counted_on_a_terminal():
    shown = last_panel(watch(results(), None, is_terminal=True))
    assert "1,000 rows" in shown
    assert "time left" not in shown


def test_a_model_that_counts_nothing_shows_nothing():
    run = [dataclasses.replace(each, n_rules=None, n_layers=None) for each in results()]
    shown = last_panel(watch(run, 1000, is_terminal=True))
    assert "layers -" in shown
    assert "rules -" in shown
    assert "last drift -" in shown


STANDINGS = (
    Standing(0, "quick line", "votes", 0.2, cost=0.05),
    Standing(1, "clouds", "rests", 0.0, 12),
    Standing(2, "short trees", "on trial", 0.1, cost=0.35),
    Standing(3, "kept boxes", "waits", 0.0, cost=0.01),
    Standing(4, "stack", "votes", 1.0, cost=0.59),
)


def test_the_panel_tells_which_layers_work_and_what_each_costs():
    run = [dataclasses.replace(each, standings=STANDINGS) for each in results()]
    shown = last_panel(watch(run, 1000, is_terminal=True))
    for part in (
        *("layer counts costs", "quick line 20 % 5 %", "clouds rests 12 steps"),
        *("short trees on trial 35 %", "kept boxes waits 1 %", "stack 100 % 59 %"),
    ):
        assert part in shown, part


def test_plain_lines_name_layers_at_rest():
    run = [dataclasses.replace(each, standings=STANDINGS) for each in results()]
    assert watch(run, 1000).splitlines()[-1].endswith("last drift -  at rest clouds")


def test_the_layers_of_the_default_fit_a_panel_of_80_columns():
    layers = enumerate(presets.default().layers)
    standings = tuple(Standing(k, each.name, "rests", 0.0, 64) for k, each in layers)
    run = [dataclasses.replace(each, standings=standings) for each in results()]
    screen = console(is_terminal=True, width=80)
    list(watched(iter(run), 1000, screen))
    shown = last_panel(screen.file.getvalue())
    assert all(f"{each.name} rests 64 steps" in shown for each in standings)


def test_the_panel_is_left_in_order_when_a_run_is_interrupted():
    def interrupted():
        yield from results()[:3]
        raise KeyboardInterrupt

    screen = console(is_terminal=True)
    with pytest.raises(KeyboardInterrupt):
        list(watched(interrupted(), 1000, screen))
    assert screen.file.getvalue().rstrip().endswith("\x1b[?25h")  # the cursor is back


# ---- elsewhere


def test_plain_lines_have_no_codes_and_tell_the_same():
    text = watch(results(), 1000)
    assert "\x1b" not in text
    line = "accuracy now 90.00 %  accuracy so far 90.00 %  rows/s 2,000  layers 2  rules 3"
    assert f"{line}  last drift -" in text


def test_plain_lines_tell_the_last_drift():
    lines = watch(results(3), 1000).splitlines()
    assert len(lines) == 10
    assert "drift -" in lines[2]
    assert all("drift 400" in line for line in lines[3:])


def test_a_line_comes_after_every_tenth_of_the_run():
    lines = watch(results(n_chunks=95), 9500).splitlines()
    rows = [int(line.split()[0].replace(",", "")) for line in lines]
    assert len(rows) == 10
    assert rows[-1] == 9500
    assert all(950 * place <= row < 950 * place + 100 for place, row in enumerate(rows, 1))


def test_a_run_that_goes_on_says_only_what_is_new():
    lines = watch(results()[5:], 1000, before=results(2)[:5]).splitlines()
    assert [line.split()[0] for line in lines] == ["600", "700", "800", "900", "1,000"]
    assert "drift 300" in lines[0]
    assert watch([], 1000, before=results()) == ""


def test_a_slow_run_of_unknown_length_is_not_silent(monkeypatch):
    ticks = itertools.count(0, 4)
    monkeypatch.setattr("devfnn.display.live.time.monotonic", lambda: next(ticks))
    assert watch(results()[:5], None).count("rows/s") >= 2


# ---- both


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_last_chunk_without_rows_changes_no_number(is_terminal):
    last = dataclasses.replace(
        results()[-1], index=10, chunk_rows=0, n_correct=None, n_scored=0, seconds_predict=0.0
    )
    text = watch([*results(), last], 1000, is_terminal)
    if is_terminal:
        assert "accuracy so far 90.00 %" in last_panel(text)
    else:
        assert len(text.splitlines()) == 10


@pytest.mark.parametrize("is_terminal", [True, False])
@pytest.mark.parametrize("n_rows", [0, None, 1000])
def test_a_run_without_results_can_be_watched(is_terminal, n_rows):
    watch([], n_rows, is_terminal)


@pytest.mark.parametrize("is_terminal", [True, False])
def test_nothing_runs_before_results_are_asked_for(is_terminal):
    def run():
        pytest.fail("it was asked for")
        yield

    watched(run(), 1000, console(is_terminal))


# ---- grids of runs


@pytest.mark.parametrize("is_terminal", [True, False])
def test_every_run_is_told_when_it_is_done(is_terminal):
    cells = cells_of(["majority"], [StreamSettings(name=name) for name in ("sea", "[b].csv")], 2)
    result = {"accuracy_mean": 0.875, "rows_per_second": 1234.5}
    outcomes = [
        Outcome(cells[0], result),
        Outcome(cells[1], result, was_there=True),
        Outcome(cells[2], None, "it broke"),
    ]
    screen = console(is_terminal, width=120)
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
        "majority on sea, seed 1: 87.50 %, already there",
        "majority on [b].csv, seed 0: failed",
    ]
