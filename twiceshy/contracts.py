"""Where the public contract lies: beside the package in a checkout, inside it when installed from a wheel."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_INSTALLED = _PACKAGE / "contract"
_ROOT = _INSTALLED if _INSTALLED.is_dir() else _PACKAGE.parent

TOPICS_FOLDER = _ROOT / "topics"
SCHEMAS_FOLDER = _ROOT / "schemas"
EXAMPLE_INCIDENTS = _ROOT / "examples" / "incidents.jsonl"
