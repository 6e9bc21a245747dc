"""Run by path, on Linux, between a fork and the program that was meant: ties its life to the parent's.

A ``preexec_fn`` would do the same without the 25 ms that this takes, but it runs Python in the forked copy
of a process that may have threads, where a lock that one of them held is never released.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main(parent: int, argv: list[str]) -> None:
    """Becomes ``argv``, which the kernel kills when ``parent`` is gone."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)  # it died before the kernel knew, and would never be reported
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and exec would hand that on
    try:
        os.execvp(argv[0], argv)  # noqa: S606 (no shell is wanted)
    except OSError as error:
        sys.exit(f"{argv[0]} cannot be run: {error.strerror}.")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
