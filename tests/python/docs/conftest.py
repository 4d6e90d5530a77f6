# mypy: disable-error-code="import-not-found"
import sys
from pathlib import Path

# The benches are no part of the package: they run from their folder.
sys.path.insert(0, str(Path(__file__).parents[3] / "bench"))
