"""Matches operators of a query with those of a savepoint."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from snapline.errors import IncompatibleState, InvalidConfiguration
from snapline.savepoint.layout import OperatorLayout
from snapline.savepoint.shape import shape_of, state_names

#: From an operator of the savepoint, by number or uid, to one of the query; None: its state is left out.
OperatorMap = Mapping[int | str, int | str | None]

# The states of these are those of a function, which may change from one run to the next.
_FUNCTIONS = ("transformWithStateExec", "transformWithStateInPySparkExec")


@dataclass(frozen=True)
class RestoredOperator:
    """An operator of the restored query.

    Attributes:
        id: its number in the new plan.
        layout: the layout in the savepoint, where ``old`` is given; else that in the query.
        old: the operator whose state it gets; None: it begins empty.
        planned: the operator as the query has it; None: the query is not known.
    """

    id: int
    layout: OperatorLayout
    old: OperatorLayout | None
    planned: OperatorLayout | None

    @property
    def title(self) -> str:
        """For messages."""
        known = self.layout if self.planned is None else self.planned
        return known.renumbered(self.id).title

    @property
    def uid(self) -> str | None:
        """Its name from now on; one that was given another number by hand is named by the query's next start."""
        if self.planned is not None:
            return self.planned.uid
        return self.layout.uid if self.id == self.layout.id else None

    def partitions(self, wanted: int | None) -> int:
        """How many it gets where the query is given that parallelism; None: as many as it had."""
        return self.layout.partitions(wanted) if self.planned is None else self.planned.parallelism


def operator_map(options: Iterable[str]) -> OperatorMap:
    """Of a command line: ``OLD=NEW`` each, ``OLD=`` to leave state out.

    Raises:
        InvalidConfiguration: one has no ``=``, or one operator comes twice.
    """
    found: dict[int | str, int | str | None] = {}
    for option in options:
        old, separator, new = option.rpartition("=")
        if not separator or not old:
            raise InvalidConfiguration(f"--map {option} is not of the form OLD=NEW.", "write --map 0=1.")
        if old in found:
            raise InvalidConfiguration(f"--map names operator {old} twice.", "map each operator once.")
        found[old] = new or None
    return found


def match_by_hand(
    old: Sequence[OperatorLayout], wanted: OperatorMap, allow_non_restored_state: bool
) -> tuple[RestoredOperator, ...]:
    """For a query that is not known: each operator keeps its number, if it is given no other.

    Raises:
        InvalidConfiguration: the map names an operator that is not there.
        IncompatibleState: two operators come to one number, or state would be left out.
    """
    targets = {operator.id: operator.id for operator in old}
    left_out: list[OperatorLayout] = []
    for key, target in wanted.items():
        operator = _named(old, key, "savepoint")
        if target is None:
            left_out.append(operator)
            del targets[operator.id]
            continue
        number = int(target) if isinstance(target, str) and target.isdigit() else target
        if not isinstance(number, int) or number < 0:
            raise InvalidConfiguration(
                f"operator {key} is mapped to {target!r}, and the query is not known here.",
                "give the number that it has in the new plan; or start the query with "
                "snapline.start(from_savepoint=), which knows names.",
            )
        targets[operator.id] = number
    differences = _left_out(left_out, allow_non_restored_state)
    numbers = sorted(targets.values())
    differences += [f"several operators come to number {each}" for each in set(numbers) if numbers.count(each) > 1]
    missing = sorted(set(range(max(numbers, default=-1))) - set(numbers))
    differences += [f"nothing comes to number {each}, and Spark counts operators from 0" for each in missing]
    _refuse(differences)
    by_number = {targets[operator.id]: operator for operator in old if operator.id in targets}
    return tuple(RestoredOperator(number, each, each, None) for number, each in sorted(by_number.items()))


def match_operators(
    old: Sequence[OperatorLayout],
    new: Sequence[OperatorLayout],
    wanted: OperatorMap,
    allow_non_restored_state: bool,
) -> tuple[RestoredOperator, ...]:
    """Matches as the map says; then operators of one uid; then those without one, by kind and columns, in their order.

    Args:
        new: the operators of the query.

    Raises:
        InvalidConfiguration: the map names an operator that is not there, or one twice.
        IncompatibleState: an operator's state would be left out, or could be that of several; all are named.
    """
    matching = _Matching(old, new)
    for key, target in wanted.items():
        operator = _named(old, key, "savepoint")
        if target is None:
            matching.left_out.append(operator)
        else:
            matching.put(operator, _named(new, target, "query"))
    for planned in new:
        same = [each for each in matching.old if planned.uid is not None and each.uid == planned.uid]
        if same and planned in matching.new:
            matching.put(same[0], planned)
    matching.pair_alike()
    matching.pair_functions()
    left_out = [each for each in matching.old if each not in matching.doubtful]
    differences = _left_out([*matching.left_out, *left_out], allow_non_restored_state) + matching.doubts
    _refuse(differences, matching.new)
    sources = {planned.id: operator for operator, planned in matching.found}
    return tuple(
        RestoredOperator(planned.id, sources.get(planned.id, planned), sources.get(planned.id), planned)
        for planned in sorted(new, key=lambda each: each.id)
    )


class _Matching:
    """The operators that are still to be matched.

    Attributes:
        left_out: operators that the user has left out.
        doubtful: operators that look like others; ``doubts`` says so.
    """

    def __init__(self, old: Sequence[OperatorLayout], new: Sequence[OperatorLayout]) -> None:
        self._old = list(old)
        self.new = list(new)
        self.left_out: list[OperatorLayout] = []
        self.found: list[tuple[OperatorLayout, OperatorLayout]] = []
        self.doubtful: list[OperatorLayout] = []
        self.doubts: list[str] = []

    @property
    def old(self) -> list[OperatorLayout]:
        return [each for each in self._old if each not in self.left_out]

    def put(self, operator: OperatorLayout, planned: OperatorLayout) -> None:
        for each, there in ((operator, self.old), (planned, self.new)):
            if each not in there:
                raise InvalidConfiguration(f"{each.title} is named twice.", "give each operator once.")
        self._old.remove(operator)
        self.new.remove(planned)
        self.found.append((operator, planned))

    @property
    def _unnamed(self) -> list[OperatorLayout]:
        """One that has a name goes by it alone. (One that is given a name only now has none in the savepoint.)"""
        return [each for each in self.old if each.uid is None and each not in self.doubtful]

    def pair_alike(self) -> None:
        """Those of one shape in their order, where there are as many on both sides."""
        for shape in dict.fromkeys(map(shape_of, self._unnamed)):
            before = [operator for operator in self._unnamed if shape_of(operator) == shape]
            now = [planned for planned in self.new if shape_of(planned) == shape]
            if len(before) == len(now):
                for operator, planned in zip(before, now, strict=True):
                    self.put(operator, planned)
            elif now:
                self.doubtful += before
                self.doubts.append(f"{_titles(before)} of the savepoint and {_titles(now)} of the query are alike")

    def pair_functions(self) -> None:
        """A function that has other states than before, and some of them still, where it is the only one left."""
        for kind in _FUNCTIONS:
            before = [operator for operator in self._unnamed if operator.name == kind]
            now = [planned for planned in self.new if planned.name == kind]
            if len(before) == len(now) == 1 and state_names(before[0]) & state_names(now[0]):
                self.put(before[0], now[0])


def _named(operators: Sequence[OperatorLayout], wanted: int | str, where: str) -> OperatorLayout:
    found = [each for each in operators if each.is_called(wanted)]
    if len(found) != 1:
        there = _titles(operators) or "no stateful operator"
        raise InvalidConfiguration(
            f"operator {wanted!r} is none of the {where}, which has {there}.", "give the number or the uid of one."
        )
    return found[0]


def _left_out(operators: Sequence[OperatorLayout], allowed: bool) -> list[str]:
    return [] if allowed else [f"no operator of the query has the state of {each.title}" for each in operators]


def _titles(operators: Sequence[OperatorLayout]) -> str:
    return ", ".join(each.title for each in operators)


def _refuse(differences: Sequence[str], new: Sequence[OperatorLayout] = ()) -> None:
    if differences:
        free = f" (The query also has {_titles(new)}, for which the savepoint has no state.)" if new else ""
        raise IncompatibleState(
            f"savepoint and query differ: {'; '.join(differences)}.{free}",
            "say which is which (operators={old: new}, --map OLD=NEW); or leave state out "
            "(allow_non_restored_state=True, --allow-non-restored-state).",
        )
