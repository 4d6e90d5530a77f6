from __future__ import annotations

import pickle

import pytest

from snapline import errors

KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.SnaplineError)]
CODES = {
    "CheckpointDamaged": "SNAPLINE-DAMAGED",
    "StateNotFound": "SNAPLINE-NOT-FOUND",
    "NotACheckpoint": "SNAPLINE-NOT-A-CHECKPOINT",
    "IncompatibleState": "SNAPLINE-INCOMPATIBLE",
    "UnsupportedVersion": "SNAPLINE-VERSION",
    "WrongSparkVersion": "SNAPLINE-SPARK",
    "InvalidConfiguration": "SNAPLINE-CONFIG",
    "StorageFailure": "SNAPLINE-STORAGE",
    "QueryTakenOver": "SNAPLINE-TAKEN-OVER",
    "StoreClosed": "SNAPLINE-CLOSED",
    "StateTooLarge": "SNAPLINE-TOO-LARGE",
    "FunctionNotDeterministic": "SNAPLINE-NOT-DETERMINISTIC",
    "InternalError": "SNAPLINE-INTERNAL",
}


def test_names_and_codes_are_those_of_the_jar() -> None:
    assert {kind.__name__: kind.code for kind in KINDS if kind is not errors.SnaplineError} == CODES


@pytest.mark.parametrize("kind", KINDS)
def test_message_has_code_what_was_found_and_what_to_do(kind: type[errors.SnaplineError]) -> None:
    error = kind("a red door.", "paint it black.")
    assert str(error) == f"[{kind.code}] {kind.summary} Found: a red door. Do: paint it black."
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), copy.found, copy.action, str(copy)) == (kind, error.found, error.action, str(error))


def test_passwords_in_uris_are_left_out() -> None:
    error = errors.StateNotFound("ftp://me:se%2Fcret@host:21/a@b does not exist.", "look at s3a://key:other@bucket/.")
    assert error.found == "ftp://me:***@host:21/a@b does not exist."
    assert error.action == "look at s3a://key:***@bucket/."
    assert "cret" not in repr(error) + str(error)
    assert "other" not in str(error)
    kept = "abfss://container@account.net/x, hdfs://host:8020/a@b and 12:30 me@here"
    assert errors.StateNotFound(kept, "-").found == kept
