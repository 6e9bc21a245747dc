"""Writes schemas/*.json from the models, or checks that they have not drifted apart.

python -m twiceshy.events.schemas            write
python -m twiceshy.events.schemas --check    exit 1 with the names of the files that differ
"""

import json
import sys
from pathlib import Path

from twiceshy.contracts import SCHEMAS_FOLDER
from twiceshy.events.catalogue import EVENT_TYPES


def generated() -> dict[str, str]:
    """File name to file content of every schema, as the models have it now."""
    return {
        f"{name}.json": json.dumps(
            {"$schema": "https://json-schema.org/draft/2020-12/schema", **model.model_json_schema()},
            indent=2,
            sort_keys=True,
            ensure_ascii=False,
        )
        + "\n"
        for name, model in EVENT_TYPES.items()
    }


def drift(folder: Path = SCHEMAS_FOLDER) -> list[str]:
    """Names of the files in ``folder`` that are missing, stale, or belong to no model."""
    expected = generated()
    actual = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.json")}
    return sorted(name for name in expected.keys() | actual.keys() if expected.get(name) != actual.get(name))


def write(folder: Path = SCHEMAS_FOLDER) -> None:
    for path in folder.glob("*.json"):
        path.unlink()
    for name, text in generated().items():
        (folder / name).write_text(text, encoding="utf-8")


def main(arguments: list[str]) -> int:
    if arguments == ["--check"]:
        stale = drift()
        if stale:
            sys.stderr.write(
                f"These schemas differ from the models: {', '.join(stale)}. "
                "Run `python -m twiceshy.events.schemas` and commit what it writes.\n"
            )
        return 1 if stale else 0
    write()
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
