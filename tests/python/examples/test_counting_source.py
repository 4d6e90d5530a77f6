# mypy: disable-error-code="import-not-found"
from collections import defaultdict

import counting_source

from snapline.testing import ProcessTestHarness


def test_sequences_go_on_over_batches_and_at_any_parallelism():
    harness = ProcessTestHarness(
        counting_source.CountingSource(), schema="tick long", output=counting_source.OUTPUT, parallelism=2
    )
    for parallelism in (2, 3, 1, 4):
        harness.rescale(parallelism) if parallelism != harness.parallelism else None
        harness.process_batch([(tick,) for tick in range(parallelism)])
    found = defaultdict(list)
    for row in harness.output():
        found[row.sequence].append(row.number)
    assert found == {sequence: [0, 1, 2, 3] for sequence in range(counting_source.SEQUENCES)}
