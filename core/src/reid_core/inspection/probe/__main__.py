"""The program of a probe: looks at one component, or at many, each in a fork of itself."""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from pathlib import Path

#: What every run has loaded before it loads a component.
_PRELOADED = ("torch", "torchvision.transforms.v2", "reid_core.engine")


def main(arguments: list[str]) -> None:
    """Run a probe.

    Args:
        arguments: Paths of the request, of the result, and of the file to which the output goes;
            or ``--serve``, to read such lines from standard input, with tabs between them, and to
            answer each with the number of a process and, at its end, its exit code.
    """
    for module in (*_PRELOADED, "reid_core.inspection.probe.examine"):
        importlib.import_module(module)
    if arguments != ["--serve"]:
        _probe(arguments)
    for line in sys.stdin:
        child = _fork(line.rstrip("\n").split("\t"))
        sys.stdout.write(f"{child}\n")
        sys.stdout.flush()
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


def _fork(files: list[str]) -> int:
    with warnings.catch_warnings():
        # Python warns of threads that it does not know; those of the libraries here can be forked.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child:
        return child
    try:
        os.setpgid(0, 0)
        null = os.open(os.devnull, os.O_RDONLY)
        output = os.open(files[2], os.O_WRONLY | os.O_APPEND)
        for source, number in ((null, 0), (output, 1), (output, 2)):
            os.dup2(source, number)
        _probe(files)
    finally:
        os._exit(1)  # nothing that goes wrong may return into the loop of the parent


def _probe(arguments: list[str]) -> None:
    """Do what one request asks for, and end this process."""
    from reid_core.inspection.probe.one import run_probe

    run_probe(*map(Path, arguments))
    # Not by returning: threads that the plugin left running would be waited for.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
