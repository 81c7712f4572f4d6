"""All commands together: what they have in common."""

import csv
import json

import pytest
from typer.main import get_command

import devfnn
from devfnn.baselines.registry import MODELS
from devfnn.cli import app

WHOLE = get_command(app)
COMMANDS = {name: each for name, each in WHOLE.commands.items() if name != "data"}
COMMANDS |= {f"data {name}": each for name, each in WHOLE.commands["data"].commands.items()}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_writes_json_and_csv_and_can_be_quiet(name):
    options = {option for parameter in COMMANDS[name].params for option in parameter.opts}
    assert {"--json", "--csv", "--quiet"} <= options


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_says_what_it_does(name):
    assert COMMANDS[name].help
    for parameter in COMMANDS[name].params:
        if parameter.param_type_name == "option" and parameter.name != "help":
            assert parameter.help, f"{name}: {parameter.opts}"


def test_the_commands_that_users_know_are_there():
    wanted = {"run", "compare", "table", "plot", "report", "inspect", "predict", "learn", "bench"}
    wanted |= {"models", "version", "explain"}
    assert wanted == {name for name in COMMANDS if " " not in name}


def test_versions_are_written(invoke, tmp_path):
    files = ("--json", tmp_path / "v.json", "--csv", tmp_path / "v.csv")
    result = invoke("version", *files)
    assert result.exit_code == 0, result.output
    assert json.loads((tmp_path / "v.json").read_text())["devfnn"] == devfnn.__version__
    names, values = csv.reader((tmp_path / "v.csv").read_text().splitlines())
    assert dict(zip(names, values, strict=True))["devfnn"] == devfnn.__version__
    assert invoke("version", "--quiet").output == ""


def test_an_export_tells_what_it_wrote(invoke, tmp_path):
    file, report = tmp_path / "sea.parquet", tmp_path / "export.json"
    result = invoke("data", "export", "sea", file, "--rows", 100, "--json", report, "--quiet")
    assert result.exit_code == 0, result.output
    assert result.output == ""
    assert json.loads(report.read_text()) == {"stream": "sea", "path": str(file), "rows": 100}


def test_an_unwritable_report_keeps_an_export_from_starting(invoke, tmp_path):
    file = tmp_path / "sea.parquet"
    result = invoke("data", "export", "sea", file, "--csv", tmp_path / "no" / "x.csv")
    assert result.exit_code == 2
    assert not file.exists()


def test_all_models_are_listed(invoke, tmp_path):
    table, file = tmp_path / "models.csv", tmp_path / "models.json"
    result = invoke("models", "--json", file, "--csv", table)
    assert result.exit_code == 0, result.output
    for name in MODELS:
        assert name in result.stdout
    assert "devfnn[baselines,bench]" in result.stdout
    listed = json.loads(file.read_text())["models"]
    assert [each["name"] for each in listed] == list(MODELS)
    assert {each["extra"] for each in listed} == {None, "baselines", "bench"}
    with table.open(newline="") as lines:
        assert [line["model"] for line in csv.DictReader(lines)] == list(MODELS)


def test_a_list_that_cannot_be_written_is_refused(invoke, tmp_path):
    assert invoke("models", "--json", tmp_path / "no" / "x").exit_code == 2
