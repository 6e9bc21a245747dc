"""twiceshy check: what guard would do with incidents, said to their producer before anything is published."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

import typer

from twiceshy.cli.output import AsJson, load_settings, print_json, run, tenant_of
from twiceshy.cli.reports import opened, print_counts, print_dim, print_faults

if TYPE_CHECKING:
    from twiceshy.cli.lines import Line, Refused
    from twiceshy.errors import PoisonError
    from twiceshy.settings import Settings
    from twiceshy.stream.records import Record
    from twiceshy.stream.signing import Signer
    from workers.guard import GuardStage, Incoming


@dataclass(frozen=True, slots=True)
class Checked:
    """What guard would do with a line. ``reasons`` are sentences, or each rule with the field that it matched."""

    number: int
    verdict: str
    reasons: list[str]
    fingerprint: str | None = None
    origin: str | None = None
    trust: float | None = None
    masked: dict[str, int] = field(default_factory=dict)
    risky: list[str] = field(default_factory=list)


def check(
    file: Annotated[str, typer.Argument(metavar="FILE|-", help="JSON lines, one incident a line; - is stdin.")],
    backfill: Annotated[bool, typer.Option("--backfill", help="As `publish --backfill` would send them.")] = False,
    tenant: Annotated[str | None, typer.Option(help="Check for this tenant, whichever the lines name.")] = None,
    as_json: AsJson = False,
) -> None:
    """Say what guard would do with each incident, and publish nothing. Exit code 1 if it would not admit them all.

    It goes by the settings and the rules that are here, and asks nobody: whether an incident is one too many of its
    kind (a burst) only the running guard can tell.
    """
    from twiceshy.cli.lines import read_lines

    settings = load_settings()
    whose = None if tenant is None else tenant_of(settings, tenant)
    with opened(file) as lines:
        found = run(_checked(settings, read_lines(lines, whose), backfill))
    if as_json:
        print_json(found)
    else:
        _print(found)
    if any(one.verdict != "admitted" for one in found):
        raise typer.Exit(1)


async def _checked(settings: "Settings", lines: "Iterable[Line | Refused]", backfill: bool) -> list[Checked]:
    """Each line as guard itself decodes it, from the record that `publish` would send."""
    from twiceshy.stores.connection import connect
    from twiceshy.stores.decisions import Decisions
    from twiceshy.stores.notes import Progress
    from twiceshy.stores.quarantine import Quarantine
    from workers.guard import GuardStage

    async def log_end(_: int) -> int:
        return 0

    redis = connect(settings.falkordb)  # which nothing here asks, so that it connects to nothing
    progress = Progress(redis, "check")
    stage = GuardStage(settings, Decisions(redis), Quarantine(redis), progress, log_end, backfill=backfill)
    return list(_judged(stage, settings, lines, backfill))


def _judged(
    stage: "GuardStage", settings: "Settings", lines: "Iterable[Line | Refused]", backfill: bool
) -> Iterator[Checked]:
    from twiceshy.cli.lines import Refused
    from twiceshy.errors import PoisonError
    from twiceshy.stream.signing import Signer

    signer = Signer(settings)
    for line in lines:
        if isinstance(line, Refused):
            yield Checked(line.number, "refused", [line.reason])
            continue
        try:
            incoming = stage.decode(_record(line, signer, backfill))
        except PoisonError as error:
            yield _refused(line, error)
        else:
            yield _found(line.number, incoming)


def _record(line: "Line", signer: "Signer", backfill: bool) -> "Record":
    from twiceshy.client.publisher import publication
    from twiceshy.stream.records import Record
    from workers.entrance import wall_clock_ms

    _, output = publication(line.incident, signer, changed_at=None, backfill=backfill)
    return Record(output.topic, 0, 0, output.key, output.value, dict(output.headers), wall_clock_ms())


def _refused(line: "Line", error: "PoisonError") -> Checked:
    incident = line.incident
    return Checked(line.number, "refused", [error.detail], incident.fingerprint, incident.origin.name)


def _found(number: int, incoming: "Incoming") -> Checked:
    found = incoming.judged
    return Checked(
        number,
        "held" if found.findings else "admitted",
        [f"{one.rule} ({one.category}) in {one.where or 'the whole'}" for one in found.findings],
        found.incident.fingerprint,
        found.incident.origin.name,
        incoming.trust,
        found.masked,
        list(found.risky),
    )


def _print(found: list[Checked]) -> None:
    print_counts("verdict", Counter(one.verdict for one in found))
    refused = [f"line {one.number}: {reason}" for one in found if one.verdict == "refused" for reason in one.reasons]
    held = [f"line {one.number}: {'; '.join(one.reasons)}" for one in found if one.verdict == "held"]
    risky = [f"line {one.number}: {', '.join(one.risky)}" for one in found if one.risky]
    masked = [f"line {one.number}: {_counts(one.masked)}" for one in found if one.masked]
    print_faults("Refused:", refused)
    print_faults("Held until a person decides:", held)
    print_faults("Labelled risky, and trusted half as far:", risky)
    print_faults("Masked:", masked)
    trusted = Counter((one.origin, one.trust) for one in found if one.trust is not None)
    print_faults("Trust:", [f"{origin}: {trust:g} ({count} incidents)" for (origin, trust), count in trusted.items()])
    print_dim("\nBursts are judged by the running guard alone, from what came within its window.")


def _counts(masked: dict[str, int]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in sorted(masked.items()))
