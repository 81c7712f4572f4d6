"""A file with text, gaps and a bad row: read it, look at it, learn it, write it as Parquet."""

import gzip
import pathlib
import random

from devfnn import DEVFNN, Config
from devfnn.evaluation import Summary, iter_prequential
from devfnn.streams import export_parquet, read

random.seed(0)
with gzip.open("orders.csv.gz", "wt") as file:
    file.write("placed;country;amount;items;fraud\n")
    for number in range(6000):
        country = random.choice(["AT", "DE", "FR"] if number < 3000 else ["DE", "FR", "PL"])
        amount, items = random.expovariate(0.02), random.randint(1, 9)
        fraud = "yes" if amount > (120 if country == "FR" else 60) * items**0.5 else "no"
        when = f"2024-03-{1 + number // 300:02d} {number % 24:02d}:00:00"
        shown = "" if number % 50 == 7 else "oops" if number == 5000 else f"{amount:.2f}"
        file.write(f"{when};{country};{shown};{items};{fraud}\n")

stream = read("orders.csv.gz", label="fraud", cyclic=["placed"], on_bad_row="count")
print(stream.feature_names)

model = DEVFNN(Config(missing="skip"), feature_names=stream.feature_names)
results = list(iter_prequential(model, stream.chunks(rows=200)))
print(f"accuracy {Summary.of(results).accuracy:.3f}, bad rows {stream.bad_rows.examples}")

export_parquet(stream, "orders.parquet", label="fraud")
print(pathlib.Path("orders.parquet").stat().st_size, "bytes, and the same rows:")
print(read("orders.parquet").n_rows)
