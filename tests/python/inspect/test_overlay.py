from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from snapline.format import Entry, Operation
from snapline.inspect.overlay import Overlay

from .builder import ROWS, apply

KEYS = st.binary(max_size=2)
ENTRIES = st.lists(st.builds(Entry, st.just(0), st.sampled_from(Operation), KEYS, st.binary(max_size=2)), max_size=30)


@given(st.dictionaries(KEYS, st.binary(max_size=3), max_size=20), ENTRIES)
def test_equals_a_map_that_took_the_same_entries(base: dict[bytes, bytes], entries: list[Entry]) -> None:
    expected: ROWS = {(0, key): value for key, value in base.items()}
    overlay = Overlay()
    for entry in entries:
        apply(expected, entry)
        overlay.apply(entry)
    got = list(overlay.over(sorted(base.items())))
    assert got == sorted((key, value) for (_, key), value in expected.items())


def test_a_range_leaves_the_first_key_after_it() -> None:
    overlay = Overlay()
    overlay.apply(Entry(0, Operation.DELETE_RANGE, b"b", b"d"))
    assert list(overlay.over([(b"a", b""), (b"b", b""), (b"c\xff", b""), (b"d", b"")])) == [(b"a", b""), (b"d", b"")]
