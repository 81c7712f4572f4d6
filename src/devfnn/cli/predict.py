"""`devfnn predict`: a saved model over a stream, in bounded memory."""

import collections
import sys
from collections.abc import Callable, Hashable, Iterable
from typing import Any

import typer

from devfnn.cli import inputs
from devfnn.cli.errors import finishing, interrupted
from devfnn.cli.output import CsvFile, Output, OutputFile, ResultFile, command
from devfnn.display.live import rows_bar
from devfnn.display.models import predictions_table
from devfnn.display.streams import show_bad_rows
from devfnn.display.tables import literal
from devfnn.errors import DataError
from devfnn.formatting import label_to_json
from devfnn.model.devfnn import DEVFNN
from devfnn.types import Chunk

DIGITS = 6
"""Digits of a probability in a table."""


@command
def predict(
    output: Output,
    model_file: inputs.ModelFile,
    name: inputs.FileName,
    label: str | None = typer.Option(
        None, help="Column with the label, to score; without it, a file has none."
    ),
    rows: inputs.Rows = None,
    chunk_rows: inputs.ChunkRows = 500,
    skip: inputs.Skip = 0,
    seed: inputs.Seed = 0,
    data_dir: inputs.DataDir = None,
    options: inputs.Options = None,
) -> None:
    """Predict rows with a saved model; the model does not change.

    The features of the model are found by name, other columns are ignored. Without --csv and
    --json the table goes to standard output: number of the row from 1, predicted label, and the
    probability of every class. Ctrl-C ends it and keeps what was predicted so far.
    """
    is_shown = output.csv_path is None and output.json_file is None
    with output.files({"MODEL": model_file, "FILE": name}) as (result, table):
        model = inputs.learned_model(model_file)
        label = "none" if label is None and inputs.is_file(name) else label
        limits: dict[str, Any] = {"rows": rows, "chunk_rows": chunk_rows, "skip": skip}
        settings = inputs.stream_settings(name, label, data_dir, options, seed=seed, **limits)
        stream = inputs.with_features_of(model, inputs.opened(settings, output.progress), name)
        if is_shown:
            table = CsvFile(OutputFile(sys.stdout))
        predictions = Predictions(model, result, table, not inputs.has_no_label(settings), skip)
        chunks = inputs.checked_chunks(stream, stream.feature_names, settings, model.config)
        with rows_bar(output.progress, "predicting", stream.n_rows) as show:
            is_whole = predictions.add_all(chunks, show)
        if not predictions.n_rows:
            raise DataError(f"{name} has no rows") if is_whole else KeyboardInterrupt
        about = {"stream": name, "model": str(model_file), "is_interrupted": not is_whole}
        result.write(about | predictions.summary())
    screen = output.progress if is_shown else output.screen
    screen.print(predictions_table(name, predictions.counts, predictions.accuracy))
    if predictions.n_scored and not predictions.n_known:
        screen.print("None of the labels is a class that the model knows.", style="yellow")
    show_bad_rows(stream, screen)
    if not is_whole:
        raise interrupted()


class Predictions:
    """Predictions, which are written as they come, and counted."""

    def __init__(
        self, model: DEVFNN, result: ResultFile, table: CsvFile, has_labels: bool, n_skipped: int
    ) -> None:
        self.model, self.result, self.table = model, result, table
        self.has_labels, self.n_skipped = has_labels, n_skipped
        self.n_rows = self.n_scored = self.n_correct = 0
        self.n_known = 0
        """Labels that are classes of the model."""
        self.counts: collections.Counter[Hashable] = collections.Counter()
        """Rows by predicted label."""
        shares = (f"probability of {_cell(label)}" for label in model.classes)
        table.add(["row", "predicted", *(["label"] if has_labels else []), *shares])

    def add_all(self, chunks: Iterable[Chunk], show: Callable[[int], object]) -> bool:
        """Predict chunks until they end or Ctrl-C is pressed; returns whether they ended."""
        try:
            for chunk in chunks:
                with finishing():
                    self.add(chunk)
                show(self.n_rows)
        except KeyboardInterrupt:
            return False
        return True

    def add(self, chunk: Chunk) -> None:
        """Predict a chunk, write it, and count."""
        shares = self.model.predict_proba(chunk.X)
        classes, codes = self.model.classes, shares.argmax(axis=1).tolist()
        labels = chunk.y.tolist()
        for code, label, row in zip(codes, labels, shares.tolist(), strict=True):
            self.n_rows += 1
            self._write(classes[code], label, row)
            self.counts[classes[code]] += 1
            if label is not None:
                self.n_scored += 1
                self.n_correct += classes[code] == label
                self.n_known += label in classes
        if self.table.is_wanted:
            sys.stdout.flush()

    def _write(self, predicted: Hashable, label: Hashable, shares: list[float]) -> None:
        number = self.n_skipped + self.n_rows
        if self.table.is_wanted:
            truth = [_cell(label)] if self.has_labels else []
            texts = (f"{share:.{DIGITS}g}" for share in shares)
            self.table.add([number, _cell(predicted), *truth, *texts])
        if self.result.is_wanted:
            line = {"row": number, "predicted": label_to_json(predicted)}
            if self.has_labels:
                line["label"] = None if label is None else label_to_json(label)
            self.result.add("predictions", line | {"probabilities": shares})

    @property
    def accuracy(self) -> float | None:
        """Share of the rows with a label that were predicted correctly."""
        return self.n_correct / self.n_scored if self.n_scored else None

    def summary(self) -> dict[str, Any]:
        """Numbers over all rows, as plain data."""
        classes = self.model.classes
        return {
            "rows": self.n_rows,
            "classes": [label_to_json(label) for label in classes],
            "predicted": [self.counts[label] for label in classes],
            "scored": self.n_scored,
            "accuracy": self.accuracy,
        }


def _cell(label: Hashable) -> str:
    """A label in a table; on a terminal, without control characters."""
    if label is None:
        return ""
    return literal(str(label)).plain if sys.stdout.isatty() else str(label)
