"""A bar plot of each recorded result: `python -m snapline_bench.published_plots RECORDED FOLDER`. Needs matplotlib."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from snapline_bench.plots import bars, telling

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


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
