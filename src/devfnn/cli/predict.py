"""`devfnn predict`: a saved model over a stream, in bounded memory."""

import collections
import sys
from collections.abc import Callable, Hashable, Iterable
from typing import Annotated, Any

import rich.console
import typer

from devfnn.cli.choosing import Choice, ChunkRows, DataDir, Options, Rows, Seed, Skip
from devfnn.cli.describing import show_bad_rows
from devfnn.cli.models import ModelFile, learned_model, usable, with_features_of
from devfnn.cli.refusals import finishing, interrupted, refusing_bad_data
from devfnn.cli.results import (
    CsvFile,
    CsvPath,
    JsonFile,
    Quiet,
    ResultFile,
    check_outputs,
    csv_file,
    result_file,
)
from devfnn.display.literal import literal
from devfnn.display.models import predictions_table
from devfnn.display.progress import rows_bar
from devfnn.errors import DataError
from devfnn.model.devfnn import DEVFNN
from devfnn.model.formatting import label_to_json
from devfnn.streams.datasets.catalogue import DATA_SETS
from devfnn.streams.generators.catalogue import GENERATORS
from devfnn.types import Chunk

DIGITS = 6
"""Digits of a probability in a table."""


def predict(
    model_file: ModelFile,
    name: Annotated[
        str,
        typer.Argument(metavar="FILE", help="A file, - for a pipe, a data set or a generator."),
    ],
    label: Annotated[
        str | None,
        typer.Option(help="Column with the label, to score; a file has none if not given."),
    ] = None,
    rows: Rows = None,
    chunk_rows: ChunkRows = 500,
    skip: Skip = 0,
    seed: Seed = 0,
    data_dir: DataDir = None,
    options: Options = None,
    json_file: JsonFile = None,
    csv_path: CsvPath = None,
    quiet: Quiet = False,
) -> None:
    """Predict rows with a saved model; the model stays as it is.

    The features of the model are found by name, other columns are ignored. Without --csv and
    --json the table goes to standard output: number of the row from 1, predicted label, and the
    probability of every class. Ctrl-C ends it and keeps what was predicted so far.
    """
    is_shown = csv_path is None and json_file is None
    progress = rich.console.Console(stderr=True, quiet=quiet)
    with refusing_bad_data(), result_file(json_file) as result, csv_file(csv_path) as table:
        check_outputs({"MODEL": model_file, "FILE": name}, json=json_file, csv=csv_path)
        model = learned_model(model_file)
        is_file = name not in GENERATORS and name not in DATA_SETS
        choice = Choice(
            name=name,
            rows=rows,
            chunk_rows=chunk_rows,
            seed=seed,
            label="none" if label is None and is_file else label,
            data_dir=data_dir,
            changes=options,
            skip=skip,
        )
        stream = with_features_of(model, choice.open(progress), name)
        if is_shown:
            table = CsvFile(sys.stdout)
        predictions = Predictions(model, result, table, not choice.has_no_label)
        predictions.n_before = skip
        chunks = usable(stream, stream.feature_names, choice, model.config)
        with rows_bar(progress, "predicting", stream.n_rows) as show:
            is_whole = predictions.add_all(chunks, show)
        if not predictions.n_rows:
            raise DataError(f"{name} has no rows") if is_whole else KeyboardInterrupt
        about = {"stream": name, "model": str(model_file), "is_interrupted": not is_whole}
        result.write(about | predictions.summary())
    screen = progress if is_shown else rich.console.Console(quiet=quiet)
    screen.print(predictions_table(name, predictions.counts, predictions.accuracy))
    if predictions.n_scored and not predictions.n_known:
        screen.print("None of the labels is a class that the model knows.", style="yellow")
    show_bad_rows(stream, screen)
    if not is_whole:
        raise interrupted()


class Predictions:
    """Predictions on their way out: written as they come, and counted."""

    def __init__(self, model: DEVFNN, result: ResultFile, table: CsvFile, has_labels: bool) -> None:
        self.model, self.result, self.table = model, result, table
        self.has_labels = has_labels
        self.n_before = 0
        """Rows of the stream that were left out at its start."""
        self.n_rows = 0
        self.n_scored = 0
        self.n_correct = 0
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
        number = self.n_before + self.n_rows
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
        """Share of the rows with a label that were predicted right."""
        return self.n_correct / self.n_scored if self.n_scored else None

    def summary(self) -> dict[str, Any]:
        """What there is to say about all rows, as plain data."""
        classes = self.model.classes
        return {
            "rows": self.n_rows,
            "classes": [label_to_json(label) for label in classes],
            "predicted": [self.counts[label] for label in classes],
            "scored": self.n_scored,
            "accuracy": self.accuracy,
        }


def _cell(label: Hashable) -> str:
    """A label in a table; where somebody watches, nothing in it commands the terminal."""
    if label is None:
        return ""
    return literal(str(label)).plain if sys.stdout.isatty() else str(label)
