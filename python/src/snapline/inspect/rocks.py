"""Rows of a RocksDB folder, read-only."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from rocksdict import AccessType, Options, Rdict

from snapline.errors import CheckpointDamaged

# RocksDB forgets in its OPTIONS file that the backend appends without a delimiter, and would put commas.
_APPEND = re.compile(rb"^(\s*merge_operator\s*=\s*)StringAppendOperator\s*$", re.MULTILINE)
_APPEND_PLAINLY = rb"\1{id=StringAppendOperator;delimiter=;}"

_DEFAULT_FAMILY = "default"


class RocksSnapshot:
    """Owns the database, not the folder; changes the OPTIONS file in it.

    Raises:
        CheckpointDamaged: RocksDB does not open it.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        try:
            self._names = set(Rdict.list_cf(str(folder)))
            self._db = Rdict(
                str(folder),
                Options(raw_mode=True),
                column_families=self._family_options(),
                access_type=AccessType.read_only(False),
            )
        except Exception as e:  # rocksdict raises nothing narrower
            raise self._damaged(e) from e

    def __enter__(self) -> RocksSnapshot:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._db.close()

    def rows(self, family: str) -> Iterator[tuple[bytes, bytes]]:
        """In the order of their keys; none for a family that has no column family yet.

        Raises:
            CheckpointDamaged: RocksDB cannot read them.
        """
        if family not in self._names:
            return
        column = self._db if family == _DEFAULT_FAMILY else self._db.get_column_family(family)
        # Not items(): it ends without a word where RocksDB reports an error.
        rows = column.iter()
        rows.seek_to_first()
        while rows.valid():
            yield rows.key(), rows.value()
            rows.next()
        try:
            rows.status()
        except Exception as e:  # as above
            raise self._damaged(e) from e

    def _family_options(self) -> dict[str, Options]:
        """As the backend wrote them: they name the operator that puts merged values together."""
        written = sorted(self._folder.glob("OPTIONS-*"))
        if not written:
            return {name: Options(raw_mode=True) for name in self._names}
        for path in written:
            path.write_bytes(_APPEND.sub(_APPEND_PLAINLY, path.read_bytes()))
        return Options.load_latest(str(self._folder), ignore_unknown_options=True)[1]

    def _damaged(self, error: Exception) -> CheckpointDamaged:
        return CheckpointDamaged(
            f"RocksDB cannot read a snapshot whose files all pass their checks: {error}.",
            "use a version that an older snapshot serves, and report it: this must not happen.",
        )
