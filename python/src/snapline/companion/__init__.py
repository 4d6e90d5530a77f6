"""The Python process beside a server of Spark Connect, which does for a client's session what needs a driver."""
