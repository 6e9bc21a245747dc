"""The adapter of Qdrant: one collection for all tenants, a point a version of an item.

Points are inserted only if they are not there yet; all that changes later is their closing stamp and a
vector that was missing. So a late writer cannot undo anything.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from typing import Any

from qdrant_client import AsyncQdrantClient, models
from qdrant_client.http.exceptions import UnexpectedResponse

from twiceshy.core.lexical import TOKENISER_VERSION
from twiceshy.errors import NotReadyError
from twiceshy.stores.embeddings import Model, Vector
from twiceshy.stores.points import (
    DENSE,
    LEXICAL,
    Hit,
    Item,
    Scope,
    Search,
    changed_conditions,
    owner_conditions,
    point_id,
    to_point,
    to_request,
)
from twiceshy.stores.requests import POINTS_MAX, answering, in_parts, still_there

_INDEXED: dict[str, Any] = {
    "tenant": models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True),
    "generation": models.PayloadSchemaType.KEYWORD,
    "kind": models.PayloadSchemaType.KEYWORD,
    "origin": models.PayloadSchemaType.KEYWORD,
    "said_at": models.PayloadSchemaType.INTEGER,
    "t_valid": models.PayloadSchemaType.INTEGER,
    "t_invalid": models.PayloadSchemaType.INTEGER,
    "t_created": models.PayloadSchemaType.INTEGER,
    "t_expired": models.PayloadSchemaType.INTEGER,
    "vector_missing": models.PayloadSchemaType.BOOL,
}


def collection_name(model: Model) -> str:
    slug = "".join(letter if letter.isalnum() else "-" for letter in model.name.lower())
    # Without the dimension: a model that has another one now is to be refused, and not to begin with nothing.
    return f"twiceshy-items-{slug}-t{TOKENISER_VERSION}"


class Vectors:
    """The collection of one embedding model."""

    def __init__(self, client: AsyncQdrantClient, model: Model) -> None:
        self._client = client
        self._model = model
        self.model = model.name
        self.collection = collection_name(model)

    def beside(self, model: str) -> "Vectors":
        """The collection of another model, to read and to delete: that model need not be there any more."""
        return Vectors(self._client, Model(model, dimension=0, canary=()))

    async def prepare(self) -> None:
        """Makes the collection and its payload indexes, or verifies that what is there fits the model.

        Raises:
            NotReadyError: the collection was made for other vectors.
        """
        async with answering():
            try:
                await self._client.create_collection(
                    self.collection,
                    vectors_config={
                        DENSE: models.VectorParams(size=self._model.dimension, distance=models.Distance.COSINE)
                    },
                    sparse_vectors_config={LEXICAL: models.SparseVectorParams(modifier=models.Modifier.IDF)},
                    metadata={"model": self._model.name, "canary": list(self._model.canary)},
                )
            except UnexpectedResponse as error:
                if error.status_code != 409:
                    raise
            indexed = await self.verify()
            for field, schema in _INDEXED.items():
                if field not in indexed:
                    await self._client.create_payload_index(self.collection, field, schema, wait=True)

    async def verify(self) -> Collection[str]:
        """Proves that the collection is there and fits the model.

        Returns:
            The payload fields that are indexed.

        Raises:
            NotReadyError: it is not there, or was made for other vectors.
        """
        try:
            async with answering():
                collection = await self._client.get_collection(self.collection)
        except UnexpectedResponse as error:
            if error.status_code != 404:
                raise
            raise NotReadyError(
                f"Qdrant has no collection {self.collection}: a worker makes it when it starts with this "
                "embeddings_model."
            ) from None
        config = collection.config
        vectors = config.params.vectors
        dense = vectors.get(DENSE) if isinstance(vectors, dict) else None
        if dense is None or dense.size != self._model.dimension or dense.distance != models.Distance.COSINE:
            raise NotReadyError(
                f"The collection {self.collection} does not have vectors of {self._model.dimension} dimensions "
                "with cosine distance. Delete it and fold the log again, or set another embeddings_model."
            )
        if not self._model.made((config.metadata or {}).get("canary") or []):
            raise NotReadyError(
                f"The vectors in {self.collection} were made by another model of the name {self._model.name!r}: "
                "a known text has another vector now. Set embeddings_model back to the model that made them, or "
                "give the new one a name of its own and take them over with `twiceshy reembed`."
            )
        return collection.payload_schema

    async def insert(self, items: Sequence[Item]) -> None:
        """Adds the items that are not there yet, and leaves those that are as they are."""

        async def insert(chunk: Sequence[Item]) -> None:
            points = [to_point(item) for item in chunk]
            async with answering():
                await self._client.upsert(self.collection, points, wait=True, update_mode=models.UpdateMode.INSERT_ONLY)

        await in_parts(insert, items)

    async def close(self, generation: str, closed: Iterable[tuple[str, int]]) -> None:
        """Sets the closing stamp (``t_expired``) of versions that are no longer believed."""
        by_stamp: dict[int, list[models.ExtendedPointId]] = defaultdict(list)
        for version_id, at in closed:
            by_stamp[at].append(point_id(generation, version_id))
        for at, points in by_stamp.items():
            # By filter: an id of a point that was never made is no error then.
            chosen = models.Filter(must=[models.HasIdCondition(has_id=points)])
            async with answering():
                await self._client.set_payload(self.collection, {"t_expired": at}, points=chosen, wait=True)

    async def search(self, scope: Scope, searches: Sequence[Search]) -> list[list[Hit]]:
        """The hits of each search, best first, in one round trip: a request costs more than what it asks for."""
        batch = models.QueryRequestBatch(searches=[to_request(scope, search) for search in searches])
        async with answering():
            # The client's own query_batch_points copies every request deeply, vector and all, which takes longer
            # than the search.
            answer = await self._client.http.search_api.query_batch_points(self.collection, query_request_batch=batch)
        hits = (
            [Hit((point.payload or {})["version_id"], point.score) for point in one.points]
            for one in answer.result or ()
        )
        # Equal scores come in the order of internal ids, which another build of the memory has not.
        return [sorted(of_one, key=lambda hit: (-hit.score, hit.version_id)) for of_one in hits]

    async def payloads(self, generation: str, version_ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        """The payloads of those versions that have a point, by version id."""
        if not version_ids:
            return {}
        async with answering():
            points = await self._client.retrieve(
                self.collection, [point_id(generation, version_id) for version_id in version_ids], with_payload=True
            )
        return {(point.payload or {})["version_id"]: point.payload or {} for point in points}

    async def copies(
        self, places: dict[str, tuple[str, str]], fields: Sequence[str] | None = None
    ) -> dict[str, models.Record]:
        """Points with their vectors, by key of ``places``, which has (generation, version id) of each.

        With ``fields``, those alone of their payloads.
        """
        keys = {point_id(*place): key for key, place in places.items()}
        found: dict[str, models.Record] = {}
        payload = True if fields is None else list(fields)

        async def retrieve(chunk: Sequence[str]) -> None:
            async with answering():
                points = await self._client.retrieve(self.collection, chunk, with_payload=payload, with_vectors=True)
            found.update({keys[str(point.id)]: point for point in points})

        await in_parts(retrieve, list(keys))
        return found

    async def missing(self, limit: int) -> list[dict[str, Any]]:
        """Payloads of items that are found by their words alone, for want of a vector; of any generation."""
        condition = models.Filter(
            must=[models.FieldCondition(key="vector_missing", match=models.MatchValue(value=True))]
        )
        async with answering():
            points, _ = await self._client.scroll(self.collection, condition, limit=limit, with_payload=True)
        return [point.payload or {} for point in points]

    async def fill(self, vectors: dict[tuple[str, str], Vector | None]) -> None:
        """Gives items the vectors that they lacked, by generation and version id; None for a text that has none."""
        found = {point_id(*place): vector for place, vector in vectors.items() if vector is not None}
        never: list[models.ExtendedPointId] = [point_id(*place) for place, vector in vectors.items() if vector is None]
        async with answering(), still_there():
            if found:
                points = [models.PointVectors(id=point, vector={DENSE: vector}) for point, vector in found.items()]
                await self._client.update_vectors(self.collection, points, wait=True)
                filled = {"vector_missing": False, "has_vector": True}
                await self._client.set_payload(self.collection, filled, points=[*found], wait=True)
            if never:
                await self._client.set_payload(self.collection, {"vector_missing": False}, points=never, wait=True)

    async def every(
        self, tenant: str, generation: str
    ) -> AsyncIterator[tuple[dict[str, Any], Vector | None, dict[int, float]]]:
        """Each point of a tenant's generation: payload, dense vector, and weights of its words by term."""
        offset: models.ExtendedPointId | None = None
        condition = models.Filter(must=owner_conditions(tenant, generation))
        while True:
            async with answering():
                points, offset = await self._client.scroll(
                    self.collection, condition, limit=256, offset=offset, with_payload=True, with_vectors=True
                )
            for point in points:
                named: Any = point.vector or {}
                words = named[LEXICAL]
                yield point.payload or {}, named.get(DENSE), dict(zip(words.indices, words.values, strict=True))
            if offset is None:
                return

    async def page(
        self, tenant: str, generation: str, offset: models.ExtendedPointId | None, since: int | None = None
    ) -> tuple[list[models.Record], models.ExtendedPointId | None]:
        """Points with payload and words, and where the next page begins (None: there is none).

        With ``since``, only those that were made or closed after that transaction time.
        """
        async with answering():
            return await self._client.scroll(
                self.collection,
                models.Filter(must=[*owner_conditions(tenant, generation), *changed_conditions(since)]),
                limit=POINTS_MAX,
                offset=offset,
                with_payload=True,
                with_vectors=[LEXICAL],
            )

    async def count(self, tenant: str, generation: str) -> int:
        async with answering():
            owned = models.Filter(must=owner_conditions(tenant, generation))
            return (await self._client.count(self.collection, owned, exact=True)).count

    async def other_generation(self, tenant: str, known: Collection[str]) -> str | None:
        """A generation of which a tenant has points, and which is none of those that are known."""
        mine = models.FieldCondition(key="tenant", match=models.MatchValue(value=tenant))
        theirs = models.FieldCondition(key="generation", match=models.MatchAny(any=sorted(known)))
        async with answering():
            points, _ = await self._client.scroll(
                self.collection, models.Filter(must=[mine], must_not=[theirs]), limit=1, with_payload=["generation"]
            )
        return (points[0].payload or {})["generation"] if points else None

    async def delete(self, generation: str, version_ids: Sequence[str]) -> None:
        chosen: list[models.ExtendedPointId] = [point_id(generation, version_id) for version_id in version_ids]
        async with answering():
            await self._client.delete(self.collection, models.PointIdsList(points=chosen), wait=True)

    async def exists(self) -> bool:
        async with answering():
            return await self._client.collection_exists(self.collection)

    async def drop_collection(self) -> None:
        async with answering():
            await self._client.delete_collection(self.collection)

    async def drop(self, tenant: str, generation: str, *, expired_by: int | None = None) -> None:
        """Deletes a tenant's points of one generation: all, or the versions that were expired by a moment."""
        chosen: list[models.Condition] = [*owner_conditions(tenant, generation)]
        if expired_by is not None:
            chosen.append(models.FieldCondition(key="t_expired", range=models.Range(lte=expired_by)))
        async with answering():
            await self._client.delete(
                self.collection, models.FilterSelector(filter=models.Filter(must=chosen)), wait=True
            )
