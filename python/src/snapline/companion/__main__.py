"""``python -m snapline.companion``: the server starts it (docs/notes/023-connect.md)."""

from snapline.companion.requests import serve

serve()
