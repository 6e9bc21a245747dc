"""What in an incident's text makes guard hold it back for a person to decide.

    found = scan(incident)
    found.findings        the rules that matched, when they are enough to hold it; else none
    found.risky           the kinds of risky action that it advises, which hold nothing back

A text filter knows tricks, not lies: it finds orders to a reader and forged structure, never a false fact. All that a
model may come to read is looked at: each string, label keys too, all of them joined (what is split over two fields),
and what they say when decoded. Rules are grouped by category; of each the strongest that matched counts, once, and
from `LINE` on the incident is held. It fails closed: what cannot be read to the end within the budget is held.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import re2
from pydantic import BaseModel

from twiceshy.core import scan_commands, scan_languages, scan_markup, scan_passives, scan_personas, scan_rules
from twiceshy.core.disguises import undisguises
from twiceshy.core.invisible import visible
from twiceshy.core.letters import STRUCTURES, UnreadableError, folded, structures, unleeted, untwinned, worded
from twiceshy.core.risky import kinds
from twiceshy.core.scan_patterns import LINE, MEDIUM, STRONG, Rule
from twiceshy.core.scan_search import Page, Searcher
from twiceshy.core.views import Budget, View, decodable, decoded, unmarked
from twiceshy.events.incident import IncidentConcluded

_HEAD_CHARS = 200
_SPLIT_CHARS = 60
"""Of a field's end and of another one's beginning, which is more than an order to drop orders has."""
_LONG_CHARS = 32 * 1024
"""A longer text is searched no further once it is held: more reasons would cost what an attacker makes them cost."""
_BARRIER = View("", ".")
_FIELDS_BESIDE_TITLE = ("summary", "resolution", "details", "fault_signature", "cause.statement", "steps.0", "labels.0")

_FIELDS_IN_PAIRS = ("summary", "resolution", "cause.statement", "details")

_ON_WORDS = (*scan_rules.RULES, *scan_passives.RULES, *scan_personas.RULES, *scan_languages.RULES)
_ON_MARKUP = (*scan_markup.RULES, *scan_commands.RULES)
_RULES = (*_ON_WORDS, *_ON_MARKUP)
_SEVERITIES = {rule.name: rule.severity for rule in _RULES}
_WORDS = Searcher(
    _ON_WORDS,
    ("agent_directive", "answer_steering"),
    ("trust_forging", "concealment"),
    ("prompt_leak", "guardrail_evasion"),
    never_in_ascii=scan_languages.NEVER_IN_ASCII,
)
_MARKUP = Searcher(_ON_MARKUP, ("agent_directive", "role_forging", "label_forging", "tool_call", "dangerous_command"))

_PROSE = re2.compile(r"(?:\b[a-z']{2,15}[ ,]{1,2}){5}")

RULES_VERSION = sha256(repr((_RULES, scan_commands.RISKY, sorted(STRUCTURES.items()), LINE)).encode()).hexdigest()[:12]
"""Of the rules' texts: another one may hold what this one passed, and pass what it held."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that matched, and the field in which it did. It has no text of the incident's."""

    rule: str
    category: str
    where: str


@dataclass(frozen=True, slots=True)
class Scan:
    """Findings are there when they hold the incident; the kinds of risky action are labels."""

    findings: tuple[Finding, ...]
    risky: tuple[str, ...]


_NOT_SCANNABLE = Scan((Finding("not-scannable", "unreadable", ""),), ())


def scan(incident: IncidentConcluded) -> Scan:
    """What is found in an incident as received. Never raises: what fails is a finding."""
    return scanned(incident)[0]


def scanned(incident: IncidentConcluded) -> tuple[Scan, IncidentConcluded]:
    """`scan` of an incident, and the incident as it may be admitted: `cleaned`, unless it is held."""
    try:
        read = strings(incident)
        found = _scan((*read, *_joined(read)))
        if found.findings or "".join([view.text for view in read]).isascii():
            return found, incident
        return found, cleaned(incident)
    except Exception:  # noqa: BLE001 - whatever made the scan fail may have been made to
        return _NOT_SCANNABLE, incident


def scan_text(text: str) -> Scan:
    """`scan` of one text that is no incident's, such as the reason of a command."""
    try:
        return _scan((View("text", text),))
    except Exception:  # noqa: BLE001 - as above
        return _NOT_SCANNABLE


def cleaned(incident: IncidentConcluded) -> IncidentConcluded:
    """The incident without the invisible characters that no script needs: what is admitted has none.

    Raises ValueError (pydantic's is one) when a name or a title would be left blank, or two labels with one key; `scan`
    holds such incidents.
    """
    said = incident.model_dump(mode="python")
    plain = _visible(said)
    return incident if plain == said else IncidentConcluded.model_validate(plain)


def strings(event: BaseModel) -> list[View]:
    """Every string in an event with the path that leads to it. A label is named by its position: its key is a text."""
    read: list[View] = []
    _read(event, "", read)
    return read


def _read(event: BaseModel, path: str, read: list[View]) -> None:
    for name, part in vars(event).items():
        if not part:
            continue
        if isinstance(part, str):
            read.append(View(path + name, part))
        elif isinstance(part, tuple):
            for index, each in enumerate(part):
                if isinstance(each, str):
                    read.append(View(f"{path}{name}.{index}", each))
                else:
                    _read(each, f"{path}{name}.{index}.", read)
        elif isinstance(part, dict):
            for index, (key, text) in enumerate(part.items()):
                read += (View(f"{path}{name}.{index}:key", key), View(f"{path}{name}.{index}", text))
        elif isinstance(part, BaseModel):  # last, for pydantic has this asked in Python
            _read(part, f"{path}{name}.", read)


def _joined(read: Sequence[View]) -> list[View]:
    """Fields put side by side between which a payload may be split, where they are not neighbours already."""
    places = {view.where: place for place, view in enumerate(read)}
    joined: list[View] = []
    if "labels.0" in places:
        labels = [view for view in read if view.where.startswith("labels.")]
        # Keys and values of labels take turns.
        joined += (_BARRIER, *labels[::2], _BARRIER, *labels[1::2])
    title = places["title"]
    for name in _FIELDS_BESIDE_TITLE:
        if places.get(name, title + 1) != title + 1:
            joined += (_BARRIER, read[title], View(name, read[places[name]].text[:_HEAD_CHARS]))
    paired = [places[name] for name in _FIELDS_IN_PAIRS if name in places]
    for first in paired:
        where, text, _ = read[first]
        # No rule reaches over the end of a sentence.
        if text.rstrip().endswith((".", "!", "?")):
            continue
        end = View(where, text[-_SPLIT_CHARS:])
        for second in paired:
            if second not in (first, first + 1):
                joined += (_BARRIER, end, View(read[second].where, read[second].text[:_SPLIT_CHARS]))
    return joined


def _scan(read: Sequence[View]) -> Scan:
    found: list[Finding] = []
    risky: tuple[str, ...] = ()
    try:
        budget, page = Budget(), Page(read)
        for finding in _findings(page, budget):
            found.append(finding)
            if len(page.text) > _LONG_CHARS and _score(found) >= LINE:
                break
        risky = kinds(page.text, budget)
    except UnreadableError:
        found.append(Finding("more-than-can-be-read", "unreadable", ""))
    distinct = {finding.rule: finding for finding in reversed(found)}
    findings = sorted(distinct.values(), key=lambda finding: -_severity(finding))
    return Scan(tuple(findings) if _score(findings) >= LINE else (), risky)


def _findings(page: Page, budget: Budget) -> Iterator[Finding]:
    """All that is found on a page and in what it says when decoded. Raises UnreadableError."""
    yield from _structures(page)
    yield from _found(page, budget)
    cut = page.may_be_disguised and undisguises(page.text, unmarked(page.text))
    deeper = list(_bare(page.views)) if cut else []
    if decodable(page.joined):
        deeper += decoded(page.views, budget)
    if deeper:
        below = Page(deeper)
        yield from _structures(below)
        for view in deeper:
            if view.coding not in ("escapes", "markup") and _PROSE.search(folded(view.text).encode()):
                yield Finding("text-in-a-blob", "encoded_text", view.where)
        yield from _found(below, budget)


def _bare(read: Iterable[View]) -> Iterator[View]:
    """The views with words in which there is markup, without it."""
    for view in read:
        plain = unmarked(view.text)
        if undisguises(view.text.lower(), plain.lower()):
            yield View(view.where, plain, "markup")


def _structures(page: Page) -> Iterator[Finding]:
    if page.joined.isascii():
        return
    for view in page.views:
        if not view.text.isascii():
            yield from (Finding(rule, "unicode", view.where) for rule in structures(view.text))


def _found(page: Page, budget: Budget) -> Iterator[Finding]:
    """What the rules find on a page: as it is, and with look-alikes, and digits for letters, as what they look like."""
    text, words = page.text, page.words
    searches = [(_MARKUP, text), (_WORDS, words)]
    latin = untwinned(words, page.letters)
    if undisguises(words, latin):
        searches.append((_WORDS, latin))
    if page.may_be_disguised and undisguises(text, spelled := unleeted(text)):
        searches.append((_WORDS, worded(spelled)))
    # In each form a letter stays one letter, so that a place in it is the same place on the page.
    signs: list[tuple[Rule, int, int]] = []
    for searcher, form in searches:
        for rule, start, end in searcher.matches(form, budget):
            if rule.severity == MEDIUM:
                # The same characters are one sign, even if two categories know it; which is found first says nothing.
                others = [sign for sign in signs if sign[0].category != rule.category]
                apart = [sign for sign in others if sign[2] <= start or end <= sign[1]]
                signs.append((rule, start, end))
                if others and not apart:
                    continue
                for other, first, last in apart:
                    yield Finding(other.name, other.category, page.where(first, last))
            yield Finding(rule.name, rule.category, page.where(start, end))


def _score(findings: Iterable[Finding]) -> int:
    strongest: dict[str, int] = {}
    for finding in findings:
        strongest[finding.category] = max(strongest.get(finding.category, 0), _severity(finding))
    return sum(strongest.values())


def _severity(finding: Finding) -> int:
    if finding.category in ("unicode", "unreadable"):
        return STRONG
    return _SEVERITIES.get(finding.rule, MEDIUM)


def _visible(value: Any) -> Any:
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        plain = {_visible(key): _visible(part) for key, part in value.items()}
        if len(plain) < len(value):
            raise ValueError("two labels have one key but for characters that cannot be seen")
        return plain
    if isinstance(value, list | tuple):
        return type(value)(_visible(part) for part in value)
    return value
