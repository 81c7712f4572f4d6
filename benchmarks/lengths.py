"""How much a result depends on where chunks end: the eighteen real streams, in four lengths.

Accuracies of one run differ from those of the next by a point where labels come in runs, since
small differences decide which layers rest and when a drift is found. Means over lengths tell what a
change is worth. Ours scale online; the first chunk is only learned.

Usage: DEVFNN_DATA=FOLDER python benchmarks/lengths.py [NAME=VALUE ...], as `devfnn run --set` takes
them; with --preset NAME of another preset, with --streams NAME ... of some streams.
"""

import argparse
import dataclasses
import os
import pathlib
import statistics
import sys

from record_plan import EIGHTEEN, record_streams

from devfnn.cli.option_parsing import parse_parameters
from devfnn.experiments import Run, RunSettings

LENGTHS = (470, 485, 500, 515)


def main() -> None:
    """Print a line for each stream, and the means."""
    parser = argparse.ArgumentParser(description="Accuracy over lengths of chunks.")
    parser.add_argument("changes", nargs="*", metavar="NAME=VALUE")
    parser.add_argument("--preset", default="default")
    parser.add_argument("--streams", nargs="+", default=EIGHTEEN, choices=EIGHTEEN, metavar="NAME")
    given = parser.parse_args()
    folder = os.environ.get("DEVFNN_DATA")
    if not folder:
        sys.exit("The streams are files: set DEVFNN_DATA to the folder that has them.")
    known = {stream.name: stream for stream in record_streams(pathlib.Path(folder))}
    means = []
    for name in given.streams:
        found = []
        for length in LENGTHS:
            stream = dataclasses.replace(known[name].settings, chunk_rows=length)
            changes = parse_parameters(given.changes)
            settings = RunSettings(
                stream=stream, preset=given.preset, changes=changes, scaling="online"
            )
            run = Run(settings)
            for _ in run:
                pass
            found.append(run.result())
        accuracies = [100.0 * result["accuracy_mean"] for result in found]
        log_loss = statistics.mean(result["log_loss"] for result in found)
        means.append((statistics.mean(accuracies), log_loss))
        each = " ".join(f"{accuracy:.2f}" for accuracy in accuracies)
        print(f"{name:17} {means[-1][0]:6.2f} {log_loss:.4f}  {each}", flush=True)
    accuracy, log_loss = (statistics.mean(part) for part in zip(*means, strict=True))
    print(f"{'mean':17} {accuracy:6.2f} {log_loss:.4f}")


if __name__ == "__main__":
    main()
