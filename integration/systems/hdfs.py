"""HDFS in a JVM: Hadoop's own MiniDFSCluster, of the Hadoop that Spark ships."""

from __future__ import annotations

from pathlib import Path

from .artifacts import jar, spark_jar, version_of
from .process import Process, free_ports

LOGGING = ("slf4j-api", "log4j-slf4j2-impl", "log4j-api", "log4j-core", "log4j-1.2-api", "jcl-over-slf4j")
"""What the shaded jars of Hadoop leave to others; these are Spark's."""
JAVA = ["java", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData"]


class Hdfs:
    """The cluster. Orders to it return when they are carried out."""

    def __init__(self, folder: Path) -> None:
        version = version_of("hadoop-client-api")
        jars = [jar(f"org.apache.hadoop:hadoop-client-minicluster:{version}")]
        jars += [spark_jar(name) for name in ("hadoop-client-api", "hadoop-client-runtime", *LOGGING, "snappy-java")]
        (self.port,) = free_ports(1)
        source = Path(__file__).with_name("HdfsCluster.java")
        command = [*JAVA, "-cp", ":".join(map(str, jars)), str(source), str(folder / "data"), str(self.port)]
        self.process = Process(command, folder / "hdfs.log", input=True)
        self._orders = 0
        self.process.wait_for("ready\n", 120)

    @property
    def address(self) -> str:
        return f"hdfs://127.0.0.1:{self.port}"

    def order(self, text: str) -> None:
        self._orders += 1
        self.process.say(text)
        self.process.wait_until(lambda: self.process.text.count("done: ") == self._orders, 120, f"done: {text}")
