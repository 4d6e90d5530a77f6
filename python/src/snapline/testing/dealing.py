"""Redistributes operator state when the parallelism changes, without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from snapline.state.operator_spec import Distribution, OperatorStateSpec


def redistribute(
    specs: Sequence[OperatorStateSpec], partitions: Sequence[dict[str, list[tuple[Any, Any]]]], to: int
) -> list[dict[str, list[tuple[Any, Any]]]]:
    """Entries by state of each of the new partitions, from those of the old ones.

    Even split as Flink's RoundRobinOperatorStateRepartitioner: stretches of the whole, one element more for each
    partition that a surplus lasts for, and the next state begins where it ended.
    """
    found: list[dict[str, list[tuple[Any, Any]]]] = [{} for _ in range(to)]
    start = 0
    for spec in sorted(specs, key=lambda spec: (spec.distribution is Distribution.RAW, spec.name)):
        lists = [each[spec.name] for each in partitions]
        whole = [value for each in lists for _, value in each]
        if spec.distribution is Distribution.BROADCAST:
            dealt = [lists[0]] * to
        elif spec.distribution is Distribution.UNION:
            dealt = [list(enumerate(whole))] * to
        elif to == len(partitions):
            dealt = lists
        else:
            share, surplus = divmod(len(whole), to)
            dealt = [[] for _ in range(to)]
            at = 0
            for turn in range(to):
                take = share + (turn < surplus)
                dealt[(start + turn) % to] = list(enumerate(whole[at : at + take]))
                at += take
            start = (start + surplus) % to
        for partition, entries in enumerate(dealt):
            found[partition][spec.name] = entries
    return found
