"""The files of a query's checkpoint folder beside the stores, and its file systems."""
