# mypy: disable-error-code="import-not-found"
import random

from snapline_bench.growth import Census, Held, growing, parse_histogram


def censuses(grows: float) -> list[Census]:
    """Of a heap of a hundred MB: what a batch adds drowns in it."""
    chance = random.Random(3)
    found = []
    for batch in range(100, 1000, 30):
        entries = 1_000 + int(grows * batch)
        noise = 500_000 + chance.randrange(100_000)
        classes = {
            "Entry": Held(entries, entries * 24),
            "[B": Held(noise, noise * 100),
            "Filled": Held(min(batch, 300) * 10, min(batch, 300) * 400),
            "OncePerRun": Held(7 if batch < 500 else 8, 70),
            "SawTooth": Held(batch % 400, batch % 400 * 16),
        }
        found.append(Census(batch, classes))
    return found


def test_four_objects_a_batch_show_beside_a_heap_that_hides_their_bytes() -> None:
    (found,) = growing(censuses(grows=4.0))
    assert found.name == "Entry"
    assert abs(found.objects - 4) < 0.1
    assert abs(found.bytes - 96) < 2
    assert abs(found.mb_a_day - 96 * 86_400 / 1e6) < 0.2


def test_what_is_flat_filled_up_or_goes_up_and_down_is_none() -> None:
    assert growing(censuses(grows=0.0)) == []
    assert growing(censuses(grows=4.0)[:5]) == []


def test_the_jvms_table_is_read() -> None:
    text = """ num     #instances         #bytes  class name (module)
-------------------------------------------------------
   1:         11230        1324560  [B (java.base@17.0.15)
   2:           318          10176  io.snapline.snapshot.format.VersionRef
Total         11548        1334736
"""
    assert parse_histogram(text) == {
        "[B": Held(11230, 1324560),
        "io.snapline.snapshot.format.VersionRef": Held(318, 10176),
    }
