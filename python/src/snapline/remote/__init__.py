"""Calls from a client of Spark Connect to the Python process beside the server (docs/notes/023-connect.md)."""
