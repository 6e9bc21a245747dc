"""Old incidents in bulk against a stack that runs: from a table and from a folder of post-mortems into memory."""

from pathlib import Path

from tests.cli import Ended, twiceshy
from twiceshy.local.stack import Stack

ROWS_COUNT = 120
POSTMORTEM = """# Beacon relay drops {number} lantern signals

Started: 2025-03-{day:02} 09:10 UTC
Resolved: 2025-03-{day:02} 10:40 UTC

## What happened
The beacon relay of harbour {number} dropped every third lantern signal.

## Root cause
The gearbox firmware of relay {number} rounded the rotation period down.

## Fix
Rolled the gearbox firmware back.
"""


def table(folder: Path) -> Path:
    """An export of a ticket system, as one calls its columns and writes its times."""
    rows = [
        f"OPS-{number},Parcel sorter {number} jams,2025-01-02 {number % 24:02}:30,belt-{number % 7}; scanner,High,"
        f'"Sorter {number} jammed,\nand parcels fell off."\n'
        for number in range(ROWS_COUNT)
    ]
    file = folder / "export.csv"
    file.write_text("Key,Summary,Closed,Components,Priority,Description\n" + "".join(rows), encoding="utf-8-sig")
    return file


def outcomes(ended: Ended) -> list[str]:
    assert ended.err == ""
    return sorted({told["outcome"] for told in ended.json["outcomes"]})


async def test_table_and_postmortems_are_imported_and_recalled(stack: Stack, tmp_path: Path) -> None:
    where = stack.folder.path
    of_table = (
        "import", table(tmp_path), "--map", "fingerprint=Key", "--map", "title=Summary", "--map", "concluded_at=Closed",
        "--map", "entities.component=Components", "--map", "severity=Priority", "--map", "details=Description",
        "--set", "origin.name=jira", "--timezone", "Europe/Berlin",
    )  # fmt: skip
    rehearsed = await twiceshy(*of_table, "--dry-run", "--json", folder=where)
    assert (rehearsed.code, rehearsed.json["ready"], rehearsed.json["refused"]) == (0, ROWS_COUNT, [])
    imported = await twiceshy(*of_table, "--json", folder=where)
    assert (imported.code, outcomes(imported), len(imported.json["outcomes"])) == (0, ["remembered"], ROWS_COUNT)
    again = await twiceshy(*of_table, folder=where)
    assert again.code == 0
    assert f"{ROWS_COUNT} rows in ".encode() in again.out

    texts = tmp_path / "texts"
    for number in range(1, 6):
        file = texts / f"q{number % 2}" / f"relay-{number}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(POSTMORTEM.format(number=number, day=number), encoding="utf-8")
    imported = await twiceshy("import", texts, "--tenant", "default", "--json", folder=where)
    assert (imported.code, outcomes(imported)) == (0, ["remembered"])
    assert [told["file"] for told in imported.json["outcomes"]][:2] == ["q0/relay-2.md", "q0/relay-4.md"]

    asked = "lantern signals of a beacon relay are dropped"
    reply = await twiceshy("recall", asked, "--deadline-ms", "20000", "--json", folder=where)
    first = reply.json["results"][0]
    assert (first["origin"], first["resolution"]) == ("postmortems", "Rolled the gearbox firmware back.")
    assert "rounded the rotation period down" in first["cause"]

    (texts / "notes.md").write_text("no title, no day")
    partly = await twiceshy("import", texts, folder=where)
    assert partly.code == 1
    assert b"notes.md: concluded_at: there is no such front matter" in partly.out
    assert b"6 files in " in partly.out
