"""The look that figures share, and how they are saved."""

import re
import warnings
import xml.etree.ElementTree

import matplotlib
import matplotlib.pyplot
import pytest
from matplotlib.figure import Figure

from devfnn.errors import InputError
from devfnn.figures import (
    as_svg,
    confusion_matrix,
    critical_difference,
    feature_mask,
    rate_over_time,
    run_overview,
    save,
    voting_weights,
)
from devfnn.figures.style import LONGEST_NAME, STYLE, label, text_width
from figures import made

FIRST_BYTES = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}


def ids(svg):
    """Ids of the elements of an SVG."""
    return re.findall(r' id="([^"]*)"', svg)


@pytest.mark.parametrize(
    ("draw", "suffix"),
    [
        (rate_over_time, ".png"),
        (rate_over_time, ".svg"),
        (rate_over_time, ".pdf"),
        (feature_mask, ".PNG"),
        (feature_mask, ".svg"),
        (feature_mask, ".pdf"),
    ],
)
def test_the_suffix_chooses_the_format_and_the_same_figure_gives_the_same_bytes(
    tmp_path, draw, suffix
):
    one, other = (tmp_path / f"{name}{suffix}" for name in ("one", "other"))
    for path in (one, other):
        save(draw(made.result()), path)
    assert one.read_bytes().startswith(FIRST_BYTES[suffix.lower()])
    assert one.read_bytes() == other.read_bytes()


def test_png_files_have_200_dots_per_inch(tmp_path):
    ax = rate_over_time(made.result())
    save(ax, tmp_path / "figure.png")
    width = int.from_bytes((tmp_path / "figure.png").read_bytes()[16:20], "big")
    assert width == 200 * ax.figure.get_figwidth()


def test_a_figure_and_its_axes_are_saved_alike(tmp_path):
    ax = rate_over_time(made.result())
    save(ax, tmp_path / "axes.png")
    save(ax.figure, tmp_path / "figure.png")
    assert (tmp_path / "axes.png").read_bytes() == (tmp_path / "figure.png").read_bytes()


def test_axes_of_a_part_of_a_figure_are_saved_as_the_whole(tmp_path):
    figure = Figure(figsize=(4, 2))
    part = figure.subfigures(1, 2)[0]
    ax = rate_over_time(made.result(), ax=part.subplots())
    save(ax, tmp_path / "axes.png")
    save(part, tmp_path / "part.png")
    save(figure, tmp_path / "figure.png")
    assert len({path.read_bytes() for path in tmp_path.iterdir()}) == 1


@pytest.mark.parametrize("name", ["figure.jpg", "figure", "figure.png.txt"])
def test_an_unknown_format_is_refused_with_the_known_ones(tmp_path, name):
    with pytest.raises(InputError, match=r"\.png, \.svg or \.pdf"):
        save(rate_over_time(made.result()), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_does_not_exist_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"folder of .* does not exist: make it"):
        save(rate_over_time(made.result()), tmp_path / "none" / "figure.png")


def test_a_file_that_cannot_be_written_is_refused(tmp_path):
    (tmp_path / "figure.png").mkdir()
    with pytest.raises(InputError, match="cannot write"):
        save(rate_over_time(made.result()), tmp_path / "figure.png")


def test_svg_for_a_page_is_one_element_with_text_that_can_be_found():
    svg = as_svg(rate_over_time(made.result()))
    assert svg.startswith("<svg")
    assert svg.endswith("</svg>")
    assert "<metadata" not in svg
    root = xml.etree.ElementTree.fromstring(svg)
    texts = {"".join(each.itertext()) for each in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {"accuracy", "rows of the stream", "drift found", "2,000"} <= texts


def test_saved_svg_does_not_depend_on_the_fonts_of_the_reader(tmp_path):
    save(rate_over_time(made.result()), tmp_path / "figure.svg")
    assert "<text" not in (tmp_path / "figure.svg").read_text()


@pytest.mark.parametrize("draw", [rate_over_time, feature_mask, voting_weights])
def test_ids_of_two_figures_on_a_page_differ(draw):
    first, second = (as_svg(draw(made.result()), hashsalt=name) for name in ("one", "other"))
    assert set(ids(first)).isdisjoint(ids(second))
    assert len(ids(first)) == len(set(ids(first))) > 0
    assert as_svg(draw(made.result()), hashsalt="one") == first


def test_what_an_svg_refers_to_is_in_it():
    svg = as_svg(run_overview(made.result()))
    assert set(re.findall(r"#([a-z]\w{8,})[)\"]", svg)) <= set(ids(svg))


def test_names_with_dollar_signs_control_codes_and_angle_brackets_are_shown():
    names = ["$x^2$ \x00 <b>", "a\nb"]
    svg = as_svg(confusion_matrix(made.result(class_names=names)))
    root = xml.etree.ElementTree.fromstring(svg)
    texts = ["".join(each.itertext()) for each in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "$x^2$ \ufffd <b>" in texts
    assert "a b" in texts


def test_letters_that_the_font_lacks_are_left_to_the_browser():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        svg = as_svg(critical_difference(made.ranking([1.0, 2.0], names=["模型", "model"])))
    assert "模型" in svg


def test_the_settings_of_the_user_do_not_change_the_look(tmp_path):
    save(rate_over_time(made.result()), tmp_path / "plain.png")
    odd = {"font.size": 30, "lines.linewidth": 9, "savefig.bbox": "tight", "figure.dpi": 30}
    odd |= {"axes.facecolor": "black", "figure.facecolor": "black", "text.color": "white"}
    with matplotlib.rc_context(odd):
        save(rate_over_time(made.result()), tmp_path / "odd.png")
    assert (tmp_path / "odd.png").read_bytes() == (tmp_path / "plain.png").read_bytes()


def test_the_style_is_in_force_only_while_drawing():
    with matplotlib.rc_context({"font.size": 31.0}):
        with pytest.raises(InputError):
            rate_over_time({})
        ax = rate_over_time(made.result())
        assert matplotlib.rcParams["font.size"] == 31.0
    assert ax.xaxis.label.get_fontsize() == STYLE["axes.labelsize"]


@pytest.mark.parametrize("name", ["short", "x" * LONGEST_NAME, "first " + "x" * 60 + " last"])
def test_long_names_lose_their_middle(name):
    shown = label(name)
    assert len(shown) <= LONGEST_NAME
    assert (shown == name) == (len(name) <= LONGEST_NAME)
    assert shown[:5] == name[:5]
    assert shown[-4:] == name[-4:]


def test_text_is_as_wide_as_it_is_drawn():
    text = Figure(dpi=720).text(0, 0, "a line of text", fontsize=9)
    width = text.get_window_extent().width / 10.0
    assert text_width("a line of text", 9) == pytest.approx(width, rel=0.02)
