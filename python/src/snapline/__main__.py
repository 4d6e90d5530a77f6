"""``python -m snapline``."""

from snapline.cli import main

main()
