from __future__ import annotations

from typing import Any

import pytest

from snapline import FunctionFailed, KeyedProcessFunction, MapStateDescriptor, ValueStateDescriptor
from snapline.errors import InvalidConfiguration
from snapline.functions.plan import FunctionPlan
from snapline.functions.process import batch_type_of, mode_of


class Element(KeyedProcessFunction):
    def process_element(self, row: Any, ctx: Any) -> Any:
        return None


class Derived(Element):
    pass


class Both(Element):
    def process_arrow(self, batch: Any, state: Any) -> Any:
        return None


class Batch(KeyedProcessFunction):
    def process_batch(self, key: Any, batch: pd.DataFrame, ctx: Any) -> Any:  # type: ignore[name-defined]  # noqa: F821
        return None


class Polars(Batch):
    batch_type = "polars"


def test_one_process_method_says_the_mode() -> None:
    assert mode_of(Element()) == mode_of(Derived()) == "element"
    assert mode_of(Batch()) == "batch"


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (KeyedProcessFunction(), "overrides none of"),
        (Both(), "overrides process_element, process_arrow of"),
        (Element, "the class itself"),
        (5, "no KeyedProcessFunction"),
    ],
)
def test_none_several_or_no_function_is_refused(function: Any, message: str) -> None:
    with pytest.raises(InvalidConfiguration, match=message):
        mode_of(function)


def test_the_kind_of_batch_is_said_by_annotation_or_attribute() -> None:
    assert (batch_type_of(Batch()), batch_type_of(Polars()), batch_type_of(Element())) == ("pandas", "polars", "arrow")
    wrong: Any = Polars()
    wrong.batch_type = "csv"
    with pytest.raises(InvalidConfiguration, match="batch_type is 'csv'"):
        batch_type_of(wrong)


class Opened(Element):
    def __init__(self, *names: str, fails: bool = False, reads: bool = False) -> None:
        self.names, self.fails, self.reads = names, fails, reads

    def open(self, ctx: Any) -> None:
        if self.fails:
            raise ValueError("no such file")
        self.states = [ctx.get_state(ValueStateDescriptor(name, "long")) for name in self.names]
        ctx.get_metrics_group().counter("rows")
        if self.reads:
            self.states[0].value()


def test_the_driver_sees_states_and_metrics_and_leaves_the_function_alone() -> None:
    function = Opened("a", "b")
    plan = FunctionPlan.of(function)
    assert [state.name for state in plan.states] == ["a", "b"]
    assert (plan.metrics, plan.name) == (("rows",), "Opened")
    assert not hasattr(function, "states")


def test_what_open_must_not_do_is_told() -> None:
    with pytest.raises(InvalidConfiguration, match="two states of the function are named 'a'"):
        FunctionPlan.of(Opened("a", "a"))
    with pytest.raises(InvalidConfiguration, match=r"value of state a is used in open\(\)"):
        FunctionPlan.of(Opened("a", reads=True))
    with pytest.raises(FunctionFailed, match=r"open\(\) or close\(\) of Opened raised ValueError: no such file"):
        FunctionPlan.of(Opened(fails=True))


def test_a_function_that_cannot_be_pickled_is_told() -> None:
    function = Element()
    function.lock = __import__("threading").Lock()  # type: ignore[attr-defined]
    with pytest.raises(FunctionFailed, match="Element cannot be pickled"):
        FunctionPlan.of(function)


def test_the_method_of_the_context_fits_the_descriptor() -> None:
    class Wrong(Element):
        def open(self, ctx: Any) -> None:
            ctx.get_state(MapStateDescriptor("m", "long", "long"))

    with pytest.raises(InvalidConfiguration, match="where a ValueStateDescriptor belongs"):
        FunctionPlan.of(Wrong())


def test_arrow_has_no_use_for_whole_maps() -> None:
    class Arrow(KeyedProcessFunction):
        def open(self, ctx: Any) -> None:
            ctx.get_map_state(MapStateDescriptor("m", "long", "long"))

        def process_arrow(self, batch: Any, state: Any) -> Any:
            return None

    with pytest.raises(InvalidConfiguration, match="map state m of Arrow names no entry column"):
        FunctionPlan.of(Arrow())
