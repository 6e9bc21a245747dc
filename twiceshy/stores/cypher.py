"""Every query of the graph, as a constant. One clause a line; what varies is a bound parameter.

Lists go through ``CALL { UNWIND … RETURN count(*) }``: a bare UNWIND of an empty list ends a query silently.
Every write begins with the fence: no row means that another writer was here.
"""

# None for Meta: of four nodes each write sets one, and an index of what is set has to be cleaned, by a fork of the
# server.
INDEXES: tuple[tuple[str, str], ...] = (
    ("Entry", "event_id"),
    ("Incident", "key"),
    ("Observation", "observation_id"),
    ("Observation", "incident"),
    ("Observation", "place"),
    ("MemoryEntity", "key"),
    ("MemoryEntity", "folded"),
    ("MemoryEpisode", "version_id"),
    ("MemoryEpisode", "incident"),
    ("MemoryFact", "version_id"),
    ("MemoryFact", "slot"),
    ("MemoryFact", "place"),
    ("MemoryFact", "subject"),
    ("MemoryLesson", "version_id"),
    ("MemoryLesson", "incident"),
    ("MemoryPlaybook", "version_id"),
    ("MemoryPlaybook", "incident"),
    ("MemoryMistake", "version_id"),
    ("MemoryMistake", "incident"),
    ("MemoryMistake", "category"),
    ("MemoryRule", "version_id"),
    ("MemoryRule", "category"),
)

EDGE_INDEXES: tuple[tuple[str, str], ...] = (("ALIAS_OF", "t_created"),)

MAKE_META = """
MERGE (m:Meta {stage: $stage})
ON CREATE SET m.watermark = 0, m.horizon = 0
RETURN m.watermark
"""

WATERMARKS = """
MATCH (m:Meta)
RETURN m.stage, m.watermark
"""

# What every read and every write goes by, in one round trip. The ends of an alias have no label here: with one, the
# planner begins at every entity, and without, at the index of the edges.
STANDING = """
CALL { MATCH (m:Meta) RETURN collect([m.stage, m.watermark, m.horizon]) AS stages }
CALL {
  MATCH (a)-[x:ALIAS_OF]->(b)
  WHERE x.t_created > 0
  WITH a, x, b
  ORDER BY x.t_created
  RETURN collect([a.key, b.key, x.t_created, x.t_expired]) AS aliases
}
CALL {
  MATCH (p:Purge)
  WITH p
  ORDER BY p.at
  RETURN collect([p.origin, p.since, p.at, p.block, p.unblocked_at]) AS purges
}
RETURN stages, aliases, purges
"""

# Embed's, whose points are in the collection of one model.
MOVE_WATERMARK = """
MATCH (m:Meta {stage: $stage})
WHERE m.watermark = $seen AND coalesce(m.model, $model) = $model
SET m.watermark = $next, m.model = $model
RETURN m.watermark
"""

EMBEDDED = """
MATCH (m:Meta {stage: $stage})
RETURN m.watermark, m.model
"""

CLAIM_MODEL = """
MATCH (m:Meta {stage: $stage})
SET m.model = coalesce(m.model, $model)
RETURN m.model
"""

HAND_OVER = """
MATCH (m:Meta {stage: $stage})
WHERE m.watermark = $seen AND coalesce(m.model, $before) = $before
SET m.model = $model
RETURN m.model
"""

APPLIED_ENTRIES = """
UNWIND $event_ids AS event_id
MATCH (e:Entry {event_id: event_id})
RETURN e.event_id, e.result
"""

INCIDENTS = """
UNWIND $incidents AS key
MATCH (i:Incident {key: key})
WHERE i.episode_id <> ''
RETURN i.key, i.revised_at, i.event_id, i.content_hash, i.episode_id, i.t_valid, i.t_invalid, i.trust,
  i.origin, i.said_at
"""

# What commands ask is rare, and looks at every node of a label: an index would cost each event something.
INCIDENTS_OF_ORIGIN = """
MATCH (i:Incident)
WHERE i.origin = $origin AND i.episode_id <> '' AND i.said_at >= $since
RETURN i.key
ORDER BY i.key
"""

# The observations of incidents that stand at ``$at``: not FOREVER where an entry of several queries may have been
# begun before, so that what it closed then still counts as open.
SAID_BY_INCIDENTS = """
UNWIND $incidents AS key
MATCH (o:Observation {incident: key})
WHERE o.t_created < $at AND o.t_retracted >= $at
RETURN o.place, o.valid_from, o.subject, o.predicate, o.object, o.many
"""

PLACES_OF_NAMES = """
MATCH (o:Observation)
WHERE o.subject_ref IN $refs OR o.object_ref IN $refs
RETURN DISTINCT o.place
"""

PLACES_OF_COMMANDS = """
MATCH (o:Observation)
WHERE o.predicate = 'superseded_by' AND o.incident STARTS WITH '/command/'
RETURN DISTINCT o.place
"""

# Of each slot what can win at ``since`` or later: what has no end, and begins last of those that began by then, leaves
# nothing to what began before it. Without ``since``, all.
LIVE_OBSERVATIONS = """
UNWIND $places AS r
MATCH (o:Observation {place: r.place})
WHERE o.t_created < $at AND o.t_retracted >= $at AND (NOT r.many OR o.object_ref IN r.refs)
WITH r.place AS place, o.slot AS slot, collect(o) AS said,
  max(CASE WHEN o.valid_to = $forever AND o.valid_from <= r.since THEN o.valid_from ELSE null END) AS latest
UNWIND said AS o
WITH o, latest
WHERE latest IS NULL OR o.valid_from >= latest
RETURN o.observation_id, o.slot, o.place, o.subject, o.subject_ref, o.predicate, o.object, o.object_ref,
  o.many, o.holds, o.valid_from, o.valid_to, o.incident, o.origin, o.revised_at, o.event_id, o.trust, o.confidence,
  o.t_created, o.said_at
"""

TAKEN_BACK = """
UNWIND $incidents AS key
MATCH (o:Observation {incident: key})
WHERE o.t_created < $at
RETURN o.observation_id, o.slot, o.place, o.subject, o.subject_ref, o.predicate, o.object, o.object_ref,
  o.many, o.holds, o.valid_from, o.valid_to, o.incident, o.origin, o.revised_at, o.event_id, o.trust, o.confidence,
  o.t_created, o.said_at, o.source, o.status, o.confidence_score
"""

REVISIONS = """
MATCH (e:Entry)
WHERE e.origin = $origin AND e.t_created < $until
RETURN e.incident, e.revised_at, e.event_id, e.content_hash, e.t_created, e.result
"""

# With the version before, which can grow into what changes.
CURRENT_FACTS = """
UNWIND $slots AS r
MATCH (f:MemoryFact {slot: r[0]})
WHERE f.t_created < $at AND f.t_expired >= $at AND f.t_invalid >= r[1]
RETURN f.slot, f.object, f.t_valid, f.t_invalid, f.t_created, f.founder, f.source
"""

EPISODE_CONTENTS = """
UNWIND $version_ids AS version_id
MATCH (e:MemoryEpisode {version_id: version_id})
OPTIONAL MATCH (e)-[x:MENTIONS|RESOLVED_BY]->(n:MemoryEntity)
WITH e, x, n
ORDER BY type(x), x.role, n.key
RETURN e.version_id, e.slot, e.incident, e.incident_fingerprint, e.origin, e.trust, e.summary_nl, e.resolution_nl,
  e.details_nl, e.body, e.content_hash, e.concluded_at, e.derived_from, e.incomplete, e.released_by, e.said_at,
  e.t_valid, e.source, e.status, e.confidence_score, e.t_expired, collect([type(x), x.role, n.key])
"""

CURRENT_FACTS_AT_PLACES = """
UNWIND $places AS place
MATCH (f:MemoryFact {place: place})
WHERE f.t_created < $at AND f.t_expired >= $at
RETURN f.slot, f.object, f.t_valid, f.t_invalid, f.t_created, f.founder, f.source
"""

SUPERSESSIONS = """
UNWIND $incidents AS key
MATCH (b:MemoryEpisode {incident: key})
WITH b
MATCH (a:MemoryEpisode)-[x:SUPERSEDES]->(b)
WHERE x.t_created < $at AND x.t_expired >= $at
RETURN b.incident, x.version_id, a.incident, x.t_valid, x.status, a.version_id, b.version_id
"""

# What an entry closes of what was there before.
_CLOSED = """CALL {
  UNWIND $expired_episodes AS r
  MATCH (e:MemoryEpisode {version_id: r.version_id})
  SET e.t_expired = r.at
  WITH e, r
  OPTIONAL MATCH (e)-[x:MENTIONS|RESOLVED_BY]->(:MemoryEntity)
  SET x.t_expired = r.at
  RETURN count(*) AS expired_episodes
}
CALL {
  UNWIND $expired_facts AS r
  MATCH (f:MemoryFact {version_id: r.version_id})
  SET f.t_expired = r.at, f.invalidated_at = r.at, f.invalidated_by_event = r.by, f.superseded_by = r.superseded_by
  WITH f, r
  OPTIONAL MATCH (f)-[x:SUBJECT|OBJECT]->(:MemoryEntity)
  SET x.t_expired = r.at
  RETURN count(*) AS expired_facts
}
CALL {
  UNWIND $expired_supersessions AS r
  MATCH (:MemoryEpisode {version_id: r.from})-[x:SUPERSEDES]->(:MemoryEpisode {version_id: r.to})
  WHERE x.version_id = r.version_id
  SET x.t_expired = r.at
  RETURN count(*) AS expired_supersessions
}
CALL {
  UNWIND $retracted AS r
  MATCH (o:Observation {observation_id: r.observation_id})
  SET o.t_retracted = r.at
  RETURN count(*) AS retracted
}
"""

_STAMPS = ("t_valid", "t_invalid", "t_created", "t_expired")
_PROVENANCE = ("source", "status", "confidence_score")
_TAUGHT = ("incident", "episode_id", "origin", "trust", "said_at", *_STAMPS, *_PROVENANCE)

# What is written by the thousand comes as tables: the columns of each, by the parameter's name.
COLUMNS: dict[str, tuple[str, ...]] = {
    "entries": (
        "event_id", "kind", "t_created", "result", "incident", "origin", "revised_at", "content_hash", *_PROVENANCE,
    ),
    "incidents": (
        "key", "revised_at", "event_id", "content_hash", "episode_id", "t_valid", "t_invalid", "trust", "origin",
        "said_at", *_PROVENANCE,
    ),
    "entities": ("key", "entity_type", "entity_ref", "folded", "t_created", *_PROVENANCE),
    "episodes": (
        "version_id", "slot", "incident", "incident_fingerprint", "origin", "trust", "summary_nl", "resolution_nl",
        "details_nl", "body", "content_hash", "concluded_at", "derived_from", "incomplete", "released_by", "said_at",
        "copy_of", *_STAMPS, *_PROVENANCE,
    ),
    "observations": (
        "observation_id", "slot", "place", "subject", "subject_ref", "predicate", "object", "object_ref", "many",
        "holds", "valid_from", "valid_to", "incident", "origin", "revised_at", "event_id", "trust", "confidence",
        "t_created", "t_retracted", "said_at", *_PROVENANCE,
    ),
    "facts": (
        "version_id", "slot", "place", "subject", "predicate", "object", "origin", "founder", "supersedes",
        "invalidated_at", "invalidated_by_event", "superseded_by", *_STAMPS, *_PROVENANCE,
    ),
    "mentions": ("from", "to", "role"),
    "resolutions": ("from", "to", "role"),
    "subjects": ("from", "to"),
    "objects": ("from", "to"),
    "lessons": ("version_id", "slot", "text", *_TAUGHT),
    "playbooks": ("version_id", "slot", "steps", *_TAUGHT),
    "mistakes": ("version_id", "slot", "category", "statement", *_TAUGHT),
}  # fmt: skip


def _row(table: str) -> str:
    """A row of a table as properties."""
    return "{" + ", ".join(f"{column}: r[{index}]" for index, column in enumerate(COLUMNS[table])) + "}"


def _missing(table: str, label: str) -> str:
    """The rows that have no node yet, by their first column.

    Not MERGE: with properties set behind it each new node is indexed twice, and the index has to be cleaned of the
    first time.
    """
    return f"""UNWIND ${table} AS r
  OPTIONAL MATCH (there:{label} {{{COLUMNS[table][0]}: r[0]}})
  WITH r, there
  WHERE there IS NULL
  CREATE (n:{label} {_row(table)})"""


_ENTITIES = f"""CALL {{
  {_missing("entities", "MemoryEntity")}
  RETURN count(*) AS entities
}}
"""

_INCIDENTS = f"""CALL {{
  UNWIND $incidents AS r
  MATCH (n:Incident {{key: r[0]}})
  SET n = {_row("incidents")}
  RETURN count(*) AS changed_incidents
}}
CALL {{
  {_missing("incidents", "Incident")}
  RETURN count(*) AS incidents
}}
"""


def _node(table: str, label: str, *, merged: bool) -> str:
    """A node for each row; ``merged`` for what may have been written before, by its first column."""
    identity = COLUMNS[table][0]
    if not merged:
        return f"CALL {{ UNWIND ${table} AS r CREATE (n:{label} {_row(table)}) RETURN count(*) AS {table} }}\n"
    return f"""CALL {{
  UNWIND ${table} AS r
  MERGE (n:{label} {{{identity}: r[0]}})
  SET n = {_row(table)}
  RETURN count(*) AS {table}
}}
"""


def _edge(table: str, kind: str, start: str, end: str, *, merged: bool) -> str:
    """An edge for each row. It has the stamps of the version that it begins at, which was written before it."""
    identity = ("role: r[2], " if "role" in COLUMNS[table] else "") + "version_id: a.version_id"
    told = ", ".join((identity, *(f"{name}: a.{name}" for name in (*_STAMPS, *_PROVENANCE))))
    written = f"CREATE (a)-[x:{kind} {{{told}}}]->(b)"
    if merged:
        written = f"MERGE (a)-[x:{kind} {{{identity}}}]->(b)\n  SET x = {{{told}}}"
    return f"""CALL {{
  UNWIND ${table} AS r
  MATCH (a:{start} {{version_id: r[0]}})
  MATCH (b:{end} {{key: r[1]}})
  {written}
  RETURN count(*) AS {table}
}}
"""


def _written(*, merged: bool) -> str:
    """What an entry adds, nodes before the edges between them."""
    return (
        _ENTITIES
        + _node("episodes", "MemoryEpisode", merged=merged)
        + _node("observations", "Observation", merged=merged)
        + _node("facts", "MemoryFact", merged=merged)
        + _edge("mentions", "MENTIONS", "MemoryEpisode", "MemoryEntity", merged=merged)
        + _edge("resolutions", "RESOLVED_BY", "MemoryEpisode", "MemoryEntity", merged=merged)
        + _edge("subjects", "SUBJECT", "MemoryFact", "MemoryEntity", merged=merged)
        + _edge("objects", "OBJECT", "MemoryFact", "MemoryEntity", merged=merged)
        + f"""CALL {{
  UNWIND $supersessions AS r
  MATCH (a:MemoryEpisode {{version_id: r.from}})
  MATCH (b:MemoryEpisode {{version_id: r.to}})
  {"MERGE" if merged else "CREATE"} (a)-[x:SUPERSEDES {{version_id: r.stamps.version_id}}]->(b)
  SET x = r.stamps
  RETURN count(*) AS supersessions
}}
"""
    )


RECORD = (
    """
MATCH (m:Meta {stage: $stage})
WHERE m.watermark = $seen
SET m.watermark = $next
WITH m
"""
    + _node("entries", "Entry", merged=False)
    + _INCIDENTS
    + _written(merged=False)
    + _CLOSED
    + """RETURN m.watermark
"""
)

# One piece of what a command does. It can be written again after a crash, and nobody sees it before the watermark
# moves, which `RECORD` does when all pieces are there.
PIECE = (
    """
MATCH (m:Meta {stage: $stage})
WHERE m.watermark = $seen
WITH m
"""
    + _written(merged=True)
    + _CLOSED
    + """CALL {
  UNWIND $aliased AS r
  MATCH (a:MemoryEntity {key: r.from})
  MATCH (b:MemoryEntity {key: r.to})
  MERGE (a)-[x:ALIAS_OF {t_created: r.stamps.t_created}]->(b)
  SET x = r.stamps
  RETURN count(*) AS aliased
}
CALL {
  UNWIND $unaliased AS r
  MATCH (a:MemoryEntity {key: r.from})
  MATCH (b:MemoryEntity {key: r.to})
  MATCH (a)-[x:ALIAS_OF]->(b)
  WHERE x.t_expired = $forever
  SET x.t_expired = r.at
  RETURN count(*) AS unaliased
}
CALL { UNWIND $purges AS r MERGE (n:Purge {at: r.at}) SET n = r RETURN count(*) AS purges }
CALL {
  UNWIND $unblocked AS r
  MATCH (n:Purge {origin: r.origin, block: true, unblocked_at: $forever})
  SET n.unblocked_at = r.at
  RETURN count(*) AS unblocked
}
CALL { UNWIND $horizons AS r MATCH (n:Meta {stage: r.stage}) SET n.horizon = r.horizon RETURN count(*) AS horizons }
RETURN m.watermark
"""
)


def _taught(table: str, label: str) -> str:
    """What was taught, with the edge to the episode that it rests on. It can be written again: a command's can be."""
    return f"""CALL {{
  {_missing(table, label)}
  WITH n
  MATCH (b:MemoryEpisode {{version_id: n.episode_id}})
  CREATE (n)-[x:RESTS_ON {{t_created: n.t_created, source: n.source, status: n.status, confidence_score: 1.0}}]->(b)
  RETURN count(*) AS {table}
}}
"""


REFLECT = (
    """
MATCH (m:Meta {stage: $stage})
WHERE m.watermark = $seen
SET m.watermark = $next
WITH m
"""
    + _taught("lessons", "MemoryLesson")
    + _taught("playbooks", "MemoryPlaybook")
    + _taught("mistakes", "MemoryMistake")
    + """CALL {
  UNWIND $closed AS r
  MATCH (n:MemoryLesson {incident: r.incident})
  WHERE n.t_expired = $forever AND n.t_created < r.at
  SET n.t_expired = r.at
  RETURN count(*) AS closed_lessons
}
CALL {
  UNWIND $closed AS r
  MATCH (n:MemoryPlaybook {incident: r.incident})
  WHERE n.t_expired = $forever AND n.t_created < r.at
  SET n.t_expired = r.at
  RETURN count(*) AS closed_playbooks
}
CALL {
  UNWIND $closed AS r
  MATCH (n:MemoryMistake {incident: r.incident})
  WHERE n.t_expired = $forever AND n.t_created < r.at
  SET n.t_expired = r.at
  RETURN count(*) AS closed_mistakes
}
RETURN m.watermark
"""
)

EPISODES_PURGED = """
MATCH (e:MemoryEpisode)
WHERE e.t_expired = $at AND e.origin = $origin AND e.said_at >= $since
RETURN DISTINCT e.incident
"""

EPISODES_MADE = """
MATCH (e:MemoryEpisode)
WHERE e.t_created = $at
RETURN e.incident, e.version_id, e.body, e.t_valid, e.said_at, e.trust
ORDER BY e.incident
"""

RESOLVE_MISTAKE = """
MATCH (m:Meta {stage: $stage})
WHERE m.watermark = $seen
SET m.watermark = $next
WITH m
CALL {
  MATCH (n:MemoryMistake {version_id: $version_id})
  WHERE n.t_expired = $forever AND n.t_created < $at
  SET n.t_expired = $at
  RETURN count(*) AS resolved
}
RETURN m.watermark
"""

MISTAKE_RESOLVED = """
MATCH (n:MemoryMistake {version_id: $version_id})
WHERE n.t_expired = $at
RETURN n.version_id
"""

MISTAKES_MOVED = """
UNWIND $moved AS at
MATCH (n:MemoryMistake)
WHERE n.t_created = at OR n.t_expired = at
RETURN DISTINCT at, n.category
"""

MISTAKES_CLOSED = """
UNWIND $closed AS r
MATCH (n:MemoryMistake {incident: r.incident})
WHERE n.t_expired = r.at
RETURN DISTINCT r.at, n.category
"""

# The mistakes that can be among the first in any moment of ($since, $until]: those known no later than the first that
# $enough incidents hold open all through it.
MISTAKES_LEADING = """
UNWIND $categories AS category
CALL {
  WITH category
  MATCH (n:MemoryMistake {category: category})
  WHERE n.t_created <= $since AND n.t_expired > $until
  WITH n.incident AS incident, min(n.t_created) AS opened_at
  ORDER BY opened_at
  LIMIT $enough
  RETURN CASE WHEN count(incident) = $enough THEN max(opened_at) ELSE $until END AS horizon
}
MATCH (n:MemoryMistake {category: category})
WHERE n.t_created <= horizon AND n.t_expired > $since
RETURN n.version_id, n.slot, n.category, n.incident, n.statement, n.t_created, n.t_expired, n.t_valid
ORDER BY n.t_created, n.slot
"""

# Stops at $enough: it does not count the rest.
CATEGORIES_WITH_ENOUGH = """
UNWIND $categories AS category
CALL {
  WITH category
  MATCH (n:MemoryMistake {category: category})
  WHERE n.t_created <= $since AND n.t_expired > $until
  WITH DISTINCT n.incident AS incident
  LIMIT $enough
  RETURN count(incident) AS incidents
}
WITH category, incidents
WHERE incidents = $enough
RETURN category
"""

INCIDENTS_MISTAKEN = """
UNWIND $made AS r
MATCH (n:MemoryMistake {category: r.category})
WHERE n.t_created <= r.at AND n.t_expired > r.at
RETURN r.category, r.at, count(DISTINCT n.incident)
"""

# With each rule, how many of the mistakes that it quotes are still open at $until.
RULES_STANDING = """
UNWIND $categories AS category
MATCH (n:MemoryRule {category: category})
WHERE n.t_expired = $forever
RETURN n.category, n.version_id
"""

RULES_OF_CATEGORIES = """
UNWIND $categories AS category
MATCH (n:MemoryRule {category: category})
WHERE n.t_created <= $until AND n.t_expired > $since
WITH n
OPTIONAL MATCH (n)-[:RESTS_ON]->(quoted:MemoryMistake)
WHERE quoted.t_expired > $until
WITH n, count(quoted) AS quotes_open
RETURN n.version_id, n.category, n.rests_on, n.t_created, n.t_expired, quotes_open
ORDER BY n.t_created, n.version_id
"""

CONSOLIDATE = """
MATCH (m:Meta {stage: $stage})
WHERE m.watermark = $seen
SET m.watermark = $next
WITH m
CALL { UNWIND $rules AS r CREATE (n:MemoryRule) SET n = r RETURN count(*) AS rules }
CALL {
  UNWIND $rests_on AS r
  MATCH (a:MemoryRule {version_id: r.from})
  MATCH (b:MemoryMistake {version_id: r.to})
  CREATE (a)-[x:RESTS_ON {t_created: r.t_created, source: r.source, status: 'active', confidence_score: 1.0}]->(b)
  RETURN count(*) AS rests_on
}
CALL {
  UNWIND $withdrawn AS r
  MATCH (n:MemoryRule {version_id: r.version_id})
  SET n.t_expired = r.at
  RETURN count(*) AS withdrawn
}
RETURN m.watermark
"""

ENTITIES_NAMED = """
UNWIND $names AS name
MATCH (n:MemoryEntity {folded: name})
WHERE n.t_created <= $known_at AND (name IN $asked OR indegree(n) <= $hub)
WITH n
OPTIONAL MATCH (n)<-[m:MENTIONS|RESOLVED_BY]-(e:MemoryEpisode)
WHERE m.t_valid <= $as_of AND (m.t_invalid > $as_of OR $superseded) AND m.t_created <= $known_at
  AND m.t_expired > $known_at
WITH DISTINCT n, e.version_id AS version_id, e.concluded_at AS concluded_at,
  any(p IN $purges WHERE p.origin = e.origin AND p.since <= e.said_at AND e.said_at < p.at) AS purged
ORDER BY concluded_at DESC, version_id
WITH n, collect(CASE WHEN purged OR version_id IS NULL THEN null ELSE [version_id, concluded_at] END) AS episodes
RETURN n.key, n.folded, size(episodes), episodes[0..$newest]
"""

# What a reply shows of incidents, in one round trip: episodes, who claims to take their place, what they taught, and
# the rules in the categories of their mistakes beside those that were found by themselves. What an episode taught
# hangs on its incident, for another version with the same content can have taken its place. Each match of an episode
# stands alone, so that the planner begins at its index. Whether something was purged is projected before it is asked:
# the planner does not see what an ``any`` in a predicate is about, and looks before it has the node.
RECALLED = """
CALL {
  UNWIND $episodes AS id
  MATCH (e:MemoryEpisode {version_id: id})
  WHERE e.t_valid <= $as_of AND (e.t_invalid > $as_of OR $superseded) AND e.t_created <= $known_at
    AND e.t_expired > $known_at
  WITH e, any(p IN $purges WHERE p.origin = e.origin AND p.since <= e.said_at AND e.said_at < p.at) AS purged
  WHERE NOT purged
  RETURN collect([e.derived_from, e.version_id, e.incident, e.origin, e.said_at, e.trust, e.body, e.incomplete,
                  e.t_valid, e.t_invalid, e.t_created, e.t_expired]) AS episodes
}
CALL {
  UNWIND $episodes AS id
  MATCH (e:MemoryEpisode {version_id: id})
  WITH e
  MATCH (o:Observation {place: '|superseded|' + e.incident})
  WHERE o.t_created <= $known_at AND o.t_retracted > $known_at
  WITH e, o, any(p IN $purges WHERE p.origin = o.origin AND p.since <= o.said_at AND o.said_at < p.at) AS purged
  WHERE NOT purged
  WITH e, o
  ORDER BY o.valid_from, o.observation_id
  RETURN collect([e.version_id, o.object, o.trust, o.valid_from]) AS claims
}
CALL {
  UNWIND $teaching AS id
  MATCH (e:MemoryEpisode {version_id: id})
  WITH e
  MATCH (n:MemoryLesson {incident: e.incident})
  WHERE n.t_valid <= $as_of AND n.t_invalid > $as_of AND n.t_created <= $known_at AND n.t_expired > $known_at
  WITH e, n, any(p IN $purges WHERE p.origin = n.origin AND p.since <= n.said_at AND n.said_at < p.at) AS purged
  WHERE NOT purged
  RETURN collect([e.version_id, n.version_id, n.incident, n.origin, n.said_at, n.trust, n.text,
                  n.t_valid, n.t_invalid, n.t_created, n.t_expired]) AS lessons
}
CALL {
  UNWIND $teaching AS id
  MATCH (e:MemoryEpisode {version_id: id})
  WITH e
  MATCH (n:MemoryPlaybook {incident: e.incident})
  WHERE n.t_valid <= $as_of AND n.t_invalid > $as_of AND n.t_created <= $known_at AND n.t_expired > $known_at
  WITH e, n, any(p IN $purges WHERE p.origin = n.origin AND p.since <= n.said_at AND n.said_at < p.at) AS purged
  WHERE NOT purged
  RETURN collect([e.version_id, n.version_id, n.incident, n.origin, n.said_at, n.trust, n.steps,
                  n.t_valid, n.t_invalid, n.t_created, n.t_expired]) AS playbooks
}
CALL {
  UNWIND $mistaken AS id
  MATCH (e:MemoryEpisode {version_id: id})
  WITH e
  MATCH (n:MemoryMistake {incident: e.incident})
  WHERE n.t_valid <= $as_of AND n.t_invalid > $as_of AND n.t_created <= $known_at AND n.t_expired > $known_at
  WITH e, n, any(p IN $purges WHERE p.origin = n.origin AND p.since <= n.said_at AND n.said_at < p.at) AS purged
  WHERE NOT purged
  WITH e, n
  ORDER BY n.slot
  RETURN collect([e.version_id, n.version_id, n.incident, n.origin, n.said_at, n.trust, n.category, n.statement,
                  n.t_valid, n.t_invalid, n.t_created, n.t_expired]) AS mistakes, collect(DISTINCT n.category) AS made
}
CALL {
  UNWIND $rules AS id
  MATCH (r:MemoryRule {version_id: id})
  RETURN collect(DISTINCT r.category) AS found
}
CALL {
  WITH made, found
  UNWIND CASE WHEN $ruling THEN made + found ELSE [] END AS category
  WITH DISTINCT category
  MATCH (r:MemoryRule {category: category})
  WHERE r.t_valid <= $as_of AND r.t_invalid > $as_of AND r.t_created <= $known_at AND r.t_expired > $known_at
  WITH r
  OPTIONAL MATCH (r)-[:RESTS_ON]->(q:MemoryMistake)
  WITH r, any(p IN $purges WHERE p.origin = q.origin AND p.since <= q.said_at AND q.said_at < p.at) AS purged
  WITH r, sum(CASE WHEN purged THEN 1 ELSE 0 END) AS quoted_and_purged
  WHERE quoted_and_purged = 0
  MATCH (n:MemoryMistake {category: r.category})
  WHERE n.t_created <= $known_at AND n.t_expired > $known_at
  WITH r, n, any(p IN $purges WHERE p.origin = n.origin AND p.since <= n.said_at AND n.said_at < p.at) AS purged
  WHERE NOT purged
  WITH r, count(DISTINCT n.incident) AS incidents, count(DISTINCT n.origin) AS origins, max(n.trust) AS trust
  ORDER BY r.category
  RETURN collect([r.version_id, r.category, r.statement, r.rests_on, incidents, origins, trust,
                  r.t_valid, r.t_invalid, r.t_created, r.t_expired]) AS rules
}
RETURN episodes, claims, lessons, playbooks, mistakes, rules
"""

MENTIONED = """
UNWIND $episodes AS id
MATCH (e:MemoryEpisode {version_id: id})
WITH e
MATCH (e)-[:MENTIONS|RESOLVED_BY]->(n:MemoryEntity)
RETURN DISTINCT n.key
"""

# The facts that hold, and of which others something held once, or was believed to.
FACTS_ABOUT = """
CALL {
  UNWIND $mentioning AS id
  MATCH (e:MemoryEpisode {version_id: id})
  WITH e
  MATCH (e)-[:MENTIONS|RESOLVED_BY]->(n:MemoryEntity)
  RETURN collect(DISTINCT n.key) AS mentioned
}
CALL {
  WITH mentioned
  UNWIND $subjects + mentioned AS subject
  WITH DISTINCT subject
  MATCH (f:MemoryFact {subject: subject})
  WHERE f.t_valid <= $as_of AND f.t_invalid > $as_of AND f.t_created <= $known_at AND f.t_expired > $known_at
  WITH f
  ORDER BY f.subject IN $first DESC, f.subject, f.predicate, f.object
  LIMIT 100
  RETURN collect([f.version_id, f.slot, f.subject, f.predicate, f.object, f.origin, f.founder,
                  f.t_valid, f.t_invalid, f.t_created, f.t_expired]) AS holding
}
CALL {
  WITH mentioned
  UNWIND $subjects + mentioned AS subject
  WITH DISTINCT subject
  MATCH (f:MemoryFact {subject: subject})
  WHERE f.t_valid <= $as_of AND f.t_created <= $known_at AND (f.t_invalid <= $as_of OR f.t_expired <= $known_at)
  WITH DISTINCT f.subject AS about, f.predicate AS predicate
  ORDER BY about IN $first DESC, about, predicate
  LIMIT 100
  RETURN collect([about, predicate]) AS held
}
RETURN holding, held
"""

FACTS_AT = """
UNWIND $places AS place
MATCH (f:MemoryFact {place: place})
WHERE f.t_valid <= $as_of AND f.t_invalid > $as_of AND f.t_created <= $known_at AND f.t_expired > $known_at
RETURN f.version_id, f.slot, f.subject, f.predicate, f.object, f.origin, f.founder,
  f.t_valid, f.t_invalid, f.t_created, f.t_expired
"""

FACT_VERSIONS = """
UNWIND $places AS place
MATCH (f:MemoryFact {place: place})
WHERE f.t_created <= $known_at
RETURN f.version_id, f.slot, f.subject, f.predicate, f.object, f.origin, f.founder,
  f.t_valid, f.t_invalid, f.t_created, f.t_expired,
  f.source, f.supersedes, f.superseded_by, f.invalidated_at, f.invalidated_by_event
ORDER BY f.t_created DESC, f.t_valid DESC, f.version_id
LIMIT $count
"""

# What was said at places of a time between ``start`` and ``end``, and had not been taken back by ``$unless_by``.
OBSERVATIONS_AT = """
UNWIND $places AS p
MATCH (o:Observation {place: p.place})
WHERE o.t_created <= $known_at AND o.t_retracted > $unless_by AND o.valid_from < p.end AND o.valid_to > p.start
RETURN o.observation_id, o.slot, o.subject, o.predicate, o.object, o.many, o.holds, o.valid_from, o.valid_to,
  o.incident, o.origin, o.revised_at, o.event_id, o.trust, o.confidence, o.t_created, o.t_retracted, o.said_at
"""

# What incidents derive from, and what of them a purge can have taken away: one of which nothing is left has no
# episode, also when its versions have been compacted.
DERIVATIONS = """
CALL {
  UNWIND $incidents AS key
  MATCH (i:Incident {key: key})
  WHERE i.episode_id = ''
  RETURN collect(i.key) AS gone
}
CALL {
  UNWIND $incidents AS key
  MATCH (e:MemoryEpisode {incident: key})
  RETURN collect([e.incident, e.origin, e.said_at, e.t_created, e.t_expired, e.derived_from]) AS versions
}
RETURN gone, versions
"""

MENTIONS_OF_INCIDENT = """
MATCH (e:MemoryEpisode {incident: $incident})
WHERE e.t_valid <= $as_of AND e.t_invalid > $as_of AND e.t_created <= $known_at AND e.t_expired > $known_at
WITH e
OPTIONAL MATCH (e)-[m:MENTIONS|RESOLVED_BY]->(n:MemoryEntity)
WITH e, m, n
ORDER BY n.key, m.role
RETURN e.version_id, e.origin, e.said_at,
  collect([n.entity_type, n.entity_ref, m.role, m.t_valid, m.t_invalid, m.t_created, m.t_expired])
"""

ITEMS = """
CALL {
  UNWIND $ids AS id
  MATCH (e:MemoryEpisode {version_id: id})
  WHERE e.t_created <= $known_at
  RETURN collect([e.derived_from, e.version_id, e.incident, e.origin, e.said_at, e.trust, e.body, e.incomplete,
                  e.t_valid, e.t_invalid, e.t_created, e.t_expired]) AS episodes
}
CALL {
  UNWIND $ids AS id
  MATCH (n:MemoryLesson {version_id: id})
  WHERE n.t_created <= $known_at
  RETURN collect([n.episode_id, n.version_id, n.incident, n.origin, n.said_at, n.trust, n.text,
                  n.t_valid, n.t_invalid, n.t_created, n.t_expired]) AS lessons
}
CALL {
  UNWIND $ids AS id
  MATCH (n:MemoryPlaybook {version_id: id})
  WHERE n.t_created <= $known_at
  RETURN collect([n.episode_id, n.version_id, n.incident, n.origin, n.said_at, n.trust, n.steps,
                  n.t_valid, n.t_invalid, n.t_created, n.t_expired]) AS playbooks
}
CALL {
  UNWIND $ids AS id
  MATCH (n:MemoryMistake {version_id: id})
  WHERE n.t_created <= $known_at
  RETURN collect([n.episode_id, n.version_id, n.incident, n.origin, n.said_at, n.trust, n.category, n.statement,
                  n.t_valid, n.t_invalid, n.t_created, n.t_expired]) AS mistakes
}
CALL {
  UNWIND $ids AS id
  MATCH (r:MemoryRule {version_id: id})
  WHERE r.t_created <= $known_at
  WITH r
  OPTIONAL MATCH (r)-[:RESTS_ON]->(q:MemoryMistake)
  WITH r, any(p IN $purges WHERE p.origin = q.origin AND p.since <= q.said_at AND q.said_at < p.at) AS purged
  WITH r, sum(CASE WHEN purged THEN 1 ELSE 0 END) AS quoted_and_purged
  OPTIONAL MATCH (n:MemoryMistake {category: r.category})
  WHERE n.t_created <= $known_at AND n.t_expired > $known_at
  WITH r, quoted_and_purged, n.incident AS incident, n.origin AS origin, n.trust AS trust,
    any(p IN $purges WHERE p.origin = n.origin AND p.since <= n.said_at AND n.said_at < p.at) AS purged
  WITH r, quoted_and_purged, count(DISTINCT CASE WHEN purged THEN null ELSE incident END) AS incidents,
    count(DISTINCT CASE WHEN purged THEN null ELSE origin END) AS origins,
    max(CASE WHEN purged THEN null ELSE trust END) AS trust
  RETURN collect([r.version_id, quoted_and_purged, r.category, r.statement, r.rests_on, incidents, origins, trust,
                  r.t_valid, r.t_invalid, r.t_created, r.t_expired]) AS rules
}
CALL {
  UNWIND $ids AS id
  MATCH (f:MemoryFact {version_id: id})
  WHERE f.t_created <= $known_at
  RETURN collect([f.version_id, f.slot, f.subject, f.predicate, f.object, f.origin, f.founder,
                  f.t_valid, f.t_invalid, f.t_created, f.t_expired]) AS facts
}
RETURN episodes, lessons, playbooks, mistakes, rules, facts
"""

# What a compaction drops. Labels cannot be parameters: these come from a closed list.
VERSIONED = ("MemoryEpisode", "MemoryFact", "MemoryLesson", "MemoryPlaybook", "MemoryMistake", "MemoryRule")

# An edge between episodes joins the versions that were current when it was made, and is believed longer than these.
_JOINED = """
OPTIONAL MATCH (n)-[x:SUPERSEDES]-(:MemoryEpisode)
WHERE x.t_expired > $before
WITH n, count(x) AS joined
WHERE joined = 0"""

_EXPIRED = {
    label: f"""
MATCH (n:{label})
WHERE n.t_expired <= $before{_JOINED if label == "MemoryEpisode" else ""}"""
    for label in VERSIONED
}

EXPIRED_VERSIONS = {
    label: f"""{expired}
RETURN n.version_id
ORDER BY n.version_id
"""
    for label, expired in _EXPIRED.items()
}

EXPIRED_BEFORE = (
    "".join(
        f"""
CALL {{{expired}
RETURN count(n) AS {label}
}}"""
        for label, expired in _EXPIRED.items()
    )
    + f"""
RETURN {", ".join(VERSIONED)}
"""
)

DROP_VERSIONS = {
    label: f"""
MATCH (m:Meta {{stage: $stage}})
WHERE m.watermark = $seen
WITH m
CALL {{
  UNWIND $version_ids AS version_id
  MATCH (n:{label} {{version_id: version_id}})
  DETACH DELETE n
  RETURN count(*) AS dropped
}}
RETURN m.watermark
"""
    for label in VERSIONED
}

SET_HORIZON = """
MATCH (m:Meta {stage: $stage})
WHERE m.watermark = $seen
SET m.horizon = CASE WHEN m.horizon < $horizon THEN $horizon ELSE m.horizon END
RETURN m.watermark
"""

# What an invalidation did to episodes, wherever they are from.
EPISODES_AT = """
MATCH (e:MemoryEpisode)
WHERE e.t_created = $at OR e.t_expired = $at
RETURN e.version_id, e.copy_of, e.t_valid, e.t_invalid, e.t_created, e.t_expired
ORDER BY e.version_id
"""

EXPORT_NODES = """
MATCH (n)
WHERE ID(n) > $after AND NOT n:Meta
RETURN ID(n), labels(n)[0], properties(n)
ORDER BY ID(n)
LIMIT $count
"""

EXPORT_EDGES = """
MATCH (a)
WHERE ID(a) > $after AND ID(a) <= $until
WITH a
MATCH (a)-[r]->(b)
RETURN ID(a), type(r), properties(r), labels(b)[0], coalesce(b.version_id, b.observation_id, b.key, b.event_id)
"""

# What a reviewer is told of what memory has learned in the meantime.
INCIDENTS_OF_VERSIONS = """
UNWIND $version_ids AS version_id
MATCH (e:MemoryEpisode {version_id: version_id})
RETURN e.version_id, e.incident, e.body
"""

# What a rescan looks at.
EPISODES_BELIEVED = """
MATCH (e:MemoryEpisode)
WHERE ID(e) > $after AND e.t_expired = $forever
RETURN ID(e), e.body, e.details_nl, e.source, e.released_by
ORDER BY ID(e)
LIMIT $count
"""

# Quarantine is a graph of its own. ``item`` is an item as it was held; what changes of it are properties.

HOLD_ITEMS = """
UNWIND $items AS i
MERGE (q:QuarantinedItem {item_id: i.item_id})
ON CREATE SET q.tenant = i.tenant, q.origin = i.origin, q.subject = i.subject, q.content_hash = i.content_hash,
  q.rules_version = i.rules_version, q.event_id = i.event_id, q.state = i.state, q.held_at = i.held_at,
  q.changed_at = i.changed_at, q.expires_at = i.expires_at, q.size = i.size, q.decisions = i.decisions,
  q.decision_ids = i.decision_ids, q.item = i.item
RETURN q.state, q.expires_at, q.decisions, q.item
"""

PUT_ITEMS_BACK = """
UNWIND $items AS i
MERGE (q:QuarantinedItem {item_id: i.item_id})
WITH q, i
WHERE q.changed_at IS NULL OR q.changed_at < i.changed_at
SET q.tenant = i.tenant, q.origin = i.origin, q.subject = i.subject, q.content_hash = i.content_hash,
  q.rules_version = i.rules_version, q.event_id = i.event_id, q.state = i.state, q.held_at = i.held_at,
  q.changed_at = i.changed_at, q.expires_at = i.expires_at, q.size = i.size, q.decisions = i.decisions,
  q.decision_ids = i.decision_ids, q.item = i.item
"""

PUT_BACK = """
MATCH (m:QuarantineMeta {name: 'put back'})
RETURN m.name
"""

NOTE_PUT_BACK = """
MERGE (m:QuarantineMeta {name: 'put back'})
"""

QUARANTINED_ITEMS = """
MATCH (q:QuarantinedItem {tenant: $tenant})
WHERE q.state IN $states AND ($origin IS NULL OR q.origin = $origin) AND ($subject IS NULL OR q.subject = $subject)
WITH q
ORDER BY q.held_at, q.item_id
LIMIT $count
RETURN q.state, q.expires_at, q.decisions, q.item
"""

ITEMS_BY_ID = """
UNWIND $items AS id
MATCH (q:QuarantinedItem {item_id: id})
WHERE q.tenant = $tenant
RETURN q.state, q.expires_at, q.decisions, q.item
ORDER BY q.held_at, q.item_id
"""

ITEMS_KEPT_OUT = """
UNWIND $items AS id
MATCH (q:QuarantinedItem {item_id: id})
WHERE q.state <> 'released'
RETURN q.state, q.expires_at, q.decisions, q.item
"""

PENDING_ITEMS = """
MATCH (q:QuarantinedItem {tenant: $tenant})
WHERE q.state = 'pending' AND (q.held_at > $held_at OR (q.held_at = $held_at AND q.item_id > $item_id))
WITH q
ORDER BY q.held_at, q.item_id
LIMIT $count
RETURN q.state, q.expires_at, q.decisions, q.item
"""

ITEMS_OF_DECISION = """
MATCH (q:QuarantinedItem {tenant: $tenant})
WHERE $decision IN q.decision_ids
RETURN q.state, q.expires_at, q.decisions, q.item
ORDER BY q.held_at, q.item_id
"""

ITEM_IDS = """
MATCH (q:QuarantinedItem {tenant: $tenant})
WHERE q.item_id >= $prefix AND q.item_id < $past
RETURN q.item_id
ORDER BY q.item_id
LIMIT $count
"""

CANDIDATES_BY_ID = """
UNWIND $items AS id
MATCH (q:QuarantinedItem {item_id: id})
WHERE q.tenant = $tenant
RETURN q.item_id, q.event_id, q.state, q.held_at, q.changed_at, q.content_hash, q.rules_version, q.size, q.decisions[-1]
ORDER BY q.held_at, q.item_id
"""

CANDIDATES_OF_GROUP = """
MATCH (q:QuarantinedItem {tenant: $tenant})
WHERE q.origin = $origin AND q.subject = $subject AND q.state IN $states
RETURN q.item_id, q.event_id, q.state, q.held_at, q.changed_at, q.content_hash, q.rules_version, q.size, q.decisions[-1]
ORDER BY q.held_at, q.item_id
"""

# An item whose expiry nobody was told of yet is ``untold``: a decision in between leaves it so. Of its decisions the
# newest are kept, and the ids of all, by which one that comes again is known.
SETTLE_ITEMS = """
UNWIND $items AS i
MATCH (q:QuarantinedItem {item_id: i.item_id})
WHERE q.tenant = i.tenant AND q.state IN $states AND q.changed_at < i.at
  AND (i.expires_at IS NULL OR q.expires_at = i.expires_at)
SET q.state = $state, q.changed_at = i.at, q.expires_at = coalesce(i.until, q.expires_at),
  q.decisions = (q.decisions + [i.decision])[-$kept..], q.decision_ids = q.decision_ids + [i.decision_id],
  q.untold = CASE WHEN $untold THEN true ELSE q.untold END
RETURN count(q)
"""

ITEMS_DUE = """
MATCH (q:QuarantinedItem {state: 'pending'})
WHERE q.expires_at <= $now AND q.changed_at < $now
WITH q
ORDER BY q.expires_at, q.item_id
LIMIT $count
RETURN q.tenant, q.item_id, q.expires_at
"""

ITEMS_UNTOLD = """
MATCH (q:QuarantinedItem {untold: true})
WITH q
ORDER BY q.changed_at, q.item_id
LIMIT $count
RETURN q.state, q.expires_at, q.decisions, q.item
"""

NOTE_TOLD = """
UNWIND $items AS i
MATCH (q:QuarantinedItem {item_id: i.item_id})
WHERE q.changed_at = i.changed_at
SET q.untold = null
"""

NOTE_CHANGED_SINCE = """
UNWIND $items AS i
MATCH (q:QuarantinedItem {item_id: i.item_id})
WHERE q.changed_at > i.changed_at
SET q.untold = true
"""

QUARANTINE_INDEXES: tuple[tuple[str, str], ...] = (
    ("QuarantinedItem", "item_id"),
    ("QuarantinedItem", "tenant"),
    ("QuarantinedItem", "state"),
    ("QuarantinedItem", "expires_at"),
    ("QuarantinedItem", "untold"),
    ("QuarantinedItem", "decision_ids"),
    ("QuarantineMeta", "name"),
)

# Labels and fields cannot be parameters. These come from the closed lists above.
CREATE_INDEX = {
    (label, field): f"CREATE INDEX FOR (n:{label}) ON (n.{field})" for label, field in INDEXES + QUARANTINE_INDEXES
} | {(label, field): f"CREATE INDEX FOR ()-[x:{label}]-() ON (x.{field})" for label, field in EDGE_INDEXES}

LIST_INDEXES = """
CALL db.indexes()
YIELD label, properties, status
RETURN label, properties, status
"""
