"""What lies in a query's checkpoint folder beside the stores, and the file systems it lies in."""
