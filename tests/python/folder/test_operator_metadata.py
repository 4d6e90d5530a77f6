from __future__ import annotations

from snapline.folder.operator_metadata import prune_operator_metadata

from .fakes import FakeFiles


def test_the_first_of_equal_ones_stays() -> None:
    files = FakeFiles()
    texts = {0: b"two", 1: b"two", 3: b"two", 4: b"three", 10: b"three", 11: b"two"}
    for batch, text in texts.items():
        files.put(f"state/0/_metadata/v2/{batch}", text)
        files.put(f"state/5/_metadata/v2/{batch}", b"one")
    others = {"state/0/_metadata/metadata": b"two", "state/7/0/1_x.handle": b"two", "offsets/1": b"two"}
    for name, text in others.items():
        files.put(name, text)
    prune_operator_metadata(files)
    assert files.files == {
        **others,
        "state/0/_metadata/v2/0": b"two",
        "state/0/_metadata/v2/4": b"three",
        "state/0/_metadata/v2/11": b"two",
        "state/5/_metadata/v2/0": b"one",
    }


def test_there_may_be_none() -> None:
    prune_operator_metadata(FakeFiles())
