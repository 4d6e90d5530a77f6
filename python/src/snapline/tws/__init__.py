"""Spark's StatefulProcessor on Snapline's keyed operator: a program of transformWithState, with another call."""

from snapline.tws.handle import TimeMode
from snapline.tws.processor import function_of
from snapline.tws.transform import transform_with_state, transform_with_state_in_pandas

__all__ = ["TimeMode", "function_of", "transform_with_state", "transform_with_state_in_pandas"]
