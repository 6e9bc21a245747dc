"""The tree shows the architecture: who may import whom, and where queries and the environment live."""

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

ALLOWED = {
    "twiceshy.errors": set(),
    "twiceshy.contracts": set(),
    "twiceshy.logs": set(),
    "twiceshy.events": {"twiceshy.core", "twiceshy.contracts"},
    "twiceshy.core": {"twiceshy.events"},
    "twiceshy.settings": {"twiceshy.events", "twiceshy.core", "twiceshy.errors"},
    "twiceshy.stores": {"twiceshy.events", "twiceshy.core", "twiceshy.errors", "twiceshy.settings"},
    "twiceshy.stream": {
        "twiceshy.events",
        "twiceshy.core",
        "twiceshy.errors",
        "twiceshy.settings",
        "twiceshy.contracts",
    },
}
BELOW_WORKERS = {*ALLOWED, "twiceshy.client"}
ALLOWED |= {
    "twiceshy.client": set(ALLOWED) - {"twiceshy.stores"},
    "workers": BELOW_WORKERS - {"twiceshy.client"},
    "twiceshy.local": {*BELOW_WORKERS, "workers"},
    "twiceshy.cli": {*BELOW_WORKERS, "workers", "twiceshy.local"},
}


def part_of(module: str) -> str:
    words = module.split(".")
    return words[0] if words[0] == "workers" else ".".join(words[:2])


def imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found |= {f"{node.module}.{alias.name}" for alias in node.names if node.module == "twiceshy"}
    return {name for name in found if name.split(".")[0] in ("twiceshy", "workers")}


def sources() -> list[Path]:
    return [path for folder in ("twiceshy", "workers") for path in sorted((ROOT / folder).rglob("*.py"))]


def test_imports_point_one_way() -> None:
    wrong = []
    for path in sources():
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        own = part_of(module)
        if own == "twiceshy":
            continue
        for name in imports(path):
            other = part_of(name)
            if other not in (own, "twiceshy") and other not in ALLOWED[own]:
                wrong.append(f"{module} imports {name}")
    assert wrong == []


def test_only_settings_reads_the_environment() -> None:
    allowed = {ROOT / "twiceshy" / "settings.py", ROOT / "twiceshy" / "local" / "stack.py"}
    reading = [path for path in sources() if "os.environ" in path.read_text() and path not in allowed]
    assert reading == []


def test_only_one_module_holds_cypher() -> None:
    words = ("MATCH (", "MERGE (", "UNWIND $", "CREATE INDEX")
    holding = [path for path in sources() if any(word in path.read_text() for word in words)]
    assert holding == [ROOT / "twiceshy" / "stores" / "cypher.py"]


def test_modules_fit_in_a_head() -> None:
    limit = 300
    long = {
        str(path.relative_to(ROOT)): lines
        for path in sources()
        if path.name != "cypher.py" and (lines := len(path.read_text().splitlines())) > limit
    }
    assert long == {}


def test_a_worker_starts_with_its_edge() -> None:
    for name in ("guard", "graph", "lesson", "consolidate", "embed", "recall"):
        first = (ROOT / "workers" / f"{name}.py").read_text().splitlines()[0]
        assert f"→ {name} →" in first
