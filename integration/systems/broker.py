"""A Kafka broker: one JVM, which is its own controller."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from .artifacts import SCALA, class_path
from .process import Process, free_ports
from .rows import Row, to_json

VERSION = "3.9.2"
"""As the clients of this line of Spark are."""
JAVA = ["java", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData"]
CLUSTER = "AAAAAAAAAAAAAAAAAAAAAA"

SETTINGS = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},SASL_PLAINTEXT://127.0.0.1:{user_port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port},SASL_PLAINTEXT://127.0.0.1:{user_port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT
sasl.enabled.mechanisms=PLAIN
listener.name.sasl_plaintext.plain.sasl.jaas.config={login} user_{user}="{password}";
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
log.dirs={data}
auto.create.topics.enable=false
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
"""


LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
USER, PASSWORD = "app", "secret"


class Broker:
    """Its data is in a folder, and outlives the process. Clients that give no name may do everything."""

    def __init__(self, folder: Path, **settings: object) -> None:
        """`settings`: the broker's own, with `_` for each dot."""
        pytest.importorskip("kafka", reason="kafka-python is missing: integration/systems/requirements.txt")
        self.port, self._user_port, controller = free_ports(3)
        self._log = folder / "broker.log"
        self._settings = folder / "broker.properties"
        ports = {"port": self.port, "user_port": self._user_port, "controller": controller}
        text = SETTINGS.format(**ports, data=folder / "data", login=LOGIN, user=USER, password=PASSWORD)
        given = "".join(f"{name.replace('_', '.')}={value}\n" for name, value in settings.items())
        self._settings.write_text(text + given)
        self._java = [*JAVA, "-cp", class_path(f"org.apache.kafka:kafka_{SCALA}:{VERSION}")]
        tool = ["kafka.tools.StorageTool", "format", "-t", CLUSTER, "-c", str(self._settings)]
        subprocess.run([*self._java, *tool], check=True, capture_output=True)
        self.process: Process | None = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def user_options(self) -> dict[str, str]:
        """Of Spark, for a user who may do nothing that `allow` did not name."""
        login = f'{LOGIN} username="{USER}" password="{PASSWORD}";'
        return {
            "kafka.bootstrap.servers": f"127.0.0.1:{self._user_port}",
            "kafka.security.protocol": "SASL_PLAINTEXT",
            "kafka.sasl.mechanism": "PLAIN",
            "kafka.sasl.jaas.config": login,
        }

    def start(self) -> Process:
        """Returns when it answers."""
        self.process = Process([*self._java, "kafka.Kafka", str(self._settings)], self._log)
        self.process.wait_until(self._answers, 60, "answer of the broker")
        return self.process

    def _answers(self) -> bool:
        try:
            with self.admin() as admin:
                admin.list_topics()
            return True
        except Exception:
            time.sleep(0.3)
            return False

    @contextmanager
    def admin(self) -> Iterator[Any]:
        from kafka import KafkaAdminClient

        admin = KafkaAdminClient(bootstrap_servers=self.address, request_timeout_ms=10_000)
        try:
            yield admin
        finally:
            admin.close()

    def make_topic(self, name: str, partitions: int, **settings: str) -> None:
        from kafka.admin import NewTopic

        given = {name.replace("_", "."): value for name, value in settings.items()}
        with self.admin() as admin:
            admin.create_topics([NewTopic(name, partitions, 1, topic_configs=given)])

    def delete_topic(self, name: str) -> None:
        with self.admin() as admin:
            admin.delete_topics([name])

    def allow(self, kind: str, name: str, *operations: str, prefix: bool = False) -> None:
        """The user of `user_options`: operations on a resource of this kind (TOPIC, TRANSACTIONAL_ID)."""
        from kafka.admin import (
            ACL,
            ACLOperation,
            ACLPermissionType,
            ACLResourcePatternType,
            ResourcePattern,
            ResourceType,
        )

        pattern = ACLResourcePatternType.PREFIXED if prefix else ACLResourcePatternType.LITERAL
        resource = ResourcePattern(ResourceType[kind], name, pattern)
        allowed = [
            ACL(f"User:{USER}", "*", ACLOperation[each], ACLPermissionType.ALLOW, resource) for each in operations
        ]
        with self.admin() as admin:
            admin.create_acls(allowed)

    def send(self, topic: str, rows: Sequence[Row]) -> None:
        """A key's rows go to one partition, in their order."""
        from kafka import KafkaProducer

        producer = KafkaProducer(bootstrap_servers=self.address, acks="all")
        for row in rows:
            producer.send(topic, key=str(row.k).encode(), value=to_json(row).encode())
        producer.flush()
        producer.close()

    def read(self, topic: str) -> list[bytes]:
        """Every record there is, in the order of its partition, as a consumer sees it that reads what is committed."""
        from kafka import KafkaConsumer, TopicPartition

        consumer = KafkaConsumer(
            bootstrap_servers=self.address, enable_auto_commit=False, isolation_level="read_committed"
        )
        try:
            parts = [TopicPartition(topic, number) for number in consumer.partitions_for_topic(topic)]
            consumer.assign(parts)
            consumer.seek_to_beginning(*parts)
            ends = consumer.end_offsets(parts)
            found: list[bytes] = []
            # Ends of transactions have offsets too, and are no records.
            while any(consumer.position(part) < ends[part] for part in parts):
                for records in consumer.poll(1000).values():
                    found += [record.value for record in records]
            return found
        finally:
            consumer.close()

    def delete_before(self, topic: str, offsets: Mapping[int, int]) -> None:
        """As retention does: records below these offsets are gone."""
        from kafka import TopicPartition

        with self.admin() as admin:
            admin.delete_records({TopicPartition(topic, number): offset for number, offset in offsets.items()})
