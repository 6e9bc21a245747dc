"""Incidents from post-mortems: a folder of Markdown, whose front matter or headings say what is what."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any

from twiceshy.cli.fields import TIMES
from twiceshy.cli.lines import Line, Refused, incident_of, reason_of
from twiceshy.cli.markdown import Markdown, parse, split_front_matter
from twiceshy.cli.times import Clock
from twiceshy.events.common import DETAILS_CHARS_MAX, TEXT_CHARS_MAX
from twiceshy.events.incident import IncidentConcluded

# What a word of front matter, or at the beginning of a line, tells: of several that tell the same the first counts.
WORDS = {
    "started": "started_at",
    "detected": "detected_at",
    "acknowledged": "acknowledged_at",
    "resolved": "concluded_at",
    "ended": "concluded_at",
    "date": "concluded_at",
}
SECTIONS = {
    "summary": ("summary", "executive summary", "incident summary", "overview", "what happened", "impact",
                "customer impact", "user impact"),
    "cause": ("root cause", "root causes", "root cause analysis", "cause", "causes", "why it happened"),
    "resolution": ("resolution", "fix", "mitigation", "remediation", "recovery", "resolution and recovery",
                   "mitigation and resolution", "how it was fixed", "how we fixed it"),
}  # fmt: skip
FIELDS = tuple(IncidentConcluded.model_fields)

_FIELD_OF = {heading: field for field, headings in SECTIONS.items() for heading in headings}
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_NUMBERED = re.compile(r"^(?:\d+[.)]|\d+(?:\.\d+)+)\s+")


@dataclass(frozen=True, slots=True)
class Reading:
    """How a folder's files are read. ``ignored`` are keys of front matter that are nobody's business here."""

    clock: Clock
    origin: str
    tenant: str | None
    tenant_default: str
    ignored: frozenset[str] = frozenset()


def markdown_files(folder: Path, excluded: Iterable[str] = ()) -> list[str]:
    """Every Markdown file below ``folder``, relative to it and sorted, but for those that a pattern excludes.

    Raises:
        ValueError: a pattern excludes nothing, or no file is left.
    """
    files = sorted(
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.suffix.casefold() == ".md" and path.is_file()
    )
    for pattern in excluded:
        kept = [file for file in files if not (PurePosixPath(file).match(pattern) or fnmatchcase(file, pattern))]
        if len(kept) == len(files):
            raise ValueError(f"--exclude {pattern} matches no file below {folder}.")
        files = kept
    if not files:
        raise ValueError(f"There is no *.md file to read below {folder}.")
    return files


def read_folder(folder: Path, files: Iterable[str], reading: Reading) -> Iterator[Line | Refused]:
    """Each of ``files`` as an incident, or why it is none. A file's number is its place in the order."""
    for number, path in enumerate(files, start=1):
        # A name need not be text, and is told all the same.
        file = path.encode(errors="replace").decode()
        try:
            text = (folder / path).read_text(encoding="utf-8-sig")
            yield Line(number, incident_of(body_of(text, file, reading)), file)
        except OSError as error:
            yield Refused(number, f"it cannot be read: {error.strerror}", file)
        except UnicodeDecodeError:
            yield Refused(number, "it is not UTF-8 text: save it as UTF-8", file)
        except ValueError as error:
            yield Refused(number, reason_of(error), file)


def body_of(text: str, file: str, reading: Reading) -> dict[str, Any]:
    """The body of the incident that a post-mortem tells: front matter first, then headings and lines, then its name.

    Raises:
        ValueError: something that must be there is missing, is no time, or is too long; the message says which.
    """
    front, prose = split_front_matter(text)
    front = {key: value for key, value in front.items() if key not in reading.ignored}
    _check_keys(front)
    markdown = parse(prose)
    body: dict[str, Any] = {
        "fingerprint": PurePosixPath(file).with_suffix("").as_posix(),
        "title": markdown.title,
        "details": prose.strip(),
        **_sections(markdown, front),
        **{key: value for key, value in front.items() if key in FIELDS},
        **_times(markdown, front, PurePosixPath(file).name, reading.clock),
        "origin": _origin(front.get("origin"), reading.origin),
        "tenant": reading.tenant or front.get("tenant", reading.tenant_default),
    }
    if isinstance(body.get("cause"), str):
        body["cause"] = {"category": "other", "statement": body["cause"]}
    if body["title"] is None:
        raise ValueError("title: there is no heading with one #, and no title in front matter")
    if "details" not in front and len(body["details"]) > DETAILS_CHARS_MAX:
        raise ValueError(
            f"details: the whole text has {len(body['details'])} characters, of {DETAILS_CHARS_MAX} at most: "
            "shorten it, or give shorter details in front matter"
        )
    return body


def _check_keys(front: dict[str, Any]) -> None:
    for key in front:
        if key not in FIELDS and key not in WORDS:
            raise ValueError(
                f"{key}: there is no such field: take it out, or say --ignore-key {key}; "
                f"the fields are {', '.join((*FIELDS, *WORDS))}"
            )


def _sections(markdown: Markdown, front: dict[str, Any]) -> dict[str, str]:
    """The fields that sections tell and ``front`` does not; several sections of one field follow each other."""
    told: dict[str, list[str]] = {}
    names: dict[str, list[str]] = {}
    for heading, text in markdown.sections(lambda heading: _plain(heading) in _FIELD_OF):
        field = _FIELD_OF[_plain(heading)]
        if text and field not in front:
            told.setdefault(field, []).append(text)
            names.setdefault(field, []).append(f'"{heading}"')
    fields = {field: "\n\n".join(texts) for field, texts in told.items()}
    for field, text in fields.items():
        if len(text) > TEXT_CHARS_MAX:
            raise ValueError(
                f"{field}: what is under {' and '.join(names[field])} has {len(text)} characters, of {TEXT_CHARS_MAX} "
                f"at most: shorten it, or give a shorter {field} in front matter"
            )
    return fields


def _plain(heading: str) -> str:
    """A heading without number, emphasis and colon, to compare it."""
    return _NUMBERED.sub("", heading.strip(" *_`"), count=1).strip(" *_`:").casefold()


def _times(markdown: Markdown, front: dict[str, Any], name: str, clock: Clock) -> dict[str, Any]:
    """The instants that front matter tells, else the lines of the text; else the day with which the name begins."""
    texts: dict[str, tuple[str, Any]] = {}
    told = {**dict.fromkeys(TIMES), **WORDS}
    for source in (front, markdown.dated(frozenset(WORDS))):
        for word in told:
            if word in source:
                texts.setdefault(told[word] or word, (word, source[word]))
    if "concluded_at" not in texts and (day := _DAY.match(name)):
        texts["concluded_at"] = ("the file's name", day[0])
    if "concluded_at" not in texts:
        raise ValueError(
            "concluded_at: there is no such front matter, no line as `Resolved: 2026-11-02T03:10:00Z` "
            "(or Ended, or Date), and no date with which the file's name begins"
        )
    instants = {}
    for field, (word, text) in texts.items():
        try:
            instants[field] = clock.instant(str(text), ends=field == "concluded_at")
        except ValueError as error:
            raise ValueError(f"{field} ({word}): {error}" if word != field else f"{field}: {error}") from None
    return instants


def _origin(given: Any, name: str) -> Any:
    if given is None:
        return {"name": name}
    if isinstance(given, str):
        return {"name": given}
    return {"name": name, **given} if isinstance(given, dict) else given
