"""The schemas are generated from the models, and the examples are what they say."""

import json
from pathlib import Path

import jsonschema
import pytest

from twiceshy.contracts import EXAMPLE_INCIDENTS, SCHEMAS_FOLDER
from twiceshy.events.catalogue import EVENT_TYPES
from twiceshy.events.incident import IncidentConcluded
from twiceshy.events.schemas import drift, write
from twiceshy.stream.codec import encode


def test_schemas_are_those_of_the_models() -> None:
    assert drift(SCHEMAS_FOLDER) == []


def test_a_schema_that_drifted_is_named(tmp_path: Path) -> None:
    write(tmp_path)
    path = tmp_path / "entry.logged.v1.json"
    path.write_text(path.read_text().replace("admitted_at", "admitted_when", 1))
    (tmp_path / "audit.recorded.v1.json").unlink()
    assert drift(tmp_path) == ["audit.recorded.v1.json", "entry.logged.v1.json"]


def test_every_schema_is_a_closed_object() -> None:
    for name in EVENT_TYPES:
        schema = json.loads((SCHEMAS_FOLDER / f"{name}.json").read_text())
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["additionalProperties"] is False, name


def test_the_example_incidents_are_valid_by_schema_and_by_model() -> None:
    validator = jsonschema.Draft202012Validator(json.loads((SCHEMAS_FOLDER / "incident.concluded.v1.json").read_text()))
    lines = EXAMPLE_INCIDENTS.read_text(encoding="utf-8").splitlines()
    assert len(lines) >= 24
    for line in lines:
        validator.validate(json.loads(line))
        incident = IncidentConcluded.model_validate_json(line)
        assert IncidentConcluded.model_validate_json(encode(incident)) == incident


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"concluded_at": "2026-11-02T04:02:00"}, "concluded_at"),
        ({"concluded_at": 1_700_000_000}, "concluded_at"),
        ({"concluded_at": "1700000000"}, "concluded_at"),
        ({"concluded_at": "0001-01-01T00:00:00+14:00"}, "concluded_at"),
        ({"started_at": "2026-11-03T00:00:00Z"}, "started_at"),
        ({"tenant": "Payments"}, "tenant"),
        ({"surprise": 1}, "surprise"),
        ({"title": "  "}, "title"),
        ({"entities": [{"type": "service", "ref": "pay\u200bments", "role": "affected"}]}, "entities.0.ref"),
        ({"steps": ["x"] * 33}, "steps"),
        ({"summary": "x" * 16_385}, "summary"),
    ],
)
def test_a_bad_incident_is_refused_with_the_name_of_its_field(change: dict[str, object], field: str) -> None:
    body = {
        "tenant": "default",
        "fingerprint": "f/1",
        "title": "Checkout times out",
        "concluded_at": "2026-11-02T04:02:00Z",
        "origin": {"name": "pagerduty"},
    } | change
    with pytest.raises(ValueError, match=r".*") as refused:
        IncidentConcluded.model_validate_json(json.dumps(body))
    assert field in str(refused.value)
