from __future__ import annotations

from snapline.recovery.lost_input import files_are_lost, input_is_lost

KAFKA = """[STREAM_FAILED] Query [id = 1] terminated with exception: Some data may have been lost because they are not available in Kafka any more;
either the data was aged out by Kafka or the topic may have been deleted before all the data in the
topic was processed.
If you don't want your streaming query to fail on such cases, set the source option failOnDataLoss to false.
Reason: Could not read records in offset [7, 14) for topic partition flights-0
with consumer group spark-kafka-source-1-executor. SQLSTATE: XXKST"""  # noqa: E501


def test_expired_records_are_named_without_the_advice_to_pass_over_them() -> None:
    error = input_is_lost(4, RuntimeError(KAFKA))
    assert error is not None
    assert error.code == "SNAPLINE-NOT-FOUND"
    assert "batch 4" in error.found
    assert "offset [7, 14) for topic partition flights-0" in error.found
    assert error.action.startswith("bring it back")


def test_what_a_task_said_is_found_below_the_failure() -> None:
    failure = RuntimeError("Job aborted due to stage failure")
    failure._stackTrace = KAFKA  # type: ignore[attr-defined]
    assert input_is_lost(4, failure) is not None
    assert input_is_lost(4, RuntimeError("Job aborted due to stage failure")) is None


def test_lost_files_are_counted() -> None:
    assert files_are_lost(2, ["file:/a"]).found.endswith("gone: file:/a.")
    assert files_are_lost(2, ["file:/a", "file:/b", "file:/c"]).found.endswith("gone: file:/a and 2 more.")
