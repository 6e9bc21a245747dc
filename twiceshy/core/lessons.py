"""What an incident teaches: a Reflexion lesson (Shinn et al., 2023), rendered from its own words, quoted.

No model writes here. What an incident does not say is not made up.
"""

from twiceshy.core.ids import version_id
from twiceshy.core.memory import key_of
from twiceshy.events.chain import Recorded, Reflected, ReflectedLesson, ReflectedMistake, ReflectedPlaybook
from twiceshy.events.incident import IncidentConcluded


def lesson_slot(incident: str) -> str:
    return f"lesson|{incident}"


def playbook_slot(incident: str) -> str:
    return f"playbook|{incident}"


def mistake_slot(incident: str, index: int) -> str:
    return f"mistake|{index}|{incident}"


def lesson_text(incident: IncidentConcluded) -> str | None:
    """The lesson, or None when the incident tells neither cause nor resolution.

    >>> lesson_text(incident)
    'When “Checkout times out”: the cause was config-change, “Pool size doubled.” It was resolved: “Rolled back.”'
    """
    if incident.cause is None and not incident.resolution:
        return None
    told = [f"When {quoted(incident.title)}:"]
    if incident.cause is not None:
        told.append(f"the cause was {incident.cause.category.value}, {quoted(incident.cause.statement)}")
    if incident.resolution:
        told.append(f"It was resolved: {quoted(incident.resolution)}")
    return " ".join(told)[:16_384]


def quoted(text: str) -> str:
    """``text`` on one line between typographic quotes; such quotes within it become plain ones."""
    plain = " ".join(text.split()).replace("“", '"').replace("”", '"')
    return f"“{plain}”"


def reflect(tenant: str, incident: IncidentConcluded, recorded: Recorded) -> Reflected:
    """What an incident's revision teaches; nothing unless it made a version of its episode."""
    if recorded.change not in ("remembered", "corrected") or recorded.t_valid is None:
        return Reflected()
    key, t_valid, at = key_of(incident), recorded.t_valid, recorded.t_created
    text = lesson_text(incident)
    return Reflected(
        lesson=None
        if text is None
        else ReflectedLesson(version_id=version_id(tenant, lesson_slot(key), t_valid, at), text=text),
        playbook=None
        if not incident.steps
        else ReflectedPlaybook(version_id=version_id(tenant, playbook_slot(key), t_valid, at), steps=incident.steps),
        mistakes=tuple(
            ReflectedMistake(
                version_id=version_id(tenant, mistake_slot(key, index), t_valid, at),
                category=mistake.category,
                statement=mistake.statement,
            )
            for index, mistake in enumerate(incident.mistakes)
        ),
    )
