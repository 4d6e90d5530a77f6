"""Reads a query's logical plan: what keeps its batches from being replayed exactly."""
