"""Results beside published ones, models beside each other, and what each mechanism is worth."""

import json

import pytest

from devfnn.errors import InputError
from devfnn.experiments.published import PUBLISHED
from devfnn.experiments.rendering import Column, Table
from devfnn.experiments.tables import ablation_table, paper_table, peer_table, system_name


def result(stream="electricity", model="devfnn", preset="default", seed=0, **changes):
    """The result of a run, as far as tables need it."""
    has_rules = model == "devfnn"
    return {
        "format": 1,
        "stream": stream,
        "model": model,
        "preset": preset if has_rules else None,
        "scaling": "online",
        "seed": seed,
        "config": {"memory": 0.9, "seed": seed} if has_rules else None,
        "accuracy_mean": 0.8,
        "accuracy_std": 0.1,
        "paper_precision": 0.75,
        "paper_recall": 0.7,
        "rules_mean": 6.0 if has_rules else None,
        "layers_mean": 2.0 if has_rules else None,
        "rows": 1000,
        "chunks": 3,
        "rows_per_second": 2000.0,
        "model_bytes": 4096,
        "per_chunk": {
            "rows": [333, 666, 999],
            "accuracy": [None, 0.7, 0.9],
            "rules": [4, 6, 8] if has_rules else [None, None, None],
            "layers": [2, 2, 2] if has_rules else [None, None, None],
        },
    } | changes


def line(table, system, stream="electricity"):
    """The row of a system on a stream."""
    found = [
        row for row in table.rows if (row["system"], row.get("stream", stream)) == (system, stream)
    ]
    (row,) = found
    return row


def texts(table):
    """All lines as one reads them."""
    return [cells for section in table.lines() for cells in section]


def test_what_was_measured_stands_beside_what_was_published():
    table = paper_table([result()])
    cells = dict(zip([each.title for each in table.columns], texts(table)[0], strict=True))
    assert cells == {
        "stream": "electricity",
        "system": "DEVFNN (default)",
        "CR": "80.00 ± 10.00",
        "CR paper": "70 ± 13",
        "FR": "6.00 ± 2.00",
        "FR paper": "4.24 ± 2.25",
        "P": "0.75",
        "P paper": "0.75",
        "R": "0.70",
        "R paper": "0.78",
        "HL": "2.00 ± 0.00",
        "HL paper": "4.24 ± 2.25",
        "FR end": "8",
        "p": "-",
        "scaling": "online",
        "rows": "1,000",
        "seeds": "1",
        "± seeds": "-",
    }


def test_all_published_systems_are_shown_measured_or_not():
    rows = paper_table([result(), result(model="river-arf")]).rows
    assert [row["system"] for row in rows] == [
        "DEVFNN (default)",
        "SDEVFNN",
        "DSSCN",
        "PNN",
        "DEN",
        "HAT",
        "river-arf",
    ]
    assert [row["accuracy_mean"] for row in rows] == [0.8, None, None, None, None, None, 0.8]
    assert [row["published_accuracy_mean"] for row in rows] == [
        *(0.7, 0.7, 0.68, 0.59, 0.57, 0.57),
        None,
    ]


def test_both_forms_of_the_static_network_stand_beside_its_figures():
    both = [result(model=model) | {"preset": "paper"} for model in ("sdevfnn", "sdevfnn-evolving")]
    rows = [row for row in paper_table(both).rows if row["accuracy_mean"] is not None]
    assert [row["system"] for row in rows] == ["SDEVFNN", "SDEVFNN (evolving rules)"]
    assert {row["published_rules_mean"] for row in rows} == {24}


def test_networks_of_different_sizes_are_not_averaged():
    sized = result(model="den", settings={"changes": {"stream": "weather"}})
    with pytest.raises(InputError, match="differ in stream"):
        paper_table([sized, result(model="den", seed=1)])


@pytest.mark.parametrize("model", ["sdevfnn", "dsscn", "pnn", "den", "hat"])
def test_systems_of_the_paper_stand_beside_their_own_figures(model):
    table = paper_table([result(model=model, preset=None)])
    row = line(table, model.upper())
    assert row["accuracy_mean"] == 0.8
    assert (
        row["published_accuracy_mean"] == PUBLISHED["electricity"][model.upper()]["accuracy_mean"]
    )
    assert len(table.rows) == 6


def test_a_simulated_stream_is_marked():
    assert {row["stream"] for row in paper_table([result(stream="rfid")]).rows} == {
        "rfid (simulated)"
    }


def test_a_published_system_without_measurement_has_dashes():
    table = paper_table([result(model="majority")])
    assert texts(table)[0][:5] == ["electricity", "DEVFNN", "-", "70 ± 13", "-"]
    assert texts(table)[1][:2] == ["", "SDEVFNN"]


def test_presets_are_systems_of_their_own():
    table = paper_table(
        [result(), result(preset="paper"), result(preset="static"), result(preset=None)]
    )
    names = [row["system"] for row in table.rows][:5]
    assert names == [
        *("DEVFNN (default)", "DEVFNN (paper)", "DEVFNN (static)", "DEVFNN"),
        "SDEVFNN",
    ]
    published = [row["published_rules_mean"] for row in table.rows][:5]
    assert published == [4.24, 4.24, 4.24, 4.24, 24]


def test_several_seeds_are_one_line_of_means():
    seeds = [result(seed=seed, accuracy_mean=0.8 + 0.01 * seed) for seed in range(3)]
    row = line(paper_table(seeds), "DEVFNN (default)")
    assert row["accuracy_mean"] == pytest.approx(0.81)
    assert row["accuracy_std"] == pytest.approx(0.1)
    assert row["n_seeds"] == 3
    assert row["seeds_std"] == pytest.approx(0.01)
    assert texts(paper_table(seeds))[0][-2:] == ["3", "1.00"]


def test_streams_have_the_order_of_the_paper_and_others_come_last():
    names = ["rbf", "electricity", "sea-paper", "sea"]
    table = paper_table([result(stream=name) for name in names])
    assert list(dict.fromkeys(row["stream"] for row in table.rows)) == [
        *("sea-paper", "electricity", "rbf", "sea")
    ]
    assert [row["system"] for row in table.rows if row["stream"] == "sea"] == ["DEVFNN (default)"]
    assert line(table, "DEVFNN (default)", "sea")["published_accuracy_mean"] is None


def test_two_ways_of_scaling_are_two_lines():
    table = paper_table([result(), result(scaling="dataset", accuracy_mean=0.9)])
    assert line(table, "DEVFNN (default), scaling online")["accuracy_mean"] == 0.8
    assert line(table, "DEVFNN (default), scaling dataset")["accuracy_mean"] == 0.9


def test_the_same_result_given_twice_counts_once():
    row = line(paper_table([result(), result()]), "DEVFNN (default)")
    assert row["n_seeds"] == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"accuracy_mean": 0.5}, r"two results of DEVFNN \(default\) on electricity with seed 0"),
        ({"seed": 1, "rows": 500}, "differ in rows: 1000 and 500"),
        ({"seed": 1, "chunks": 9}, "differ in chunks: 3 and 9"),
        ({"seed": 1, "config": {"memory": 0.5, "seed": 1}}, "differ in memory"),
    ],
)
@pytest.mark.parametrize("make", [paper_table, peer_table])
def test_results_of_different_runs_are_not_averaged(make, changes, message):
    with pytest.raises(InputError, match=message):
        make([result(), result(**changes)])


def test_a_table_of_nothing_is_refused():
    with pytest.raises(InputError, match="there are none"):
        paper_table([])


def test_runs_that_were_interrupted_are_named():
    notes = " ".join(paper_table([result(is_complete=False)]).notes)
    assert "DEVFNN (default) on electricity, seed 0: ended after 1000 rows." in notes
    assert "ended after" not in " ".join(paper_table([result(is_complete=True)]).notes)


def test_results_without_chunks_have_no_deviation_of_rules():
    row = line(paper_table([result(per_chunk=None)]), "DEVFNN (default)")
    assert (row["rules_mean"], row["rules_std"]) == (6.0, None)


def test_peers_are_ranked_over_the_streams_that_all_have():
    results = [
        result("sea", accuracy_mean=0.9),
        result("rbf", accuracy_mean=0.7),
        result("led", accuracy_mean=0.1),
        result("sea", "majority", accuracy_mean=0.5),
        result("rbf", "majority", accuracy_mean=0.7),
    ]
    table = peer_table(results)
    assert [row["system"] for row in table.rows] == ["DEVFNN (default)", "majority"]
    assert [row["mean_rank"] for row in table.rows] == [1.25, 1.75]
    assert texts(table)[1] == [
        "majority",
        "1",
        "50.00",
        "70.00",
        "-",
        "online",
        "2,000",
        "4,096",
        "1.75",
        "1.000",
    ]
    assert "over the 2 of 3 streams" in " ".join(table.notes)


def test_peers_are_ranked_by_any_measure_and_errors_the_other_way_round():
    values = {"devfnn": (0.3, 0.9), "majority": (0.6, 0.5)}
    results = [
        result(stream, model=model, log_loss=loss, f1=f1)
        for stream in ("sea", "led")
        for model, (loss, f1) in values.items()
    ]
    for measure, shown in (("log_loss", ["0.300", "0.600"]), ("f1", ["90.00", "50.00"])):
        table = peer_table(results, measure)
        ranks = [row["mean_rank"] for row in table.rows]
        assert ranks == [1.0, 2.0]
        column = next(each for each in table.columns if each.title == "sea")
        assert [column.text(row) for row in table.rows] == shown
    with pytest.raises(InputError, match="no measure is called 'speed'; there are accuracy"):
        peer_table(results, "speed")


def test_speed_is_rows_by_time_and_size_the_largest():
    results = [
        result("sea", rows=1000, rows_per_second=1000.0, model_bytes=10),
        result("rbf", rows=3000, rows_per_second=500.0, model_bytes=30),
    ]
    (row,) = peer_table(results).rows
    assert row["rows_per_second"] == pytest.approx(4000 / 7)
    assert row["model_bytes"] == 30
    assert row["mean_rank"] is None


def test_seeds_of_peers_are_counted_and_their_deviation_shown():
    results = [result(seed=seed, accuracy_mean=0.7 + 0.1 * seed) for seed in (0, 1)]
    cells = texts(peer_table([*results, result("sea")]))[0]
    assert cells[:4] == ["DEVFNN (default)", "1 to 2", "75.00 ± 7.07", "80.00"]


def test_peers_without_any_number_have_dashes():
    nothing = dict.fromkeys(("accuracy_mean", "rows_per_second", "model_bytes"))
    cells = texts(peer_table([result(**nothing), result(model="majority")]))[0]
    assert cells == ["DEVFNN (default)", "1", "-", "online", "-", "-", "-", "-"]


# ---- how tables are written

HOSTILE = r"a_b & 50% <i>$x^2$</i> \input{#1} ~|"


def hostile():
    """A table with names that would be commands."""
    return paper_table([result(stream=HOSTILE, model="[x]")])


def test_csv_has_all_digits_and_empty_cells():
    names, *rows = paper_table([result(accuracy_mean=1 / 3)]).values()
    first, second, *_ = (dict(zip(names, row, strict=True)) for row in rows)
    assert (first["accuracy_mean"], first["published_accuracy_std"]) == (1 / 3, 0.13)
    assert second["accuracy_mean"] is None


def test_latex_is_a_tabular_of_booktabs_with_escaped_names():
    text = hostile().to_latex()
    body = [each for each in text.splitlines() if not each.startswith("%")]
    assert body[0] == r"\begin{tabular}{ll" + "r" * 16 + "}"
    assert body[-1] == r"\end{tabular}"
    assert body[1] == r"\toprule" and body[-2] == r"\bottomrule"
    assert r"a\_b \& 50\% \textless{}i\textgreater{}\$x\textasciicircum{}2\$" in body[4]
    assert r"\textbackslash{}input\{\#1\} \textasciitilde{}\textbar{}" in body[4]
    assert "& {[}x] & 80.00 $\\pm$ 10.00 & --" in body[4]
    assert [each.count(" & ") for each in body[4:-2]] == [17]


def test_latex_puts_a_rule_between_streams():
    text = paper_table([result(), result("sea-paper")]).to_latex()
    assert text.count(r"\midrule") == 2


def test_markdown_shows_names_as_they_are():
    lines = hostile().to_markdown().splitlines()
    assert lines[2].startswith("| stream | system | CR | CR paper |")
    assert lines[3].startswith("| :-- | :-- | --: |")
    assert lines[4].startswith(r"| a\_b & 50% \<i\>$x^2$\</i\> \\input\{\#1\} \~\| | \[x\] | 80.00")
    assert len(lines[4].replace(r"\|", "").split("|")) == len(lines[2].split("|"))


def test_numbers_may_have_their_sign():
    column = Column("x", "x", decimals=1, is_signed=True)
    assert [column.text({"x": value}) for value in (1.0, -1.0, None)] == ["+1.0", "-1.0", "-"]
    assert Column("x", "x", is_signed=True).text({"x": 2.5}) == "+2.5"


def test_parameters_that_were_set_are_named():
    changed = result(model="capymoa-arf", settings={"changes": {"ensemble_size": 10}})
    assert system_name(changed) == "capymoa-arf (ensemble_size=10)"
    assert system_name(result(settings={"changes": OFF})) == "DEVFNN (default, merging=none)"
    changes = {"boxes__max_rules": 3, "voting": {"form": "equal", "ballots": "hard"}}
    named = "DEVFNN (default, boxes.max_rules=3, voting=equal(ballots=hard))"
    assert system_name(result(settings={"changes": changes})) == named
    assert system_name(result(model="pnn", settings={"changes": {"stream": "sea"}})) == "PNN"
    assert system_name({"model": "sdevfnn", "preset": "default"}) == "SDEVFNN (default)"


def test_a_table_is_plain_data():
    table = paper_table([result()])
    data = json.loads(json.dumps(table.to_dict()))
    assert data["rows"][0]["accuracy_mean"] == 0.8
    assert data["rows"][0]["published_accuracy_mean"] == 0.7
    assert data["title"] == table.title


@pytest.mark.parametrize("make", [paper_table, peer_table, ablation_table])
def test_versions_are_noted_all_of_them(make):
    runs = [result(seed=k, versions={"devfnn": f"0.{k}", "numpy": "2.4"}) for k in range(2)]
    assert make(runs).notes[-1] == "Made with devfnn 0.0 and 0.1, numpy 2.4."


def test_a_table_without_sections_repeats_nothing_and_has_no_gap():
    columns = (Column("name", "name"), Column("value", "value"))
    table = Table("T", columns, ({"name": "a", "value": 1}, {"name": "a", "value": 2.5}))
    assert list(table.lines()) == [[["a", "1"], ["a", "2.5"]]]


def test_runs_over_a_part_of_a_stream_of_the_paper_are_noted():
    part = result(rows=3000, settings={"stream": {"rows": 3000}})
    assert "electricity: only 3,000 rows of the stream." in paper_table([part]).notes
    whole = result(settings={"stream": {"rows": None, "skip": 0}})
    assert not any("only" in note for note in paper_table([whole]).notes)


# ---- ablations


def ablated(accuracy, stream="weather", changes=None, preset="default", seed=0):
    """The result of a run with parameters changed."""
    measured = {"accuracy_mean": accuracy, "settings": {"changes": changes or {}}}
    return result(stream, preset=preset, seed=seed, **measured)


OFF = {"merging": None}


def test_differences_are_to_the_same_without_the_change():
    table = ablation_table(
        [
            ablated(0.8),
            ablated(0.9, "sea-paper"),
            ablated(0.75, changes=OFF),
            ablated(0.95, "sea-paper", changes=OFF),
            ablated(0.6, preset="paper"),
            ablated(0.7, preset="paper", changes=OFF),
            ablated(0.8, "sea-paper", preset="paper"),
        ]
    )
    plain, without, paper, paper_without = table.rows
    assert (plain["system"], plain["start"]) == ("DEVFNN (default)", "DEVFNN (default)")
    assert without["system"] == "DEVFNN (default, merging=none)"
    assert [row["change"] for row in table.rows] == ["as it is", "merging=none"] * 2
    assert without["difference:weather"] == pytest.approx(-0.05)
    assert without["difference:sea-paper"] == pytest.approx(0.05)
    assert without["difference"] == pytest.approx(0.0)
    assert plain["difference"] is None
    assert paper_without["start"] == paper["system"] == "DEVFNN (paper)"
    assert paper_without["difference:weather"] == pytest.approx(0.1)
    assert paper_without["accuracy"] is None  # not on all streams
    cells = [cell for section in table.lines() for line in section for cell in line]
    assert {"-5.00", "+5.00", "+10.00"} <= set(cells)


def test_seeds_are_averaged():
    table = ablation_table(
        [
            ablated(0.8),
            ablated(0.6, seed=1),
            ablated(0.6, changes=OFF),
            ablated(0.6, changes=OFF, seed=1),
        ]
    )
    assert table.rows[1]["difference"] == pytest.approx(-0.1)


def test_a_change_without_its_start_has_no_difference():
    (row,) = ablation_table([ablated(0.7, changes={"voting": {"form": "equal", "power": 2}})]).rows
    assert row["change"] == "voting=equal(power=2)"
    assert (row["start"], row["accuracy"], row["difference"]) == ("DEVFNN (default)", 0.7, None)
