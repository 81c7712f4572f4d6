"""`devfnn models`: what can be run."""

import rich.console
import rich.table

from devfnn.baselines.registry import MODELS
from devfnn.cli.refusals import refusing_bad_data
from devfnn.cli.results import CsvPath, JsonFile, Quiet, csv_file, result_file
from devfnn.display.literal import literal


def models(json_file: JsonFile = None, csv_path: CsvPath = None, quiet: Quiet = False) -> None:
    """List the models that `run` and `compare` know."""
    with refusing_bad_data(), result_file(json_file) as result, csv_file(csv_path) as lines:
        table = rich.table.Table("model", "what it is", "needs", title="Models")
        lines.add(("model", "description", "extra"))
        for entry in MODELS.values():
            needs = f"devfnn[{entry.extra}]" if entry.extra else ""
            table.add_row(entry.name, entry.description, literal(needs))
            lines.add((entry.name, entry.description, entry.extra))
        result.write(
            {
                "models": [
                    {"name": each.name, "description": each.description, "extra": each.extra}
                    for each in MODELS.values()
                ]
            }
        )
    screen = rich.console.Console(quiet=quiet)
    screen.print(table)
    screen.print(literal("pip install 'devfnn[baselines,bench]' brings what all of them need."))
