"""Benches of state store providers, side by side, each run in a Spark process of its own."""
