"""Speed of streams: generators in rows per second, and a large CSV file against pyarrow's reader.

Each reader runs in a process of its own, so that its peak memory is its own; readers take turns,
and the ratio is taken between neighbours, because the machine may be shared.

    make reading ARGS="--megabytes 200 --rounds 1"
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from devfnn.streams.generators.catalogue import GENERATORS

FEATURES = 9

READERS = {
    "pyarrow.csv.read_csv": """
import pyarrow.csv
n_rows = pyarrow.csv.read_csv(file).num_rows
""",
    "pyarrow.csv.open_csv": """
import pyarrow.csv
n_rows = sum(batch.num_rows for batch in pyarrow.csv.open_csv(file))
""",
    "devfnn.streams.read": """
n_rows = sum(len(chunk.y) for chunk in devfnn.streams.read(file))
""",
}

FRAME = """
import json, resource, sys, time
import numpy, pyarrow, pyarrow.csv, pyarrow.compute, pyarrow.parquet
import devfnn.streams, devfnn.streams.files.conversion
file = sys.argv[1]
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
before, start = peak(), time.perf_counter()
{code}
print(json.dumps([n_rows, time.perf_counter() - start, peak() - before]))
"""


def write_csv(file: pathlib.Path, megabytes: int) -> int:
    """A CSV file of numbers; returns its rows."""
    rng = np.random.default_rng(0)
    n_rows = 0
    with file.open("wb") as out:
        while out.tell() < megabytes * 1_000_000:
            columns = {f"x{k}": rng.normal(size=50_000).round(6) for k in range(FEATURES)}
            table = pa.table(columns | {"class": rng.integers(0, 2, 50_000)})
            pacsv.write_csv(table, out, pacsv.WriteOptions(include_header=n_rows == 0))
            n_rows += 50_000
    return n_rows


def run_reader(code: str, file: pathlib.Path) -> tuple[int, float, float]:
    """Rows, seconds, and megabytes of memory above the import."""
    command = [sys.executable, "-c", FRAME.replace("{code}", code), str(file)]
    finished = subprocess.run(command, capture_output=True, text=True, check=True)
    rows, seconds, megabytes = json.loads(finished.stdout)
    return rows, seconds, megabytes


def compare_readers(megabytes: int, rounds: int) -> dict[str, dict[str, float]]:
    """Medians over the rounds, and for our reader the ratio to each of the others."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in READERS}
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "numbers.csv"
        n_rows = write_csv(file, megabytes)
        for _ in range(rounds):
            for name, code in READERS.items():
                rows, seconds, memory = run_reader(code, file)
                assert rows == n_rows, (name, rows, n_rows)
                found[name].append((seconds, memory))
    ours = [seconds for seconds, _ in found["devfnn.streams.read"]]
    table = {}
    for name, runs in found.items():
        ratios = [theirs / mine for (theirs, _), mine in zip(runs, ours, strict=True)]
        table[name] = {
            "rows_per_second": n_rows / statistics.median(seconds for seconds, _ in runs),
            "megabytes_above_import": max(memory for _, memory in runs),
            "our_speed_relative": statistics.median(ratios),
        }
    return table


def generator_speeds(n_rows: int) -> dict[str, float]:
    """Rows per second of every generator, in chunks of 500."""
    speeds = {}
    for name, generator in GENERATORS.items():
        start = time.perf_counter()
        made = sum(len(chunk.y) for chunk in generator.make(n_rows))
        speeds[name] = made / (time.perf_counter() - start)
    return speeds


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=1_000_000)
    arguments = parser.parse_args()

    print(f"{'generator':24} {'rows/s':>12}")
    for name, speed in generator_speeds(arguments.rows).items():
        print(f"{name:24} {speed:12,.0f}")
    print(
        f"\n{'CSV, ' + str(arguments.megabytes) + ' MB':24} {'rows/s':>12} {'MB above import':>16}"
        f" {'ours is faster by':>18}"
    )
    for name, row in compare_readers(arguments.megabytes, arguments.rounds).items():
        print(
            f"{name:24} {row['rows_per_second']:12,.0f} {row['megabytes_above_import']:16.0f}"
            f" {row['our_speed_relative']:18.2f}"
        )


if __name__ == "__main__":
    main()
