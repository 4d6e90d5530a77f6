"""Patterns of events of one key, under the names that Flink's library for complex events has for them."""

from snapline.pattern.functions import Match, MatchContext, PatternProcessFunction
from snapline.pattern.pattern import Pattern, WithinType
from snapline.pattern.skip import AfterMatchSkipStrategy

__all__ = ["AfterMatchSkipStrategy", "Match", "MatchContext", "Pattern", "PatternProcessFunction", "WithinType"]
