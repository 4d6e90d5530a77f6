"""Settings of backends and checkpoints, checked before Spark starts."""
