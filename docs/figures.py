"""The figures of the site: models learn generated streams here, and are drawn.

    python docs/figures.py               all figures, into docs/figures/
    python docs/figures.py tradeoff      this one; it also prints the table that it is drawn from

Figures of tutorials and guides are those that the code of the page itself saves (`pages.py`).
"""

import functools
import pathlib
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import matplotlib

matplotlib.use("agg")

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from devfnn import DEVFNN, Config, figures, presets
from devfnn.evaluation import iter_prequential
from devfnn.experiments import evaluate
from devfnn.figures.style import BLUE, GREY, INK, ORANGE, PALE, RED, SKY, STYLE
from devfnn.model.mechanisms.drift import Level, drift_in_stream
from devfnn.streams import Stream, agrawal, from_arrays, hyperplane, mixed, rbf, sea, sine

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import pages

FOLDER = pathlib.Path(__file__).parent / "figures"

Draw = Callable[[], Any]

OWN: dict[str, Draw] = {}
"""What draws each figure, by its name."""


def figure(draw: Draw) -> Draw:
    """Note a function that draws the figure of its name."""
    OWN[f"{draw.__name__.replace('_', '-')}.svg"] = draw
    return draw


def recurring(n_rows: int = 40_000) -> Stream:
    """SEA that goes to and fro between two concepts."""
    return sea(n_rows, thresholds=(9.0, 4.0), rows_per_concept=8_000, noise=0.05)


def learned(stream: Stream, config: Config | None = None) -> tuple[DEVFNN, dict[str, Any]]:
    """A model that has run over a stream, and the result."""
    model = DEVFNN(config, feature_names=stream.feature_names)
    return model, evaluate(model, stream)


@functools.cache
def default_run() -> dict[str, Any]:
    """The result of the default on the stream that goes to and fro, which several figures show."""
    return learned(recurring())[1]


def axes(*shape: int, size: tuple[float, float], **options: Any) -> Any:
    """Axes of a new figure."""
    return plt.subplots(*shape, figsize=size, layout="constrained", **options)[1]


# ---- drift, votes, recall


@figure
def drift() -> Axes:
    """How often it is right while two concepts come and go."""
    return figures.rate_over_time(default_run())


@figure
def votes() -> Axes:
    """Which layers have a say meanwhile, without a stack, which would take half of the figure."""
    return figures.voting_weights(learned(recurring(), presets.swift())[1])


@figure
def growing_off() -> Axes:
    """The same stream with nothing kept, beside the default."""
    ax = axes(size=(7.0, 2.8))
    without = Config(drift=None, growing=None, merging=None)
    for name, result, colour in (
        ("default", default_run(), BLUE),
        ("growing off", learned(recurring(), without)[1], ORANGE),
    ):
        rows = np.array(result["per_chunk"]["rows"])
        rates = np.array(result["per_chunk"]["accuracy"], float)
        shown = (rows > 15_000) & (rows <= 28_000)
        mean = 100 * result["accuracy_mean"]
        ax.plot(
            rows[shown], 100 * rates[shown], "o-", ms=3, color=colour, label=f"{name}: {mean:.1f} %"
        )
    for row in (16_000, 24_000):
        ax.axvline(row, color=GREY, linestyle="--", linewidth=0.9)
    ax.set(xlabel="rows of the stream", ylabel="accuracy of each chunk (%)")
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    ax.legend(frameon=False, loc="lower right", title="mean over all chunks", title_fontsize=8)
    return ax


@figure
def drift_test() -> Axes:
    """Errors before and after the cut, and the bound between them."""
    rng = np.random.default_rng(0)
    errors = (rng.random(4_000) < np.where(np.arange(4_000) < 2_000, 0.1, 0.2)).astype(np.int64)
    track = np.zeros(4, np.int64)  # what is known of the errors so far
    rows, before, after, bound = [], [], [], []
    for row in range(50, 4_001, 50):
        verdict = drift_in_stream(track, errors[row - 50 : row], 1e-4, 1e-3, one_sided=True)
        if verdict.bound > 0.0:  # else the cut is at the last row, and nothing comes after it
            rows.append(row)
            before.append(verdict.error_before)
            after.append(verdict.error_after)
            bound.append(verdict.error_before + verdict.bound)
        if verdict.level is Level.DRIFT:
            break
    ax = axes(size=(7.0, 2.8))
    ax.plot(rows, 100 * np.array(before), color=GREY, label="errors before the cut")
    ax.plot(rows, 100 * np.array(after), color=BLUE, label="errors after it")
    ax.plot(rows, 100 * np.array(bound), color=ORANGE, linestyle="--", label="what chance explains")
    ax.axvline(2_000, color=GREY, linestyle="--", linewidth=0.9)
    ax.plot(rows[-1], 100 * after[-1], "v", color=RED, ms=8, label=f"drift found, row {rows[-1]:,}")
    ax.set(xlabel="rows", ylabel="share of errors (%)", xlim=(700, 2_200), ylim=(0, 40))
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    ax.legend(frameon=False, ncols=4, loc="lower right", bbox_to_anchor=(1.0, 1.0))
    return ax


# ---- presets


def streams_of_presets() -> dict[str, Stream]:
    """Generated streams with drift and noise, of seeds that no other measurement has."""
    n_rows, options = 20_000, {"rows_per_concept": 5_000, "seed": 11}
    return {
        "SEA": sea(n_rows, **options),
        "hyperplane": hyperplane(n_rows, n_features=10, n_concepts=4, **options),
        "sine": sine(n_rows, noise=0.05, **options),
        "mixed": mixed(n_rows, noise=0.05, **options),
        "Agrawal": agrawal(n_rows, **options),
        "RBF": rbf(n_rows, n_classes=4, seed=11),
    }


def mean_figures(preset: Callable[[], Config], known: list[Stream]) -> dict[str, float]:
    """What a preset reaches on average over streams, after a first use that compiles it."""
    learned(known[0].take(1_000), preset())
    runs = [learned(stream, preset()) for stream in known]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "model")
        sizes = []
        for model, _ in runs:
            model.save(path)
            sizes.append(path.stat().st_size)
    results = [result for _, result in runs]
    means = {
        name: float(np.mean([result[name] for result in results]))
        for name in ("accuracy_mean", "log_loss", "calibration_error")
    }
    speeds = [result["rows_per_second"] for result in results]
    return means | {"rows/s": float(np.exp(np.mean(np.log(speeds)))), "kB": np.mean(sizes) / 1000}


@figure
def tradeoff() -> Axes:
    """Mean accuracy of presets against the rows that they predict and learn in a second."""
    compared = (presets.default, presets.swift, presets.static, presets.paper)
    known = list(streams_of_presets().values())
    ax = axes(size=(6.0, 3.2))
    print("| preset | accuracy | log-loss | calibration error | rows/s | kB of a file |")
    for preset, colour in zip(compared, (BLUE, ORANGE, GREY, INK), strict=True):
        own = mean_figures(preset, known)
        accuracy, speed = 100 * own["accuracy_mean"], own["rows/s"]
        rounded, error = float(f"{speed:.2g}"), 100 * own["calibration_error"]
        print(
            f"| `{preset.__name__}` | {accuracy:.1f} % | {own['log_loss']:.3f} | "
            f"{error:.1f} % | {rounded:,.0f} | {own['kB']:.0f} |"
        )
        ax.plot(speed, accuracy, "o", ms=7, color=colour)
        ax.annotate(preset.__name__, (speed, accuracy), xytext=(8, -3), textcoords="offset points")
    ax.set(xscale="log", xlabel="rows predicted and learned per second")
    ax.set(ylabel="mean accuracy (%)", xlim=(40_000, 500_000), ylim=(76, 90))
    ax.set_xticks([50_000, 100_000, 200_000, 400_000])
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    ax.minorticks_off()
    ax.grid(color=PALE, linewidth=0.5)
    return ax


# ---- layers and rules


def waves(n_rows: int = 20_000) -> Stream:
    """Two features, a sine between the classes; halfway the sides are exchanged."""
    return sine(n_rows, functions=(3, 4), rows_per_concept=n_rows // 2)


@figure
def layers() -> Any:
    """What every layer that does not rest says over the plane, and the answer."""
    stream = waves()
    model = learned(stream)[0]
    grid = np.linspace(0.0, 1.0, 20)
    rows = [[across, up] for up in grid for across in grid]
    reasons = [model.explain(row) for row in rows]
    place = model.classes.index(1)
    said = []
    for each in model.standings():
        if each.state != "rests":
            parts = [next(k for k in why.layers if k.layer == each.layer) for why in reasons]
            shares = np.array([part.probabilities[place] for part in parts])
            said.append((f"{each.name}, counts {each.share:.0%}", shares))
    said.append(("the answer", np.array([each.probabilities[place] for each in reasons])))
    panels = axes(-(-len(said) // 4), 4, size=(9.0, 9.6), sharex=True, sharey=True)
    for ax in panels.flat[len(said) :]:
        ax.axis("off")
    for ax, (name, shares) in zip(panels.flat, said, strict=False):
        ax.imshow(
            shares.reshape(20, 20),
            origin="lower",
            extent=(0, 1, 0, 1),
            cmap="RdBu",
            vmin=0,
            vmax=1,
            interpolation="bilinear",  # few points, since each is explained by all layers
        )
        ax.set_title(name, fontsize=8.5)
        ax.set(xticks=(0, 0.5, 1), yticks=(0, 0.5, 1))
    return panels[0, 0].figure


@figure
def boxes() -> Axes:
    """The IF parts of the boxes, over the rows they have learned."""
    rng = np.random.default_rng(1)
    X = rng.random((20_000, 2))
    y = (np.floor(3 * X[:, 0]) + np.floor(2 * X[:, 1])).astype(int) % 2
    model = DEVFNN(Config().replace(clouds=None), feature_names=["f1", "f2"])
    for first in range(0, len(X), 500):
        model.learn(X[first : first + 500], y[first : first + 500])
    ax = axes(size=(5.4, 4.4))
    ax.scatter(*X[-600:].T, s=6, c=np.where(y[-600:] == 1, BLUE, RED), alpha=0.5, linewidths=0)
    for rule in model.rules():
        if rule.bounds is not None and np.isfinite(rule.bounds).any():
            low, high = np.clip(rule.bounds, 0.0, 1.0).T
            colour = BLUE if rule.label == 1 else RED
            ax.add_patch(Rectangle(low, *(high - low), facecolor=colour, alpha=0.1))
            ax.add_patch(Rectangle(low, *(high - low), fill=False, edgecolor=INK, linewidth=1.2))
    ax.set(xlim=(0, 1), ylim=(0, 1), xlabel="f1", ylabel="f2")
    return ax


def blobs() -> Stream:
    """Rows around eight centres on a ring, the classes in turns."""
    rng = np.random.default_rng(2)
    places = rng.integers(0, 8, 10_000)
    angles = places * np.pi / 4
    centers = np.column_stack([np.cos(angles), np.sin(angles)])
    X = centers + rng.normal(0.0, 0.13, centers.shape)
    return from_arrays(X, places % 2, feature_names=["f1", "f2"])


@figure
def clouds() -> Axes:
    """Clouds of a model that has them, over the latest rows."""
    stream = blobs()
    model = learned(stream, presets.swift())[0]  # they do not rest there
    chunk = list(stream)[-1]
    kinds = {layer.layer: layer.kind for layer in model.explain(chunk.X[0]).layers}
    shown = [rule for rule in model.rules() if kinds[rule.layer] == "clouds" and rule.n_rows >= 20]
    names = (stream.feature_names[0], stream.feature_names[1])
    return figures.rule_ellipses(shown, names, X=chunk.X, y=chunk.y)


@figure
def scaling() -> Axes:
    """Accuracy while a feature changes its unit."""
    rng = np.random.default_rng(0)
    X = rng.random((20_000, 2))
    y = X.sum(axis=1) > 1.0
    X[10_000:, 0] = 32.0 + 1.8 * X[10_000:, 0]  # as from degrees Celsius to Fahrenheit
    ax = figures.rate_over_time(evaluate(DEVFNN(), from_arrays(X, y, chunk_rows=250)))
    ax.axvline(10_000, color=GREY, linestyle="--", linewidth=0.9)
    return ax


# ---- the stacked network of the paper


@figure
def stacked() -> Any:
    """Layers and rules of the paper's network over a stream with drift."""
    result = learned(recurring(), presets.stacked())[1]
    return figures.run_overview(result)


def kinds() -> Stream:
    """Three classes, each around a centre of its own."""
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 3, 10_000)
    X = np.array([[1.0, 1.0], [3.0, 1.5], [2.0, 3.0]])[labels] + rng.normal(0.0, 0.35, (10_000, 2))
    names = np.array(["apple", "plum", "pear"])
    return from_arrays(X, names[labels], feature_names=["width", "height"])


@figure
def membership() -> Axes:
    """How far values of a feature belong to the rules of a stacked layer."""
    model = learned(kinds(), presets.stacked())[0]
    rules = [rule for rule in model.rules() if rule.layer == _most_rules(model)]
    return figures.membership_curves(rules, model.feature_names[0])


@figure
def ellipses() -> Axes:
    """The same rules over two features."""
    stream = kinds()
    model = learned(stream, presets.stacked())[0]
    chunk = list(stream)[-1]
    rules = [rule for rule in model.rules() if rule.layer == _most_rules(model)]
    names = (stream.feature_names[0], stream.feature_names[1])
    return figures.rule_ellipses(rules, names, X=chunk.X, y=chunk.y)


def _most_rules(model: DEVFNN) -> int:
    counts: dict[int, int] = {}
    for rule in model.rules():
        counts[rule.layer] = counts.get(rule.layer, 0) + 1
    return max(counts, key=lambda layer: counts[layer])


# ---- labels and reasons


@figure
def label_choice() -> Axes:
    """Where the rows lie whose labels are asked for."""
    stream = sea(10_000, thresholds=(8.0,), noise=0.05)
    model = DEVFNN(feature_names=stream.feature_names)
    for _ in iter_prequential(model, stream):
        pass
    chunk = list(stream)[-1]
    wanted = model.wants_label(chunk.X)
    ax = axes(size=(5.0, 4.2))
    ax.scatter(*chunk.X[~wanted, :2].T, s=9, color=SKY, linewidths=0, label="label not needed")
    ax.scatter(*chunk.X[wanted, :2].T, s=12, color=RED, linewidths=0, label="label wanted")
    ax.plot([0, 8], [8, 0], color=INK, linewidth=1.0, label="the boundary")
    ax.set(xlim=(0, 10), ylim=(0, 10), xlabel="f1", ylabel="f2")
    ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3, frameon=False)
    return ax


@figure
def explanation() -> Axes:
    """What each feature adds to a prediction."""
    stream = sea(20_000, thresholds=(8.0,), noise=0.05)
    row = [1.0, 4.5, 7.0]
    why = learned(stream)[0].explain(row)
    parts = why.contributions()
    names = [f"{name} = {row[stream.feature_names.index(name)]:g}" for name in parts]
    place = why.labels.index(why.label)
    rest = sum(
        layer.voting_weight * (layer.bias[place] - np.delete(layer.bias, place).mean())
        for layer in why.layers
    )
    names, values = ["what needs no feature", *names], [rest, *parts.values()]
    ax = axes(size=(6.4, 2.2))
    ax.barh(names[::-1], values[::-1], color=[BLUE if each > 0 else RED for each in values[::-1]])
    ax.axvline(0.0, color=INK, linewidth=0.8)
    ax.grid(axis="x", color=PALE, linewidth=0.5)
    ax.set_xlabel(f"log odds for class {why.label} ({why.probabilities.max():.0%})")
    return ax


# ---- all of them


def main() -> None:
    """Make all figures, or those that are named."""
    FOLDER.mkdir(exist_ok=True)
    wanted = {f"{name}.svg" for name in sys.argv[1:]}
    for name, draw in OWN.items():
        if not wanted or name in wanted:
            make(name, draw)
    if wanted:
        return
    for page in pages.PAGES:
        if pages.figures_of(page):
            take_from(page)


def make(name: str, draw: Draw) -> None:
    """Draw a figure in the style of the package, and save it."""
    start = time.perf_counter()
    with matplotlib.rc_context(STYLE):
        figures.save(draw(), FOLDER / name)
    plt.close("all")
    print(f"{name} ({time.perf_counter() - start:.1f} s)")


def take_from(page: str) -> None:
    """Run a page, and keep the figures it saves; without its data set, a word instead."""
    start = time.perf_counter()
    wanted = [name for name in pages.figures_of(page) if name not in OWN]
    if not wanted:
        return
    with tempfile.TemporaryDirectory() as folder:
        try:
            pages.outputs_of(page, pathlib.Path(folder))
        except RuntimeError as error:
            if "DataError" not in str(error):
                raise
            for name in wanted:
                _draw_absence(name)
            print(f"{page}: without its figures, since the data set is not here")
            return
        for name in wanted:
            (FOLDER / name).write_bytes(pathlib.Path(folder, name).read_bytes())
    print(f"{page}: {', '.join(wanted)} ({time.perf_counter() - start:.1f} s)")


def _draw_absence(name: str) -> None:
    ax = axes(size=(6.0, 1.0))
    ax.axis("off")
    ax.text(0.5, 0.5, "made when the data set is there", ha="center", va="center", color=GREY)
    figures.save(ax, FOLDER / name)
    plt.close("all")


if __name__ == "__main__":
    main()
