"""Which operator gets which state, from descriptions alone."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from snapline.errors import IncompatibleState, InvalidConfiguration
from snapline.savepoint.layout import OperatorLayout, parse_operator
from snapline.savepoint.matching import OperatorMap, match_by_hand, match_operators, operator_map

FUNCTION = "transformWithStateInPySparkExec"


def operator(
    id: int,
    name: str = "dedupe",
    *,
    columns: str = "long",
    state: str = "default",
    uid: str | None = None,
    left_out: str | None = None,
) -> OperatorLayout:
    def struct(type: str) -> dict[str, Any]:
        fields = [{"name": f"c{id}", "type": type, "nullable": id % 2 == 0, "metadata": {}}]
        return {"type": "struct", "fields": fields}

    family = {
        "name": state,
        "key": struct(columns),
        "value": struct("long"),
        "encoder": {},
        "multi": False,
        "placement": {"kind": "hashed", "paths": [[0]]},
    }
    described: dict[str, Any] = {
        "id": id,
        "name": name,
        "parallelism": 2,
        "schemaFiles": [f"state/{id}/_stateSchema/default/0_x"],
        "stores": [{"name": "default", "states": [family]}],
    }
    if left_out is not None:
        described["stores"][0]["states"].append({**family, "name": left_out, "leftOut": True})
    return parse_operator(described if uid is None else {**described, "uid": uid})


def matched(old: list[OperatorLayout], new: list[OperatorLayout], **options: Any) -> dict[int, int | None]:
    """By number in the query, the number in the savepoint."""
    found = match_operators(old, new, options.get("operators", {}), options.get("allow", False))
    assert [each.id for each in found] == sorted(each.id for each in new)
    return {each.id: None if each.old is None else each.old.id for each in found}


def test_names_of_columns_and_what_may_be_null_do_not_count() -> None:
    assert matched([operator(0)], [operator(1), operator(0, "stateStoreSave")]) == {0: None, 1: 0}


def test_columns_count() -> None:
    with pytest.raises(IncompatibleState, match=r"operator 0 \(dedupe\).*The query also has operator 0"):
        matched([operator(0)], [operator(0, columns="string")])
    assert matched([operator(0)], [operator(0, columns="string")], allow=True) == {0: None}


def test_those_that_are_alike_keep_their_order() -> None:
    old, new = [operator(0), operator(2)], [operator(1), operator(3), operator(0, "stateStoreSave")]
    assert matched(old, new) == {0: None, 1: 0, 3: 2}


def test_alike_and_of_another_number() -> None:
    for old, new in ([operator(0)], [operator(0), operator(1)]), ([operator(0), operator(1)], [operator(0)]):
        for allow in (True, False):
            with pytest.raises(IncompatibleState, match="are alike"):
                matched(old, new, allow=allow)
    assert matched([operator(0)], [operator(0), operator(1)], operators={0: 1}) == {0: None, 1: 0}
    assert matched([operator(0), operator(1)], [operator(0)], operators={1: 0}, allow=True) == {0: 1}
    assert matched([operator(0), operator(1)], [operator(0)], operators={"1": "0", 0: None}, allow=True) == {0: 1}
    with pytest.raises(IncompatibleState, match="has the state of operator 0"):
        matched([operator(0), operator(1)], [operator(0)], operators={1: 0})


def test_by_name_in_any_order() -> None:
    names = ["a", "b", "c"]
    for order in itertools.permutations(range(3)):
        old = [operator(i, FUNCTION, uid=name) for i, name in enumerate(names)]
        new = [operator(place, FUNCTION, uid=names[i]) for place, i in enumerate(order)]
        assert matched(old, new) == dict(enumerate(order))


def test_what_has_a_name_goes_by_nothing_else() -> None:
    with pytest.raises(IncompatibleState, match=r"operator 0 \(a\)"):
        matched([operator(0, FUNCTION, uid="a")], [operator(0, FUNCTION, uid="b")])
    with pytest.raises(IncompatibleState, match=r"operator 0 \(a\)"):
        matched([operator(0, FUNCTION, uid="a")], [operator(0, FUNCTION)])
    assert matched([operator(0, FUNCTION, uid="a")], [operator(0, FUNCTION)], operators={"a": 0}) == {0: 0}
    # A name that is given for the first time.
    assert matched([operator(0, FUNCTION)], [operator(0, FUNCTION, uid="a")]) == {0: 0}


def test_a_function_with_other_columns() -> None:
    old = [operator(0, FUNCTION, state="n")]
    assert matched(old, [operator(1, FUNCTION, state="n", columns="int"), operator(0)]) == {0: None, 1: 0}
    two = [operator(0, FUNCTION, state="n", columns="int"), operator(1, FUNCTION, state="n", columns="string")]
    for other in (two, [operator(0, FUNCTION, state="m")]):
        with pytest.raises(IncompatibleState, match="no operator of the query has the state"):
            matched(old, other)


def test_states_that_were_left_out_do_not_count() -> None:
    old = [operator(0, FUNCTION, state="n", left_out="m"), operator(1, FUNCTION, state="n")]
    assert matched(old, [operator(0, FUNCTION, state="n"), operator(1, FUNCTION, state="n")]) == {0: 0, 1: 1}
    # One of them is taken back.
    assert matched(old[:1], [operator(0, FUNCTION, state="m")]) == {0: 0}


def test_a_map_that_cannot_be() -> None:
    old, new = [operator(0), operator(1, uid="a")], [operator(0), operator(1, uid="a")]
    for wanted in ({5: 0}, {"b": 0}, {0: 5}, {0: "b"}):
        with pytest.raises(InvalidConfiguration, match="is none of the"):
            matched(old, new, operators=wanted)
    with pytest.raises(InvalidConfiguration, match="named twice"):
        matched(old, new, operators={0: 1, 1: "a"})
    for options in (["0"], ["=1"], ["0=1", "0=2"]):
        with pytest.raises(InvalidConfiguration):
            operator_map(options)
    assert operator_map(["0=1", "a=", "x=y=2"]) == {"0": "1", "a": None, "x=y": "2"}


def test_by_hand() -> None:
    old = [operator(0), operator(1, uid="a")]
    found = match_by_hand(old, {"0": "1", "a": "0"}, False)
    assert [(each.id, each.layout.id, each.uid) for each in found] == [(0, 1, None), (1, 0, None)]
    assert [each.uid for each in match_by_hand(old, {}, False)] == [None, "a"]
    assert found[0].layout.renumbered(0).schema_files == ["state/0/_stateSchema/default/0_x"]
    assert match_by_hand([], {}, False) == ()
    refused: list[tuple[OperatorMap, bool]] = [
        ({0: 1}, False),
        ({0: 2}, True),
        ({0: None}, False),
        ({0: None}, True),
    ]
    for wanted, allow in refused:
        with pytest.raises(IncompatibleState):
            match_by_hand(old, wanted, allow)
    assert [each.layout.id for each in match_by_hand(old, {0: None, 1: 0}, True)] == [1]
