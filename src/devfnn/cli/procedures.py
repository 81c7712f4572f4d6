"""Which model, and how a run goes: the options of commands that run models."""

import enum
from typing import Annotated

import typer


class Preset(enum.StrEnum):
    """Configurations to start from."""

    default = "default"
    paper = "paper"
    static = "static"


class Scaling(enum.StrEnum):
    """How features are scaled."""

    online = "online"
    dataset = "dataset"
    none = "none"


class Unpredicted(enum.StrEnum):
    """What becomes of rows for which a model says nothing."""

    wrong = "wrong"
    skip = "skip"
    first = "first"


ByRow = Annotated[
    bool, typer.Option("--by-row", help="Predict and learn row by row, not chunk by chunk.")
]
WarmUp = Annotated[int, typer.Option(min=0, metavar="CHUNKS", help="So many chunks only train.")]
Holdout = Annotated[
    int | None,
    typer.Option(min=2, metavar="CHUNKS", help="Test only on one of so many; learn the rest."),
]
LabelBudget = Annotated[
    float | None,
    typer.Option(metavar="SHARE", help="The model asks for labels, and gets this share."),
]
Silence = Annotated[Unpredicted, typer.Option(help="What rows are for which a model says nothing.")]
Window = Annotated[
    int, typer.Option(min=1, metavar="CHUNKS", help="Chunks of the windowed measures.")
]
