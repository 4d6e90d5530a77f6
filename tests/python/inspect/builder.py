"""Makes checkpoint folders: Spark's files as Spark 4.2 writes them, and stores as docs/FORMAT.md says."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from rocksdict import Checkpoint, Options, Rdict

from snapline.format import Entry, Family, Kind, Operation, TableFile, VersionRef

from ..format.writer import RUN, crc, make_ref, make_uid, write_changelog, write_handle

PROVIDER = "io.snapline.spark.SnaplineStateStoreProvider"
ROWS = dict[tuple[int, bytes], bytes]


def put(key: bytes, value: bytes, family: int = 0) -> Entry:
    return Entry(family, Operation.PUT, key, value)


def delete(key: bytes, family: int = 0) -> Entry:
    return Entry(family, Operation.DELETE, key, b"")


class StoreBuilder:
    """One store. Keeps what it should hold in ``rows``, by version."""

    def __init__(self, folder: Path, families: Sequence[str] = ("default",)) -> None:
        self.folder = folder
        self.names = list(families)
        self.newest: VersionRef | None = None
        self.snapshot: VersionRef | None = None
        self.history: dict[int, ROWS] = {0: {}}
        self.rows: ROWS = {}
        self.known: dict[str, TableFile] = {}
        self.distance = 0
        self._scratch = TemporaryDirectory()
        self._db = Rdict(f"{self._scratch.name}/db", Options(raw_mode=True))
        for name in {*families} - {"default"}:
            self._db.create_column_family(name, Options(raw_mode=True))
        (folder / "sst").mkdir(parents=True)

    def commit(self, *entries: Entry, attempt: int = 0) -> VersionRef:
        """Writes the next version's changelog."""
        ref = make_ref(self.newest.version + 1 if self.newest else 1, attempt)
        for entry in entries:
            apply(self.rows, entry)
        self._follow(self.history[ref.version - 1])
        self.history[ref.version] = dict(self.rows)
        self.distance += 1
        data = write_changelog(
            ref, self.newest, [entries], self.families, snapshot=self.snapshot, distance=self.distance
        )
        self.path(ref, Kind.CHANGELOG).write_bytes(data)
        self.newest = ref
        return ref

    def take_snapshot(self) -> VersionRef:
        """Writes the handle of the newest version, and the table files that no handle named before."""
        assert self.newest is not None
        for name in {"default", *self.names}:
            self._column(name).flush()
        with TemporaryDirectory() as scratch:
            copy = Path(scratch) / "copy"
            Checkpoint(self._db).create_checkpoint(str(copy))
            tables, fresh = [], []
            for path in sorted(copy.glob("*.sst")):
                if path.name not in self.known:
                    fresh.append(self._upload(path))
                tables.append(self.known[path.name])
            local = {
                path.name: path.read_bytes()
                for pattern in ("CURRENT", "MANIFEST-*", "OPTIONS-*")
                for path in sorted(copy.glob(pattern))
            }
        data = write_handle(self.newest, tables, local, self.families, uploaded=fresh)
        self.path(self.newest, Kind.HANDLE).write_bytes(data)
        self.snapshot, self.distance = self.newest, 0
        return self.newest

    @property
    def families(self) -> list[Family]:
        return [
            Family(number, name, sum(family == number for family, _ in self.rows), name != "timers", False, False)
            for number, name in enumerate(self.names)
        ]

    def path(self, ref: VersionRef, kind: Kind) -> Path:
        return self.folder / ref.file_name(kind)

    def close(self) -> None:
        self._db.close()
        self._scratch.cleanup()

    def _upload(self, path: Path) -> TableFile:
        data = path.read_bytes()
        uid = make_uid(1_770_000_000_000 + int(path.stem) * 10 + len(self.known))
        table = TableFile(path.name, uid, len(data), crc(data))
        (self.folder / table.stored_name).write_bytes(data)
        self.known[path.name] = table
        return table

    def _column(self, name: str) -> Rdict:
        return self._db if name == "default" else self._db.get_column_family(name)

    def _follow(self, before: ROWS) -> None:
        for (family, key), value in self.rows.items():
            if before.get((family, key)) != value:
                self._column(self.names[family])[key] = value
        for family, key in before.keys() - self.rows.keys():
            del self._column(self.names[family])[key]


def apply(rows: ROWS, entry: Entry) -> None:
    """One entry on a plain map: the meaning of docs/FORMAT.md, section 3."""
    at = (entry.family, entry.key)
    if entry.operation is Operation.PUT:
        rows[at] = entry.value
    elif entry.operation is Operation.DELETE:
        rows.pop(at, None)
    elif entry.operation is Operation.MERGE:
        rows[at] = rows.get(at, b"") + entry.value
    elif entry.operation is Operation.DELETE_RANGE:
        for other in [o for o in rows if o[0] == entry.family and entry.key <= o[1] < entry.value]:
            del rows[other]


class CheckpointBuilder:
    """A whole checkpoint folder, stores and Spark's part."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name in ("offsets", "commits", "state"):
            (root / name).mkdir(parents=True)
        (root / "metadata").write_text(json.dumps({"id": RUN}))
        self.stores: list[StoreBuilder] = []

    def add_operator(self, number: int, name: str, partitions: int, stores: Sequence[str] = ("default",)) -> None:
        folder = self.root / "state" / str(number) / "_metadata"
        folder.mkdir(parents=True)
        info = {
            "operatorInfo": {"operatorId": number, "operatorName": name},
            "stateStoreInfo": [
                {"storeName": store, "numColsPrefixKey": 0, "numPartitions": partitions} for store in stores
            ],
        }
        (folder / "metadata").write_text("v1\n" + json.dumps(info))

    def add_store(
        self, operator: int, partition: int, name: str = "default", families: Sequence[str] = ("default",)
    ) -> StoreBuilder:
        folder = self.root / "state" / str(operator) / str(partition)
        store = StoreBuilder(folder if name == "default" else folder / name, families)
        self.stores.append(store)
        return store

    def finish_batch(self, batch: int, *, ids: Mapping[int, list[list[str]]] | None = None, done: bool = True) -> None:
        """Writes the offsets entry, and the commit if the batch is done."""
        conf = {"spark.sql.streaming.stateStore.providerClass": PROVIDER, "spark.sql.shuffle.partitions": "2"}
        head = json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": 1, "conf": conf})
        (self.root / "offsets" / str(batch)).write_text(f'v1\n{head}\n{{"offset":{batch}}}')
        if done:
            commit = {"nextBatchWatermarkMs": 0} | ({"stateUniqueIds": ids} if ids else {})
            (self.root / "commits" / str(batch)).write_text(f"v{2 if ids else 1}\n{json.dumps(commit)}")
        (self.root / "commits" / f".{batch}.crc").write_bytes(b"crc")

    def close(self) -> None:
        for store in self.stores:
            store.close()


def build_sample(root: Path, *, batches: int = 6, snapshots: Sequence[int] = (3, 5)) -> CheckpointBuilder:
    """Two operators as a windowed count and a join would have, two partitions each."""
    checkpoint = CheckpointBuilder(root)
    checkpoint.add_operator(0, "stateStoreSave", 2)
    checkpoint.add_operator(1, "symmetricHashJoin", 2, ["left", "right"])
    for partition in range(2):
        checkpoint.add_store(0, partition, families=("default", "timers"))
        checkpoint.add_store(1, partition, "left")
        checkpoint.add_store(1, partition, "right")
    for batch in range(batches):
        for number, store in enumerate(checkpoint.stores):
            rows = [put(f"key-{batch}-{i}".encode(), f"{number}-{batch}".encode() * 20) for i in range(40)]
            timers = [put(bytes([batch]), b"", family=1)] if len(store.names) > 1 else []
            store.commit(*rows, delete(f"key-{batch - 1}-0".encode()), *timers)
            if batch + 1 in snapshots:
                store.take_snapshot()
        checkpoint.finish_batch(batch)
    return checkpoint
