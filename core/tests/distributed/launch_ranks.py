"""Starts ``reid-train`` in several processes, again and again, and imports torch but once.

    python launch_ranks.py JOBS.json

Each job has ``name``, ``count``, ``arguments`` of reid-train, ``environment``, and ``launcher``:
whether a store is kept for the processes, as torchrun does, or process 0 has it. What process R of
a job prints goes to NAME.R.txt, and the exit codes of all to exit_codes.json, beside JOBS.json.
"""

import json
import os
import socket
import sys
import traceback
from pathlib import Path

import torch
import torch.distributed as dist

import reid_core.engine  # noqa: F401 — for the forks
from reid_core.cli.train import main


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def run_rank(rank, job, port, folder):
    """Be process ``rank``; never returns."""
    os.environ |= {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(job["count"]),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "GLOO_SOCKET_IFNAME": "lo0" if sys.platform == "darwin" else "lo",
        **({"TORCHELASTIC_USE_AGENT_STORE": "True"} if job["launcher"] else {}),
        **job["environment"],
    }
    output = os.open(folder / f"{job['name']}.{rank}.txt", os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
    os.dup2(output, 1)
    os.dup2(output, 2)
    code = 1
    try:
        main(job["arguments"])
    except SystemExit as ended:
        code = ended.code or 0
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def run_job(job, folder):
    """Return the exit codes, in the order of ranks; that of a signal is below 0."""
    store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    port = store.port if job["launcher"] else free_port()
    pids = []
    for rank in range(job["count"]):
        pid = os.fork()
        if pid == 0:
            run_rank(rank, job, port, folder)
        pids.append(pid)
    return [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]


if __name__ == "__main__":
    torch.set_num_threads(1)
    jobs = Path(sys.argv[1])
    codes = {job["name"]: run_job(job, jobs.parent) for job in json.loads(jobs.read_text())}
    (jobs.parent / "exit_codes.json").write_text(json.dumps(codes))
