"""twiceshy doctor: is every part as it must be?"""

from typing import TYPE_CHECKING

import typer

from twiceshy.cli.output import AsJson, console, load_settings, print_json, run, shown, table

if TYPE_CHECKING:
    from twiceshy.cli.checks import Finding


def doctor(as_json: AsJson = False) -> None:
    """Check every part of the stack, and say what to do about what is not well. Exit code 0: ready to serve."""
    from twiceshy.cli.checks import examine

    findings = run(examine(load_settings()))
    ready = all(finding.well for finding in findings)
    if as_json:
        print_json({"ready": ready, "checks": findings})
    else:
        _print(findings, ready)
    if not ready:
        raise typer.Exit(1)


def _print(findings: "list[Finding]", ready: bool) -> None:
    from rich.text import Text

    screen = console()
    rows = table("part", "", "what was found")
    for finding in findings:
        mark = Text("ok", style="green") if finding.well else Text("not ok", style="bold red")
        rows.add_row(finding.part, mark, Text(shown(finding.detail)))
    screen.print(rows)
    ill = sum(not finding.well for finding in findings)
    screen.print("\nReady to serve." if ready else f"\nNot ready: {ill} of {len(findings)} checks failed.")
