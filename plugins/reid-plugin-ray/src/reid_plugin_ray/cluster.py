"""The way to a Ray: one that is started here, or a cluster that runs."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from reid_core.errors import UsageError

#: What Ray's own processes and ours see: files keep their place relative to the working folder,
#: and an interrupted sweep is told by this package.
_ENVIRONMENT = {
    "RAY_CHDIR_TO_TRIAL_DIR": "0",
    "TUNE_DISABLE_SIGINT_HANDLER": "1",
    "TUNE_DISABLE_STRICT_METRIC_CHECKING": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AIR_NEW_OUTPUT": "0",
}


@contextmanager
def connected(address: str) -> Iterator[None]:
    """Be connected to a Ray meanwhile.

    A connection that the program has already is used, and left open.

    Args:
        address: ``local`` starts a Ray on this machine, which ends with the context; ``auto``, or a
            host and port, takes one that runs.

    Raises:
        UsageError: There is no Ray at the address.
    """
    with _environment():
        import ray

        if ray.is_initialized():
            yield
            return
        try:
            ray.init(
                address=address,
                log_to_driver=False,
                include_dashboard=False if address == "local" else None,
                logging_level=logging.WARNING,
            )
        except (ConnectionError, ValueError) as error:
            raise UsageError(
                f"--address {address}: there is no Ray to connect to ({error}); start one by "
                "'ray start --head', or leave --address out to work on this machine alone"
            ) from error
        try:
            yield
        finally:
            ray.shutdown()


def machines() -> list[dict[str, float]]:
    """Return the resources of each machine of the cluster, ``CPU`` and ``GPU`` among them."""
    import ray

    nodes = ray.nodes()  # type: ignore[no-untyped-call]
    return [dict(node["Resources"]) for node in nodes if node["Alive"]]


def require_room(*, cpus: float, gpus: float) -> None:
    """Check that one machine of the cluster can hold a worker, which would wait for ever otherwise.

    Args:
        cpus: CPUs a worker.
        gpus: GPUs a worker.

    Raises:
        UsageError: No machine has as many.
    """
    nodes = machines()
    if any(node.get("CPU", 0) >= cpus and node.get("GPU", 0) >= gpus for node in nodes):
        return
    there = "; ".join(
        f"{node.get('CPU', 0):g} CPUs and {node.get('GPU', 0):g} GPUs" for node in nodes
    )
    raise UsageError(
        f"no machine has room for a worker of --cpus {cpus:g} and --gpus {gpus:g} (there are: "
        f"{there}); ask for less"
    )


def enter(folder: str) -> None:
    """Make a folder the working folder of a worker process, where its machine has it.

    Relative paths in a configuration then mean what they mean where the command was typed.

    Args:
        folder: Full path.
    """
    if Path(folder).is_dir():
        os.chdir(folder)


@contextmanager
def _environment() -> Iterator[None]:
    before = {name: os.environ.get(name) for name in _ENVIRONMENT}
    os.environ.update(_ENVIRONMENT)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
