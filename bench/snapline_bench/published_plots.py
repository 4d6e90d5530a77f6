"""A bar plot of each recorded result, and one of the README's figures. Needs matplotlib.

`python -m snapline_bench.published_plots RECORDED FOLDER README IMAGE`
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import matplotlib.pyplot as plt

from snapline_bench.plots import OURS, bars, svg, telling
from snapline_bench.readme_table import figures

# Readable on a light ground and on a dark one: a picture that a page shows does not know the page's colour.
GREY = "#7d8590"


def main(recorded: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted(recorded.glob("*.json")):
        result = json.loads(path.read_text())
        names = telling(result)
        if names:
            drawing = bars(result, names[0]).replace("currentColor", GREY)
            (folder / f"{path.stem}.svg").write_text(drawing + "\n")


def draw_readme(readme: Path, image: Path) -> None:
    """Spark's value by Snapline's, for each row of the README's table."""
    rows = figures(readme)
    figure, axes = plt.subplots(figsize=(7.2, 0.6 + 0.28 * len(rows)), layout="constrained")
    drawn = axes.barh([row.title for row in rows], [row.ratio for row in rows], color=OURS, height=0.65)
    axes.axvline(1, color=GREY, linewidth=0.6, linestyle=":")
    axes.invert_yaxis()
    axes.bar_label(drawn, [f" {row.ratio:.2g}x" for row in rows], fontsize=8)
    axes.margins(x=0.15)
    axes.set_title("Spark's figure by Snapline's", loc="left")
    axes.tick_params(left=False)
    image.write_text(svg(figure, "Spark's figures by Snapline's").replace("currentColor", GREY) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
    draw_readme(Path(sys.argv[3]), Path(sys.argv[4]))
