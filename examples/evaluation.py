"""Two models on one stream, chunk by chunk and row by row; then a figure and a report."""

import pathlib

from devfnn import DEVFNN
from devfnn.baselines import make_model
from devfnn.evaluation import Procedure
from devfnn.experiments import evaluate
from devfnn.figures import run_overview, save
from devfnn.reports import run_report
from devfnn.streams import sea

stream = sea(2_000, rows_per_concept=1_000, noise=0.05)

result = evaluate(DEVFNN(), stream, name="sea")
rival = evaluate(make_model("logistic", stream), stream, name="sea")
late = evaluate(DEVFNN(), stream, Procedure(by_row=True, delay=200), name="sea, late labels")

for name, each in (("DEVFNN", result), ("one logistic rule", rival), ("row by row", late)):
    measures = ", ".join(f"{key} {each[key]:.3f}" for key in ("accuracy_mean", "kappa", "auc"))
    print(f"{name}: {measures}, {each['rows_per_second']:,.0f} rows/s")
print("drift:", result["drift_detection"])
print(*result["event_log"][-3:], sep="\n")

save(run_overview(result), "run.png")
pathlib.Path("run.html").write_text(run_report(result), encoding="utf-8")
