"""What `twiceshy doctor` looks at, part by part. A check says what it found, or raises with what is wrong."""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from aiokafka import AIOKafkaConsumer
from qdrant_client import AsyncQdrantClient
from redis.asyncio import Redis

from twiceshy.client import RecallClient
from twiceshy.core.credentials import UNSIGNED, UNSIGNED_TRUST_MAX
from twiceshy.errors import NotReadyError, TransientError, TwiceshyError
from twiceshy.settings import Settings, current_stack_file
from twiceshy.stores import cypher, falkordb_settings, handover
from twiceshy.stores.connection import answering, connect
from twiceshy.stores.embeddings import EmbeddingsClient
from twiceshy.stores.generations import Generations
from twiceshy.stores.graph import STAGES, Graphs
from twiceshy.stores.notes import LIVE_CHAIN, Note, Progress
from twiceshy.stores.vectors import Vectors
from twiceshy.stream.admin import end_offsets, reader, topic_faults, topics_on_producers_time
from twiceshy.stream.topics import BROKERS_TIME, TIMESTAMP_TYPE, TOPICS

CHECK_SECONDS_MAX = 20.0
STANDSTILL_SECONDS_MAX = 5.0
POLL_SECONDS = 0.1
RECALL_DEADLINE_MS = 5_000

_GUARDED = (
    TOPICS.incidents_concluded,
    TOPICS.incidents_backfill,
    TOPICS.memory_commands,
    TOPICS.quarantine_decisions,
)


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found: that the part is well, and a sentence."""

    part: str
    well: bool
    detail: str


@dataclass(frozen=True, slots=True)
class Connections:
    """What the checks share."""

    settings: Settings
    redis: Redis
    embeddings: EmbeddingsClient
    qdrant: AsyncQdrantClient


async def examine(settings: Settings) -> list[Finding]:
    """Every finding, in the order of the parts. Parts are looked at side by side."""
    embeddings_key, qdrant_key = settings.embeddings_api_key, settings.qdrant_api_key
    parts = Connections(
        settings,
        connect(settings.falkordb),
        EmbeddingsClient(
            settings.embeddings,
            settings.embeddings_model,
            api_key=embeddings_key.get_secret_value() if embeddings_key else None,
        ),
        AsyncQdrantClient(
            url=settings.qdrant,
            api_key=qdrant_key.get_secret_value() if qdrant_key else None,
            timeout=10,
            check_compatibility=False,
        ),
    )
    try:
        return list(await asyncio.gather(*(_finding(part, check, parts) for part, check in CHECKS.items())))
    finally:
        await parts.qdrant.close()
        await parts.embeddings.aclose()
        await parts.redis.aclose()


async def _finding(part: str, check: "Check", parts: Connections) -> Finding:
    try:
        async with asyncio.timeout(CHECK_SECONDS_MAX):
            return Finding(part, True, await check(parts))
    except TwiceshyError as error:
        return Finding(part, False, str(error))
    except TimeoutError:
        return Finding(part, False, f"There was no answer within {CHECK_SECONDS_MAX:.0f} s.")
    except Exception as error:  # noqa: BLE001 - whatever a part answers, the others are still to be told of
        return Finding(part, False, f"It answers what was not expected: {type(error).__name__}: {error}")


async def check_stack(parts: Connections) -> str:
    file = current_stack_file()
    try:
        stack = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return "No embedded stack runs; the addresses are those of the settings."
    try:
        os.kill(stack["pid"], 0)
    except ProcessLookupError:
        raise NotReadyError(
            f"{file} is of an embedded stack that was killed (process {stack['pid']}): run `twiceshy up`, "
            f"or delete that file if you run the parts yourself."
        ) from None
    return f"The embedded stack runs as process {stack['pid']}, with its memory in {stack['data']}."


async def check_credentials(parts: Connections) -> str:
    settings = parts.settings
    known = settings.known_credentials()
    settings.signing_secret()
    if untold := settings.unvouched_origins():
        return (
            f"No credential speaks for {', '.join(untold)}: what is said in that name is filed as "
            f"{UNSIGNED}{untold[0]} and trusted {UNSIGNED_TRUST_MAX} at most, whatever `origins` says. Make one: "
            f"`twiceshy credential new ID --tenant TENANT --origin {untold[0]}`."
        )
    if not known:
        return "None is configured: events are unsigned, and whoever may write to the topics may give commands."
    return f"{', '.join(one.id for one in known)}: each has its secret."


async def check_topics(parts: Connections) -> str:
    wanted = TOPICS.existing(parts.settings.tenants)
    faults = await topic_faults(parts.settings, wanted)
    if faults:
        raise NotReadyError(" ".join(faults))
    well = f"{parts.settings.kafka} has all {len(wanted)} topics, with the declared partitions."
    if on_producers_time := await topics_on_producers_time(parts.settings, wanted):
        return (
            f"{well} But the time of a record is its producer's in {', '.join(on_producers_time)}, and a burst is "
            f"judged by when its incidents came: set {TIMESTAMP_TYPE} of each to {BROKERS_TIME}."
        )
    return well


async def check_falkordb(parts: Connections) -> str:
    async with answering():
        faults = await falkordb_settings.verify(parts.redis)
    if faults:
        raise NotReadyError(" ".join(faults))
    return f"{parts.settings.falkordb} has the settings that the memory rests on."


async def check_graphs(parts: Connections) -> str:
    found: list[str] = []
    wanted = cypher.INDEXES + cypher.EDGE_INDEXES
    for tenant in parts.settings.tenants:
        graph = Graphs(parts.redis, (await Generations(parts.redis).of(tenant)).live).of(tenant)
        watermarks = await graph.watermarks()
        if not watermarks:
            found.append(f"{tenant}: nothing yet")
            continue
        states = {
            (label, field): status
            for label, fields, status in await graph.read(cypher.LIST_INDEXES)
            for field in fields
        }
        lacking = [f"{label}.{field}" for label, field in wanted if states.get((label, field)) != "OPERATIONAL"]
        if lacking:
            raise NotReadyError(
                f"The graph of tenant {tenant} lacks working indexes ({', '.join(lacking)}): restart the worker "
                "`graph`, which makes them."
            )
        found.append(f"{tenant}: {len(wanted)} indexes work")
    return "; ".join(found) + "."


async def check_embedder(parts: Connections) -> str:
    model = await parts.embeddings.probe()
    return f"{parts.settings.embeddings} embeds with {model.name}, {model.dimension} dimensions."


async def check_vectors(parts: Connections) -> str:
    model = await parts.embeddings.probe()
    vectors = Vectors(parts.qdrant, model)
    await vectors.verify()
    for tenant in parts.settings.tenants:
        graph = Graphs(parts.redis, (await Generations(parts.redis).of(tenant)).live).of(tenant)
        kept = await handover.kept_of(graph)
        if kept is not None and kept.model not in (None, model.name):
            raise NotReadyError(handover.other_model(tenant, kept.model, model.name))
    return f"{parts.settings.qdrant} has {vectors.collection}, made by the model that embeds now."


async def check_chain(parts: Connections) -> str:
    progress = Progress(parts.redis, LIVE_CHAIN)
    async with reader(parts.settings) as consumer:
        before = now = await _places(consumer, progress)
        still = {stage for stage, place in before.items() if place.behind}
        for _ in range(int(STANDSTILL_SECONDS_MAX / POLL_SECONDS)):
            if not still:
                break
            await asyncio.sleep(POLL_SECONDS)
            now = await _places(consumer, progress)
            still = {stage for stage in still if now[stage].behind and now[stage].done == before[stage].done}
    if still:
        stuck = ", ".join(f"{stage} ({now[stage].behind} entries behind)" for stage in sorted(still))
        raise NotReadyError(
            f"Nothing moves in {stuck}: see that the worker runs, and what its log says that it waits for."
        )
    behind = [f"{stage} is {place.behind} entries behind" for stage, place in now.items() if place.behind]
    return f"At work: {', '.join(behind)}." if behind else f"{', '.join(now)} have done all that was published."


@dataclass(frozen=True, slots=True)
class Place:
    """How many entries a stage has done, and how many there are that it has not."""

    done: int
    behind: int

    def __add__(self, other: "Place") -> "Place":
        return Place(self.done + other.done, self.behind + other.behind)


async def _places(consumer: AIOKafkaConsumer, progress: Progress) -> dict[str, Place]:
    inputs = progress.beside("inputs")
    places = {"guard": Place(0, 0)}
    for topic in _GUARDED:
        places["guard"] += _place(await end_offsets(consumer, topic), await inputs.of(topic.name))
    ends = await end_offsets(consumer, TOPICS.memory_log)
    for stage in STAGES:
        places[stage] = _place(ends, await progress.of(stage))
    return places


def _place(ends: dict[int, int], notes: dict[int, Note]) -> Place:
    done = {partition: notes[partition].offset + 1 if partition in notes else 0 for partition in ends}
    return Place(sum(done.values()), sum(max(0, end - done[partition]) for partition, end in ends.items()))


async def check_recall(parts: Connections) -> str:
    tenant = parts.settings.tenants[0]
    async with RecallClient(parts.settings) as client:
        reply = await client.recall(tenant=tenant, query="is anybody there", deadline_ms=RECALL_DEADLINE_MS)
    if reply.status != "ok":
        raise NotReadyError(f"Recall answers {reply.status}: {reply.detail}")
    if reply.partial:
        missing = ", ".join(f"{name} ({leg.reason or leg.status})" for name, leg in reply.legs.items() if leg.reason)
        raise TransientError(f"Recall answers without a part of it: {missing or reply.detail}.")
    return f"A question about tenant {tenant} was answered in {reply.took_ms:.1f} ms."


Check = Callable[[Connections], Awaitable[str]]

CHECKS: dict[str, Check] = {
    "stack": check_stack,
    "credentials": check_credentials,
    "kafka": check_topics,
    "falkordb": check_falkordb,
    "graphs": check_graphs,
    "embedder": check_embedder,
    "qdrant": check_vectors,
    "chain": check_chain,
    "recall": check_recall,
}
