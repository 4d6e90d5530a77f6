"""The Python side of the keyed process operator (docs/notes/003-keyed-process.md)."""
