"""The contract travels inside the wheel, and is found there."""

import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOOK = """
from twiceshy.contracts import EXAMPLE_INCIDENTS, SCHEMAS_FOLDER
from twiceshy.stream.topics import TOPICS
print(EXAMPLE_INCIDENTS.exists(), len(list(SCHEMAS_FOLDER.glob("*.json"))), len(TOPICS.all()))
"""


def test_wheel_brings_topics_schemas_and_examples(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    [wheel] = tmp_path.glob("*.whl")
    installed = tmp_path / "installed"
    zipfile.ZipFile(wheel).extractall(installed)
    # Run elsewhere and with the wheel's folder first, so that nothing of the checkout is found.
    looked = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(installed)!r}){LOOK}"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    )
    schemas = len(list((ROOT / "schemas").glob("*.json")))
    topics = len(list((ROOT / "topics").glob("*.yaml")))
    assert looked.stdout.split() == ["True", str(schemas), str(topics)]
