"""``reid-train --reproduce``."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import click
from click.core import ParameterSource

from reid_core.cli.train.request import TrainRequest
from reid_core.cli.train.run import train
from reid_core.config import load_config
from reid_core.distributed.told_once import is_first_of_job
from reid_core.errors import UsageError
from reid_core.wording import counted

#: Leaves with this where the repetition came out otherwise.
DIFFERS = 5
#: Options that may stand beside it; every other one would make it another run.
_ALLOWED = frozenset({"reproduce", "output", "device", "verbose"})


def reproduce(run: str, context: click.Context) -> int:
    """Do what a run folder says again, and say whether it came out the same.

    Args:
        run: The folder of the run.
        context: The command line.

    Returns:
        The exit code: 0 where all is bitwise equal, 5 where it is not.

    Raises:
        UsageError: Another option would make it another run, or the folder holds no run that can
            be read.
        CheckpointError: Its weights cannot be read.
    """
    _require_alone(context)
    folder = Path(run).expanduser()
    if not (folder / "config.yaml").is_file():
        raise UsageError(
            f"--reproduce {run}: there is no {folder / 'config.yaml'}; expected a run folder"
        )
    from reid_core.engine.reproducing.repetition import StopAfter, TellDifferences, load_local_code
    from reid_core.engine.reproducing.run_matching import steps_to_repeat

    _require_whole(folder)
    options = context.params
    device = options["device"]
    steps = steps_to_repeat(folder)
    stops = [] if steps is None else [StopAfter(steps)]
    output = options["output"] or next(_free_names(folder))
    # Local code is imported again by worker processes.
    with tempfile.TemporaryDirectory() as copies:
        local_code = load_local_code(folder, Path(copies))
        overrides = [] if device is None else [f"device={json.dumps(device)}"]
        config = load_config(folder / "config.yaml", overrides).with_output(output)
        hooks = (TellDifferences(folder, local_code), *stops)
        code = train(TrainRequest(config=config, verbose=options["verbose"], hooks=hooks))
    if code or not is_first_of_job():
        return code
    return _tell(folder, Path(output).expanduser())


def _tell(run: Path, repetition: Path) -> int:
    from reid_core.checkpoint.atomic import write_text_atomically
    from reid_core.config.difference import Side, compare
    from reid_core.engine.reproducing.run_matching import compare_runs

    result = compare_runs(run, repetition)
    differences, _ = compare(Side.read(str(run)), Side.read(str(repetition)))
    content = {
        "run": str(run.resolve()),
        **result.plain(),
        "made_of": [{"path": d.path, "was": d.a, "now": d.b} for d in differences],
    }
    text = json.dumps(content, indent=2, ensure_ascii=False)
    write_text_atomically(repetition / "reproduction.json", f"{text}\n")
    for line in result.lines():
        click.echo(line)
    if result.is_equal:
        return 0
    if differences:
        number = counted(len(differences), "fact is not as it was", "facts are not as they were")
        click.echo(f"{number}; 'made_of' in {repetition / 'reproduction.json'} lists them")
    return DIFFERS


def _require_whole(run: Path) -> None:
    """Read now what is compared at the end: a damaged file would be told after the training."""
    from reid_core.config.difference import Side
    from reid_core.engine.reproducing.run_matching import compare_runs

    Side.read(str(run))
    compare_runs(run, run)


def _require_alone(context: click.Context) -> None:
    given = [
        option.opts[-1]
        for option in context.command.params
        if option.name not in _ALLOWED
        and context.get_parameter_source(str(option.name)) is ParameterSource.COMMANDLINE
    ]
    if given:
        raise UsageError(
            f"--reproduce does what the run folder says, so it goes without {', '.join(given)}; "
            "for another run with its configuration name RUN/config.yaml by --config"
        )


def _free_names(run: Path) -> Iterator[str]:
    """Yield names beside a run's folder that nothing has yet."""
    base = run.resolve()
    for number in count(1):
        suffix = "-again" if number == 1 else f"-again-{number}"
        path = base.with_name(f"{base.name}{suffix}")
        if not path.exists():
            yield str(path)
