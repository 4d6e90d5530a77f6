"""Keyed state: descriptors, and the handles that functions work with."""

from snapline.state.aggregate import AggregateFunction, ReduceFunction
from snapline.state.broadcast import BroadcastState, ReadOnlyBroadcastState
from snapline.state.descriptors import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from snapline.state.folding_descriptors import AggregatingStateDescriptor, ReducingStateDescriptor
from snapline.state.list import ListState
from snapline.state.map import MapState
from snapline.state.operator_list import OperatorListState
from snapline.state.raw import RawStateOutput
from snapline.state.reducing import AggregatingState, ReducingState
from snapline.state.row import Row
from snapline.state.ttl import StateTtlConfig, StateVisibility, TtlTime, UpdateType
from snapline.state.types import PICKLED
from snapline.state.value import ValueState

__all__ = [
    "PICKLED",
    "AggregateFunction",
    "AggregatingState",
    "AggregatingStateDescriptor",
    "BroadcastState",
    "ListState",
    "ListStateDescriptor",
    "MapState",
    "MapStateDescriptor",
    "OperatorListState",
    "RawStateOutput",
    "ReadOnlyBroadcastState",
    "ReduceFunction",
    "ReducingState",
    "ReducingStateDescriptor",
    "Row",
    "StateDescriptor",
    "StateTtlConfig",
    "StateVisibility",
    "TtlTime",
    "UpdateType",
    "ValueState",
    "ValueStateDescriptor",
]
