"""Faust's Kafka transport, with the three things changed that delivery rests on.

- How long the broker may hold a fetch is ours to set: Faust has 1,500 ms, and Tansu sleeps half of it.
- Only what a worker has finished is acknowledged. A stream also acknowledges events that it skips because
  they were fetched before a rebalance, and those were never processed.
- After Faust has sought the committed offsets, a worker may go back further (or on), to where the notes of
  progress say.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

import aiokafka
from faust.transport.drivers import aiokafka as driver
from faust.types import TP, EventT, Message

StartingOffsets = Callable[[set[TP]], Awaitable[Mapping[TP, int]]]


class ConsumerThread(driver.AIOKafkaConsumerThread):
    def _create_worker_consumer(self, transport: driver.Transport) -> aiokafka.AIOKafkaConsumer:
        consumer = super()._create_worker_consumer(transport)
        consumer._fetch_max_wait_ms = cast(Transport, transport).fetch_wait_ms
        return consumer


class Consumer(driver.Consumer):
    _finishing: Message | None = None

    def _new_consumer_thread(self) -> ConsumerThread:
        return ConsumerThread(self, loop=self.loop, beacon=self.beacon)

    def finish(self, event: EventT[Any]) -> None:
        """Acknowledges an event whose effects are durable and whose outputs the broker has."""
        self._finishing = event.message
        try:
            event.ack()
        finally:
            self._finishing = None

    def ack(self, message: Message) -> bool:
        if message is not self._finishing:
            return False
        return super().ack(message)

    async def perform_seek(self) -> None:
        await super().perform_seek()
        starts = await cast(Transport, self.transport).starting_offsets(self.assignment())
        if starts:
            await self.seek_wait(starts)
            for partition, offset in starts.items():
                # Faust drops what stands before the last offset read, and takes 0 for "nothing read".
                self._read_offset[partition] = offset or None


class Transport(driver.Transport):
    Consumer = Consumer

    fetch_wait_ms: int
    starting_offsets: StartingOffsets
