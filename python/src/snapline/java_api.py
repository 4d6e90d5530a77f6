"""Objects of the jar, and what its errors become here."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from snapline import errors
from snapline.errors import InvalidConfiguration, SnaplineError, StorageFailure, WrongSparkVersion

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_KINDS: dict[str, type[SnaplineError]] = {
    kind.code: kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, SnaplineError)
}
_CODED = re.compile(r"\[(SNAPLINE-[A-Z-]+)\] (.*?) Do: ([^\n]*)", re.DOTALL)


def java_savepoints(session: SparkSession) -> Any:
    """The object ``Savepoints`` of the jar.

    Raises:
        WrongSparkVersion: the session has no jar of Snapline, or another one.
    """
    return _object(session, "io.snapline.spark.savepoint.Savepoints")


def java_native_savepoints(session: SparkSession) -> Any:
    """The object ``NativeSavepoints`` of the jar.

    Raises:
        WrongSparkVersion: the session has no jar of Snapline, or another one.
    """
    return _object(session, "io.snapline.spark.savepoint.NativeSavepoints")


def java_checkpointing(session: SparkSession) -> Any:
    """The object ``Checkpointing`` of the jar.

    Raises:
        WrongSparkVersion: the session has no jar of Snapline, or another one.
    """
    return _object(session, "io.snapline.spark.coordinator.Checkpointing")


def java_functions(session: SparkSession) -> Any:
    """The object ``KeyedProcessApi`` of the jar.

    Raises:
        WrongSparkVersion: the session has no jar of Snapline, or another one.
    """
    return _object(session, "org.apache.spark.sql.execution.python.snapline.KeyedProcessApi")


def java_session_internals(session: SparkSession) -> Any:
    """The object ``SessionInternals`` of the jar.

    Raises:
        WrongSparkVersion: the session has no jar of Snapline, or another one.
    """
    return _object(session, "org.apache.spark.sql.execution.streaming.snapline.SessionInternals")


def java_file_systems(session: SparkSession) -> Any:
    """The object ``HadoopFileSystem`` of the jar.

    Raises:
        WrongSparkVersion: the session has no jar of Snapline, or another one.
    """
    return _object(session, "io.snapline.storage.HadoopFileSystem")


def java_folder_names(session: SparkSession) -> Any:
    """The object ``FolderNames`` of the jar.

    Raises: as :func:`java_file_systems`.
    """
    return _object(session, "io.snapline.storage.FolderNames")


def is_connect(given: object) -> bool:
    """Whether a session, DataFrame or writer is of Spark Connect, and has no JVM behind it here."""
    return type(given).__module__.startswith("pyspark.sql.connect")


def check_classic(given: object, what: str) -> None:
    """Refuses what is of Spark Connect: there is no JVM behind it here.

    Args:
        given: a session, DataFrame or writer.
        what: the call, for the text.

    Raises:
        InvalidConfiguration: it is of Spark Connect.
    """
    if is_connect(given):
        raise InvalidConfiguration(
            f"{what} of Spark Connect, which has no JVM here.",
            "call snapline.start, read_state or a savepoint's function, which run beside the server; or use a classic "
            "session: SparkSession.builder without remote().",
        )


def _object(session: SparkSession, name: str) -> Any:
    from py4j.java_gateway import JavaPackage

    check_classic(session, "a session")
    jvm: Any = session._jvm
    api = getattr(jvm, name)
    # py4j gives a package for a name that the JVM does not know.
    if isinstance(api, JavaPackage):
        raise WrongSparkVersion(
            f"Spark runs without Snapline's jar, or with one that has no {name.rsplit('.', 1)[1]}.",
            "make the session through snapline.configure(SparkSession.builder), and let package and jar be of one "
            "version.",
        )
    return api


def session_with(session: SparkSession, settings: Mapping[str, str | None]) -> SparkSession:
    """The session, or if there are settings one like it that has them. None: unset."""
    from pyspark.sql import SparkSession

    if not settings:
        return session
    there = {name: value for name, value in settings.items() if value is not None}
    like_it = SparkSession(session.sparkContext, java_savepoints(session).sessionWith(session._jsparkSession, there))
    for name in settings.keys() - there.keys():
        like_it.conf.unset(name)
    return like_it


def frame_with(df: DataFrame, settings: Mapping[str, str | None]) -> DataFrame:
    """The DataFrame in a session of its own that is like its own one and has these settings. None: unset."""
    from pyspark.sql import DataFrame

    session = session_with(df.sparkSession, settings)
    return DataFrame(java_session_internals(session).under(session._jsparkSession, df._jdf), session)


@contextmanager
def translate(act: str) -> Iterator[None]:
    """Turns an error of Spark or the jar into that of the same code; one without a code becomes a StorageFailure."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        yield
    except SnaplineError:
        raise
    except (Py4JJavaError, PySparkException) as e:
        text = _whole_text(e)
        _raise_coded(text, e)
        first = next((line for line in text.splitlines() if line.strip()), type(e).__name__)
        raise StorageFailure(f"could not {act}: {first}", "see the log of the driver.") from e


@contextmanager
def coded_errors() -> Iterator[None]:
    """Turns an error of the jar into the error of the same code; one without a code passes."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        yield
    except (Py4JJavaError, PySparkException) as e:
        _raise_coded(_whole_text(e), e)
        raise


def _raise_coded(text: str, cause: Exception) -> None:
    """Raises the error whose code is in the text, if there is one."""
    coded = _CODED.search(text)
    if coded is not None and coded[1] in _KINDS:
        raise _KINDS[coded[1]](coded[2], coded[3]) from cause


def _whole_text(e: Exception) -> str:
    """The messages of an exception and of its causes."""
    java = getattr(e, "java_exception", None) or getattr(e, "_origin", None)
    texts = [str(e)] if java is None else []
    while java is not None and len(texts) < 20:
        texts.append(str(java.toString()))
        java = java.getCause()
    return "\n".join(texts)
