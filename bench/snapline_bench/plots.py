"""Drawings of a bench's figures as SVG. Text and lines take the colour of the page: dark and light are readable."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from html import escape
from typing import Any

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import LogLocator, NullFormatter

from snapline_bench.page import ours

# Stands for the colour of the page's text, which matplotlib cannot know.
INK = "#010203"
OURS = "#3b82d6"
THEIRS = "#8f98a5"
COLOURS = ("#3b82d6", "#d9772b", "#3f9f66", "#a06cc4")
# A figure that tells how the bench was run, and not what it found.
ASIDE = {"others", "rows", "epochs", "kills", "batches", "windows"}
MOST = 4

matplotlib.rcParams.update(
    {
        "svg.fonttype": "none",
        "font.family": "sans-serif",
        "font.size": 9,
        "text.color": INK,
        "axes.labelcolor": INK,
        "axes.edgecolor": INK,
        "xtick.color": INK,
        "ytick.color": INK,
        "axes.linewidth": 0.6,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.titlesize": 10,
        "legend.frameon": False,
        "svg.hashsalt": "snapline",
    }
)

Bench = dict[str, Any]


def plots(bench: Bench) -> list[str]:
    drawn = bench["drawn"]
    if any("samples" in each for each in drawn):
        return [of_samples(bench, each["samples"], name) for each in drawn for name in sampled(bench, each["samples"])]
    if any("points" in each for each in drawn):
        return scaling([(each["provider"], each["points"]) for each in drawn])
    return [bars(bench, name) for name in telling(bench)]


def telling(bench: Bench) -> list[str]:
    """Figures with a goal first, then the first of the others; none that only one provider has."""
    if len(bench["rows"]) < 2:
        return []
    names = [goal["figure"] for goal in bench["goals"]] + list(bench["figures"])
    return [name for name in dict.fromkeys(names) if name not in ASIDE and name in bench["figures"]][:MOST]


def bars(bench: Bench, name: str) -> str:
    rows = [row for row in bench["rows"] if row["median"].get(name) is not None]
    values = [row["median"][name] for row in rows]
    figure, axes = plt.subplots(figsize=(4.3, 0.5 + 0.3 * len(rows)), layout="constrained")
    labels = [row["provider"] for row in rows]
    colours = [OURS if ours(label) else THEIRS for label in labels]
    drawn = axes.barh(labels, values, color=colours, height=0.65)
    if values and min(values) > 0 and max(values) / min(values) > 100:
        axes.set_xscale("log")
    axes.invert_yaxis()
    axes.bar_label(drawn, [f" {value:,.3g}" if value < 100 else f" {value:,.0f}" for value in values], fontsize=8)
    axes.margins(x=0.22)
    axes.set_title(bench["figures"][name], loc="left")
    axes.tick_params(left=False)
    axes.locator_params(axis="x", nbins=4) if axes.get_xscale() == "linear" else None
    return svg(figure, f"{bench['name']}: {bench['figures'][name]}")


def sampled(bench: Bench, samples: list[dict[str, Any]]) -> list[str]:
    return [name for name in bench["figures"] if any(sample.get(name) is not None for sample in samples)]


def of_samples(bench: Bench, samples: list[dict[str, Any]], name: str) -> str:
    title = bench["figures"][name]
    unit = 1e6 if title.endswith("MB") else 1
    figure, axes = plt.subplots(figsize=(4.3, 1.9), layout="constrained")
    lives = sorted({sample["life"] for sample in samples})
    for life in lives:
        mine = [sample for sample in samples if sample["life"] == life and sample.get(name) is not None]
        at = [sample["at"] / 60 for sample in mine]
        axes.plot(at, [sample[name] / unit for sample in mine], color=OURS, linewidth=1, marker=".", markersize=2)
    for life in lives[1:]:
        born = min(sample["at"] for sample in samples if sample["life"] == life) / 60
        axes.axvline(born, color=INK, linewidth=0.5, linestyle=":", alpha=0.6)
    axes.set_ylim(0, 1.15 * max(sample[name] / unit for sample in samples if sample.get(name) is not None) or 1)
    axes.set_title(title, loc="left")
    axes.set_xlabel("minutes; dotted: first batch after a kill")
    return svg(figure, f"{bench['name']}: {title} over time")


def scaling(providers: list[tuple[str, list[dict[str, Any]]]]) -> list[str]:
    def along(axis: str) -> Callable[[Axes], None]:
        def draw(axes: Axes) -> None:
            for (name, points), colour in zip(providers, COLOURS, strict=False):
                line = sorted((each for each in points if axis in each["along"]), key=lambda each: each[axis])
                at = [each[axis] for each in line]
                axes.plot(at, [each["wall_ms"] for each in line], color=colour, marker="o", markersize=3.5, label=name)
                axes.plot(at, [each["model_ms"] for each in line], color=colour, linewidth=0.8, linestyle="--")
            axes.set_xscale("log")
            plain_log(axes.xaxis)
            axes.set_yscale("log")
            plain_log(axes.yaxis)
            axes.set_xlabel(f"{axis}; dashed: the model")
            axes.set_ylabel("batch, ms")
            axes.legend(fontsize=8)

        return draw

    def model(axes: Axes) -> None:
        for (name, points), colour in zip(providers, COLOURS, strict=False):
            fitted = [each for each in points if not each["held_out"]]
            kept = [each for each in points if each["held_out"]]
            axes.scatter(
                [p["wall_ms"] for p in fitted], [p["model_ms"] for p in fitted], color=colour, s=14, label=name
            )
            axes.scatter(
                [p["wall_ms"] for p in kept], [p["model_ms"] for p in kept], facecolors="none", edgecolors=colour, s=60
            )
        every = [p["wall_ms"] for _, points in providers for p in points]
        axes.plot([min(every), max(every)], [min(every), max(every)], color=INK, linewidth=0.6)
        axes.set_xscale("log")
        plain_log(axes.xaxis)
        axes.set_yscale("log")
        plain_log(axes.yaxis)
        axes.set_xlabel("measured, ms; ring: held out")
        axes.set_ylabel("model, ms")
        axes.legend(fontsize=8)

    drawings = (
        ("time of a batch by partitions", along("partitions")),
        ("time of a batch by keys in the state", along("keys")),
        ("what the model says, and what was measured", model),
    )
    made = []
    for title, draw in drawings:
        figure, axes = plt.subplots(figsize=(5, 3.2), layout="constrained")
        draw(axes)
        axes.set_title(title, loc="left")
        made.append(svg(figure, title))
    return made


def plain_log(axis: Axis) -> None:
    """Numbers as people write them, a few to a decade."""
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if axis.axis_name == "y" else (1,)))
    axis.set_major_formatter("{x:,.0f}")
    axis.set_minor_formatter(NullFormatter())


def svg(figure: Any, label: str) -> str:
    """To stand in a page: without a header, and with names that no other drawing of the page has."""
    out = io.StringIO()
    figure.savefig(out, format="svg", transparent=True, metadata={"Date": None})
    plt.close(figure)
    text = out.getvalue()
    text = text[text.index("<svg") :].replace(INK, "currentColor")
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    mark = re.sub(r"\W+", "-", label)
    text = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{mark}-", text)
    return text.replace("<svg ", f'<svg role="img" aria-label="{escape(label)}" ', 1)
