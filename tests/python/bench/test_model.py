# mypy: disable-error-code="import-not-found"
import random
from dataclasses import replace

import pytest
from snapline_bench.model import LOCAL, Batch, Cores, Measured, Model, fit, residuals, typical

MODEL = Model(
    batch=80, partition=0.7, input=15, input_partition=0.05, row=0.0004, task=6, changed=0.0015, checkpoint=2.5
)
BATCHES = [
    *(Batch(partitions, 20_000, 18_000) for partitions in (1, 10, 100, 1_000)),
    Batch(10, 20_000, 8_600),
    Batch(10, 200_000, 9_900),
    Batch(10, 200_000, 86_000),
    Batch(10, 20_000, 18_000, checkpoint=True),
    Batch(1_000, 20_000, 18_000, checkpoint=True),
]


def measured(batch: Batch, model: Model = MODEL, noise: float = 1.0) -> Measured:
    return Measured(batch, model.wall_ms(batch) * noise, model.input_ms(batch), model.state_ms(batch))


def test_constants_come_back_from_what_they_make() -> None:
    found = fit([measured(batch) for batch in BATCHES])
    assert found.constants() == pytest.approx(MODEL.constants(), rel=1e-6)


def test_a_point_that_was_held_out_is_foretold_in_spite_of_noise() -> None:
    chance = random.Random(5)
    found = fit([measured(batch, noise=chance.uniform(0.95, 1.05)) for batch in BATCHES])
    held_out = measured(Batch(30, 60_000, 54_000))
    assert abs(residuals(found, [held_out])[0]) < 0.1


def test_nothing_costs_less_than_nothing() -> None:
    free = replace(MODEL, partition=0, changed=0, row=0)
    chance = random.Random(6)
    points = [measured(batch, free) for batch in BATCHES]
    noisy = [replace(point, input_ms=point.input_ms * chance.uniform(0.9, 1.1)) for point in points]
    assert min(fit(noisy).constants().values()) >= 0


def test_without_checkpoints_there_is_no_constant_of_them() -> None:
    assert fit([measured(batch) for batch in BATCHES if not batch.checkpoint]).checkpoint == 0


def test_more_cores_divide_what_tasks_do_and_not_what_the_driver_does() -> None:
    batch = Batch(1_000, 1_000_000, 500_000)
    here, there = MODEL.wall_ms(batch, LOCAL), MODEL.wall_ms(batch, Cores(200, 200))
    assert MODEL.driver_ms(batch) < there < here
    assert MODEL.wall_ms(batch, Cores(10**6, 200)) == pytest.approx(
        MODEL.driver_ms(batch) + MODEL.input_ms(batch, Cores(10**6, 200)) / 200 + MODEL.state_ms(batch) / 1_000
    )


def test_a_single_partition_has_one_core() -> None:
    one = Batch(1, 20_000, 18_000)
    assert MODEL.wall_ms(one) == pytest.approx(MODEL.driver_ms(one) + MODEL.input_ms(one) / 2 + MODEL.state_ms(one))


def test_typical_is_the_median_of_how_far_off() -> None:
    assert typical([-0.5, 0.1, 0.2]) == 0.2
