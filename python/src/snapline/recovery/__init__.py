"""Recovery of a query from a checkpoint: its choice, and the exact replay of the batches since."""
