"""What a figure rests on: the machine, and what a process has cost."""

import os
import platform
from pathlib import Path


def machine() -> str:
    """Processor, cores and load, in a line."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [line.split(":", 1)[1].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        model = names[0] if names else model
    load = os.getloadavg()[0]
    return f"{model}, {os.cpu_count()} cores, load {load:.1f}, Python {platform.python_version()}, {platform.system()}"


def cpu_seconds(pid: int) -> float:
    """Processor seconds, user and system, of a process and of what it forked and has ended by now (Linux).

    FalkorDB cleans its indexes in a fork of its server.
    """
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
