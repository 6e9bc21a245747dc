"""python -m workers NAME: the workers of the embedded stack. ``chain`` is all of them but recall.

Recall has a process of its own there, so that a chain that waits for a store does not keep anyone from asking.
"""

import sys

from twiceshy.errors import NotReadyError
from twiceshy.logs import log_to_stdout
from twiceshy.settings import Settings
from workers.bootstrap import CHAIN, run


def main(name: str) -> int:
    log_to_stdout()
    names = CHAIN if name == "chain" else (name,)
    try:
        run(names, Settings(), group=f"twiceshy.{name}")
    except NotReadyError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1]))
