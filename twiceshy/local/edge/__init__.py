"""Qdrant Edge in a process of its own, behind the part of Qdrant's REST interface that Twiceshy uses.

It is spoken to with an unmodified ``qdrant-client``, so that the embedded stack and a Qdrant server differ in an
address alone. `wire`, `query`, `schema` and `writes` translate; `collection` is one shard; `folder` holds them all;
`service` routes. What is not understood is refused, so that nothing works here that does nothing there.
"""
