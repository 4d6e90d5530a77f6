"""Settings of Spark by which it takes executors away that have the only copy of state."""

from __future__ import annotations

import logging
from collections.abc import Mapping

# The fate of the executors of a session that has it on.
_LEAVING = {
    "spark.dynamicAllocation.enabled": "Spark takes away executors that have no task for a while",
    "spark.decommission.enabled": "the cluster takes executors away when it says so, and Spark moves no state",
}

_log = logging.getLogger(__name__)


def warn_of_leaving_executors(settings: Mapping[str, str]) -> list[str]:
    """Logs a warning where a query with an interval may lose an executor although nothing fails.

    Args:
        settings: the session's settings.

    Returns:
        The names of the settings that were warned of.
    """
    if settings.get("spark.master", "").startswith("local"):
        return []
    found = [name for name in _LEAVING if settings.get(name, "false").strip().lower() == "true"]
    for name in found:
        _log.warning(
            "%s is true: %s. With an interval, state since the newest checkpoint is on the executors alone. Each time "
            "one leaves, the query fails, and a start goes back to that checkpoint and replays. Do: set "
            "upload_changelogs=True, so that the changes are in storage too; or set it to false; or leave out the "
            "interval, so that every batch is durable; or give the query a restart strategy (restart=) and a short "
            "interval.",
            name,
            _LEAVING[name],
        )
    return found
