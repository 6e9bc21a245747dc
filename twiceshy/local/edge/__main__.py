"""python -m twiceshy.local.edge --data DIR --port N"""

from pathlib import Path

from twiceshy.errors import NotReadyError
from twiceshy.local.edge.folder import CollectionsFolder
from twiceshy.local.edge.service import EdgeService
from twiceshy.local.http import arguments, exit_on_signals, serve


def main() -> None:
    parser = arguments("Serve Qdrant Edge over Qdrant's REST interface.")
    parser.add_argument("--data", type=Path, required=True, help="a folder of its own; made if it is not there")
    given = parser.parse_args()
    exit_on_signals()
    try:
        with CollectionsFolder(given.data) as folder:
            serve(EdgeService(folder), given.host, given.port, tick=folder.tick)
    except NotReadyError as error:
        raise SystemExit(str(error)) from error


if __name__ == "__main__":
    main()
