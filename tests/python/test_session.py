from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

import snapline
from snapline import StateBackendConfig, jar
from snapline._version import __spark_lines__
from snapline.errors import InvalidConfiguration, WrongSparkVersion
from snapline.jar import EXTENSION_CLASS, PLUGIN_CLASS, PROVIDER_CLASS
from snapline.running import RunningSpark
from snapline.session import LOCAL_FILES, RELATIONS_CLASS, defaults
from snapline.spark_line import spark_line

from .test_jar import make_jar

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
OURS = {"version": snapline.__version__, "spark.line": spark_line()}


class FakeSpark(RunningSpark):
    """A JVM that runs, without one."""

    def __init__(self, properties: Mapping[str, str], conf: Mapping[str, str], *, context: bool) -> None:
        self._properties, self._settings, self._has_context = properties, conf, context

    @property
    def has_context(self) -> bool:
        return self._has_context

    def conf(self, name: str) -> str | None:
        return self._settings.get(name)

    def jar_properties(self) -> Mapping[str, str]:
        return self._properties


@pytest.fixture(autouse=True)
def the_jar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The package has a jar, and no Spark runs."""
    monkeypatch.setattr(jar, "_FOLDER", tmp_path)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS", raising=False)
    run_spark(monkeypatch, None)
    return make_jar(tmp_path)


def run_spark(monkeypatch: pytest.MonkeyPatch, running: RunningSpark | None) -> None:
    monkeypatch.setattr(RunningSpark, "find", lambda: running)


@pytest.fixture
def builder() -> SparkSession.Builder:
    return SparkSession.builder


def test_adds_jar_extension_and_provider(builder: SparkSession.Builder, the_jar: Path) -> None:
    assert snapline.configure(builder) is builder
    assert builder._options == {
        "spark.jars": str(the_jar),
        "spark.sql.extensions": EXTENSION_CLASS,
        "spark.plugins": PLUGIN_CLASS,
        **defaults(),
        PROVIDER: PROVIDER_CLASS,
    }


def test_keeps_what_the_builder_names(builder: SparkSession.Builder, the_jar: Path) -> None:
    builder.config("spark.jars", "/a.jar, /b.jar").config("spark.sql.extensions", "x.Y")
    builder.config("spark.plugins", "x.Plug")
    snapline.configure(builder)
    assert builder._options["spark.jars"] == f"/a.jar,/b.jar,{the_jar}"
    assert builder._options["spark.sql.extensions"] == f"x.Y,{EXTENSION_CLASS}"
    assert builder._options["spark.plugins"] == f"x.Plug,{PLUGIN_CLASS}"


def test_twice_is_once(builder: SparkSession.Builder) -> None:
    once = dict(snapline.configure(builder)._options)
    assert snapline.configure(builder)._options == once


def test_keeps_what_the_defaults_name(builder: SparkSession.Builder, the_jar: Path) -> None:
    defaults = the_jar.parent / "spark-defaults.conf"
    defaults.write_text(f"spark.jars /d.jar\nspark.sql.extensions x.Y\n{PROVIDER} org.example.Theirs\n")
    snapline.configure(builder)
    assert builder._options["spark.jars"] == f"/d.jar,{the_jar}"
    assert builder._options["spark.sql.extensions"] == f"x.Y,{EXTENSION_CLASS}"
    assert builder._options[PROVIDER] == PROVIDER_CLASS


def test_another_class_for_local_files_stays(
    builder: SparkSession.Builder, the_jar: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert snapline.configure(builder.config(LOCAL_FILES, "x.Files"))._options[LOCAL_FILES] == "x.Files"
    del builder._options[LOCAL_FILES]
    (the_jar.parent / "spark-defaults.conf").write_text(f"{LOCAL_FILES} y.Files\n")
    assert LOCAL_FILES not in snapline.configure(builder)._options
    run_spark(monkeypatch, FakeSpark(OURS, {LOCAL_FILES: "z.Files"}, context=False))
    assert LOCAL_FILES not in snapline.configure(builder)._options


def test_settings_are_passed_on(builder: SparkSession.Builder) -> None:
    snapline.configure(builder, state_backend=StateBackendConfig(snapshot_threads=4))
    assert builder._options["spark.snapline.snapshot.threads"] == "4"


def test_backend_and_storage_are_passed_on(builder: SparkSession.Builder) -> None:
    snapline.configure(
        builder,
        state_backend=snapline.HashMapStateBackend(),
        checkpoint_storage=snapline.JobManagerCheckpointStorage(max_state_size="1m"),
    )
    assert builder._options["spark.snapline.state.backend.type"] == "hashmap"
    assert builder._options["spark.snapline.execution.checkpointing.storage"] == "memory"
    assert builder._options["spark.snapline.execution.checkpointing.storage.max-state-size"] == "1m"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (PROVIDER, "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"),
        ("spark.snapline.snapshot.threads", "-1"),
        ("spark.snapline.unheard", "1"),
        ("spark.jars", "/old/snapline-spark-4.2_2.13-0.0.1.jar"),
    ],
)
def test_what_does_not_fit_is_refused(builder: SparkSession.Builder, name: str, value: str) -> None:
    builder.config(name, value)
    with pytest.raises(InvalidConfiguration):
        snapline.configure(builder)


@pytest.mark.parametrize(
    ("options", "environment"),
    [
        ({"spark.remote": "sc://server"}, {}),
        ({}, {"SPARK_REMOTE": "sc://server/;token=hush"}),
        ({"spark.api.mode": "classic"}, {"SPARK_REMOTE": "sc://server/;token=hush"}),
        ({}, {"SPARK_CONNECT_MODE_ENABLED": "1"}),
    ],
)
def test_a_server_has_its_jar_itself(
    builder: SparkSession.Builder,
    monkeypatch: pytest.MonkeyPatch,
    options: dict[str, str],
    environment: dict[str, str],
) -> None:
    for name, value in options.items():
        builder.config(name, value)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    snapline.configure(builder)
    assert builder._options == {**options, PROVIDER: PROVIDER_CLASS}


@pytest.mark.parametrize(
    ("options", "environment"),
    [
        ({"spark.remote": "local[2]"}, {}),
        ({"spark.api.mode": "connect"}, {}),
        ({"spark.api.mode": "Connect", "spark.master": "local[1]"}, {}),
        ({}, {"SPARK_API_MODE": "connect"}),
        ({}, {"SPARK_CONNECT_MODE": "1"}),
        ({}, {"SPARK_REMOTE": "local"}),
    ],
)
def test_a_server_that_pyspark_starts_gets_it(
    builder: SparkSession.Builder,
    monkeypatch: pytest.MonkeyPatch,
    the_jar: Path,
    options: dict[str, str],
    environment: dict[str, str],
) -> None:
    for name, value in options.items():
        builder.config(name, value)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    builder.config("spark.connect.extensions.relation.classes", "other.Relations")
    found = snapline.configure(builder)._options
    assert found["spark.jars"] == str(the_jar)
    assert found["spark.connect.extensions.relation.classes"] == f"other.Relations,{RELATIONS_CLASS}"
    assert found["spark.sql.extensions"].endswith("SnaplineExtension")
    assert "spark.plugins" not in found
    assert found["spark.plugins.defaultList"] == PLUGIN_CLASS


def test_classic_where_connect_is_the_default_is_not_refused(
    builder: SparkSession.Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_CONNECT_MODE", "1")
    monkeypatch.setenv("SPARK_API_MODE", "connect")
    assert PROVIDER in snapline.configure(builder.config("spark.api.mode", "classic"))._options


def test_jars_of_the_command_line_must_have_ours(
    builder: SparkSession.Builder, the_jar: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--jars /k.jar pyspark-shell")
    with pytest.raises(InvalidConfiguration, match=str(the_jar)):
        snapline.configure(builder)
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"--jars /k.jar,/elsewhere/{the_jar.name} pyspark-shell")
    assert snapline.configure(builder)._options["spark.jars"] == f"/k.jar,/elsewhere/{the_jar.name}"


def test_a_spark_that_no_jar_serves_is_refused(builder: SparkSession.Builder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pyspark, "__version__", "3.5.1")
    with pytest.raises(WrongSparkVersion, match=rf"no Snapline \S+ for Spark 3\.5, only for .*{__spark_lines__[0]}"):
        snapline.configure(builder)


def test_a_spark_that_runs_without_the_jar_is_refused(
    builder: SparkSession.Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_spark(monkeypatch, FakeSpark({}, {}, context=True))
    with pytest.raises(InvalidConfiguration, match="without Snapline's jar"):
        snapline.configure(builder)
    assert builder._options == {}


def test_a_spark_that_runs_with_another_jar_is_refused(
    builder: SparkSession.Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_spark(monkeypatch, FakeSpark(OURS | {"version": "0.0.1"}, {}, context=False))
    with pytest.raises(WrongSparkVersion, match=r"0\.0\.1"):
        snapline.configure(builder)
    run_spark(monkeypatch, FakeSpark(OURS | {"spark.line": "3.5"}, {}, context=False))
    with pytest.raises(WrongSparkVersion, match=r"for Spark 3\.5, and the package"):
        snapline.configure(builder)


def test_a_session_without_the_extension_is_refused(
    builder: SparkSession.Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = FakeSpark(OURS, {"spark.sql.extensions": "x.Y"}, context=True)
    run_spark(monkeypatch, running)
    with pytest.raises(InvalidConfiguration, match=r"stop\(\)"):
        snapline.configure(builder)


def test_under_spark_submit_its_jars_stay(builder: SparkSession.Builder, monkeypatch: pytest.MonkeyPatch) -> None:
    running = FakeSpark(OURS, {"spark.sql.extensions": "x.Y"}, context=False)
    run_spark(monkeypatch, running)
    snapline.configure(builder)
    assert builder._options == {
        "spark.sql.extensions": f"x.Y,{EXTENSION_CLASS}",
        "spark.plugins": PLUGIN_CLASS,
        **defaults(),
        PROVIDER: PROVIDER_CLASS,
    }


def test_a_session_that_has_all_is_left_alone(builder: SparkSession.Builder, monkeypatch: pytest.MonkeyPatch) -> None:
    conf = {"spark.sql.extensions": f"x.Y,{EXTENSION_CLASS}"}
    run_spark(monkeypatch, FakeSpark(OURS, conf, context=True))
    snapline.configure(builder)
    assert builder._options == {PROVIDER: PROVIDER_CLASS}
