"""Sets a Spark session up for Snapline."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from snapline._version import __version__
from snapline.errors import InvalidConfiguration, WrongSparkVersion
from snapline.jar import EXTENSION_CLASS, NAME_PREFIX, PLUGIN_CLASS, PROVIDER_CLASS, JarInfo, checked_jar
from snapline.launch import Launch, read_launch
from snapline.running import RunningSpark
from snapline.settings.backends import CheckpointStorage, StateBackend, StateBackendConfig, backend_settings
from snapline.settings.checks import check_settings
from snapline.spark_line import LINES, fits, has_real_time_state, spark_line, what_to_install

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
JARS = "spark.jars"
EXTENSIONS = "spark.sql.extensions"
PLUGINS = "spark.plugins"
#: Spark takes these beside the former.
MORE_PLUGINS = "spark.plugins.defaultList"
#: A Spark Connect server finds there the plug-ins for relations that Spark does not know.
RELATIONS = "spark.connect.extensions.relation.classes"
RELATIONS_CLASS = "org.apache.spark.sql.connect.snapline.SnaplineRelations"
ANY_SERVER = "sc://"
PYTHON = "spark.pyspark.python"
LOCAL_FILES = "spark.hadoop.fs.AbstractFileSystem.file.impl"
LOCAL_FILES_CLASS = "io.snapline.storage.LocalFs"
SHUFFLE_WAIT = "spark.shuffle.streaming.networkBufferMaxWaitTimeMs"


def configure(
    builder: SparkSession.Builder,
    *,
    state_backend: StateBackend | StateBackendConfig | None = None,
    checkpoint_storage: CheckpointStorage | None = None,
) -> SparkSession.Builder:
    """Adds Snapline's jar, session extension, plugin and state store provider to a session builder.

    Jars, extensions and plugins named elsewhere stay: by the builder, PYSPARK_SUBMIT_ARGS, spark-defaults.conf or
    spark-submit.

    A Spark Connect server has jar, extension and plugin itself: with the address of one (``sc://``) only the provider
    and the state backend are set, which are the session's. With ``remote("local[2]")`` pyspark starts a server in this
    process, which gets all of it.

    Args:
        builder: the builder of a session that is still to be made.
        state_backend: the place of working state, alone or with other settings of the stores. Settings of the builder
            under ``spark.snapline.`` are checked too.
        checkpoint_storage: the place where state is kept; None: files, if nothing else is set.

    Returns:
        The same builder.

    Raises:
        InvalidConfiguration: a setting is out of its range or names another provider; or Spark runs already without the
            jar.
        WrongSparkVersion: package, jar and pyspark do not belong together.
    """
    options: dict[str, str] = builder._options
    backend = backend_settings(state_backend, checkpoint_storage)
    check_pyspark()
    jar = checked_jar()
    _check_options(options)
    address = _connect_address(options, os.environ)
    if address is None:
        running = RunningSpark.find()
        if running is None:
            _configure_new(builder, jar.path, {PLUGINS: PLUGIN_CLASS})
        else:
            _join(builder, running, jar)
    elif not address.startswith(ANY_SERVER):
        _configure_server(builder, jar.path)
    builder.config(PROVIDER, PROVIDER_CLASS)
    for name, value in backend.items():
        builder.config(name, value)
    return builder


def check_pyspark() -> str:
    """The version of pyspark, which is of the line this package is for.

    Raises:
        WrongSparkVersion: it is of another.
    """
    import pyspark

    found = str(pyspark.__version__)
    if not fits(found):
        raise WrongSparkVersion(
            f"pyspark {found}; this Snapline {__version__} is for Spark {LINES}.", what_to_install(found)
        )
    return found


def _check_options(options: Mapping[str, str]) -> None:
    provider = options.get(PROVIDER, PROVIDER_CLASS)
    if provider != PROVIDER_CLASS:
        raise InvalidConfiguration(
            f"the builder sets {PROVIDER} to {provider}.",
            "remove that setting, or do not call snapline.configure().",
        )
    check_settings(options)


def _connect_address(options: Mapping[str, str], environ: Mapping[str, str]) -> str | None:
    """The address of a Spark Connect server, or the master of one that pyspark starts; None for a classic session.

    By all the ways in which pyspark's getOrCreate() is told.
    """
    from pyspark.util import default_api_mode

    remote = options.get("spark.remote", environ.get("SPARK_REMOTE"))
    if remote is not None:
        return remote
    mode = options.get("spark.api.mode", environ.get("SPARK_API_MODE", "")).lower()
    if mode == "connect" or (mode != "classic" and default_api_mode() == "connect"):
        return options.get("spark.master", environ.get("MASTER", "local"))
    # The process has such a session.
    return ANY_SERVER if "SPARK_CONNECT_MODE_ENABLED" in environ else None


def _configure_new(builder: SparkSession.Builder, jar: Path, classes: Mapping[str, str]) -> Launch:
    """A Spark that is still to be started: it gets jar and extension, and each of these classes in its setting."""
    launch = read_launch()
    _check_command_jars(launch, jar)
    for name, value in {JARS: str(jar), EXTENSIONS: EXTENSION_CLASS, **classes}.items():
        _append(builder, name, value, builder._options.get(name, launch.conf.get(name)))
    _set_defaults(builder, launch.conf.get)
    return launch


def _configure_server(builder: SparkSession.Builder, jar: Path) -> None:
    """That pyspark starts in this process. It sets ``spark.plugins`` itself, whatever the builder says."""
    launch = _configure_new(builder, jar, {MORE_PLUGINS: PLUGIN_CLASS, RELATIONS: RELATIONS_CLASS})
    # Workers of a server get the first Python of the path otherwise.
    if "PYSPARK_PYTHON" not in os.environ and PYTHON not in builder._options and launch.conf.get(PYTHON) is None:
        builder.config(PYTHON, sys.executable)


def _check_command_jars(launch: Launch, jar: Path) -> None:
    """The command line's jars are the driver's class path, whatever the builder says later."""
    if launch.command_jars is not None and not _names_jar(launch.command_jars, jar):
        raise InvalidConfiguration(
            f"PYSPARK_SUBMIT_ARGS sets the jars to {launch.command_jars}, and Snapline's is not among them.",
            f"add it there, after a comma: {jar}",
        )


def _join(builder: SparkSession.Builder, running: RunningSpark, jar: JarInfo) -> None:
    """Spark runs: what is on its class path cannot be changed any more."""
    found = running.jar_properties()
    if not found:
        raise InvalidConfiguration(
            "Spark runs in this process already, without Snapline's jar.",
            "call snapline.configure() before the first session of the process (in a notebook: restart it); with "
            f"spark-submit add --jars {jar.path}",
        )
    if (found.get("version"), found.get("spark.line")) != (__version__, spark_line()):
        raise WrongSparkVersion(
            f"Spark runs with the jar of Snapline {found.get('version')} for Spark {found.get('spark.line')}, and the "
            f"package is {__version__}, with pyspark of Spark {spark_line()}.",
            f"let both be of one version: --jars {jar.path}",
        )
    extensions = running.conf(EXTENSIONS)
    if not running.has_context:
        if JARS in builder._options:
            _append(builder, JARS, str(jar.path), builder._options[JARS])
        _append(builder, EXTENSIONS, EXTENSION_CLASS, builder._options.get(EXTENSIONS, extensions))
        _append(builder, PLUGINS, PLUGIN_CLASS, builder._options.get(PLUGINS, running.conf(PLUGINS)))
        _set_defaults(builder, running.conf)
    elif EXTENSION_CLASS not in (extensions or "").split(","):
        raise InvalidConfiguration(
            f"a Spark session is active, and its {EXTENSIONS} is {extensions!r}.",
            "stop it (spark.stop()) and make a new one through snapline.configure().",
        )


def _append(builder: SparkSession.Builder, name: str, value: str, before: str | None) -> None:
    """Adds to a comma-separated setting, once."""
    values = [each.strip() for each in (before or "").split(",") if each.strip()]
    present = _names_jar(before or "", Path(value)) if name == JARS else value in values
    builder.config(name, ",".join(values if present else [*values, value]))


def defaults() -> dict[str, str]:
    """Settings where nobody has set another value.

    Asked when a session is made: which pyspark there is may be said after this package was imported.
    """
    # The shuffle of real-time mode sends what it has this often, in ms; Spark's own is 50.
    shuffle = {SHUFFLE_WAIT: "2"} if has_real_time_state() else {}
    return {LOCAL_FILES: LOCAL_FILES_CLASS, **shuffle}


def _set_defaults(builder: SparkSession.Builder, before: Callable[[str], str | None]) -> None:
    """Sets what nobody has set."""
    for name, value in defaults().items():
        if before(name) is None and name not in builder._options:
            builder.config(name, value)


def _names_jar(jars: str, jar: Path) -> bool:
    """Whether a list of jars has this one, here or elsewhere.

    Raises:
        InvalidConfiguration: it has one of another version.
    """
    names = {Path(each.strip()).name for each in jars.split(",")}
    others = sorted(name for name in names if name.startswith(NAME_PREFIX) and name != jar.name)
    if others:
        raise InvalidConfiguration(
            f"the jars of Spark have {others[0]}, and the package's is {jar.name}.", "remove the former."
        )
    return jar.name in names
