"""The configuration that a command line of ``reid-train`` means."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from reid_core.config import Config, load_config
from reid_core.config.origins import dump_with_origins
from reid_core.errors import UsageError

#: Files that describe a run and are sometimes taken for what it can be resumed from.
_DESCRIPTIONS = (".yaml", ".yml", ".json", ".jsonl")


def read_config(
    name: str | None,
    overrides: Sequence[str],
    settings: Mapping[str, object],
    resume: str | None,
    output: str | None,
) -> Config:
    """Return the configuration that the options of the command give.

    Raises:
        UsageError: There is no recipe, or no path at ``--resume``.
        ConfigError: The recipe or a setting is wrong.
    """
    if resume is not None:
        _require_resumable(resume)
    if name is None:
        name = config_of_run(resume)
        # The run may have been moved since it was started: it goes on where it is now.
        output = output or str(Path(name).parent)
    # Quoted: a path may have any name, and would otherwise be read as YAML.
    extra = [f"{k}={json.dumps(v)}" for k, v in settings.items() if v is not None]
    config = load_config(name, [*overrides, *extra])
    return config if output is None else config.with_output(output)


def resolved_text(config: Config, name: str | None, output: str | None) -> str:
    """Return the configuration of a command line as YAML text, with the origin of each value.

    Args:
        config: What :func:`read_config` returned.
        name: ``--config``; None where the one of the run to resume is used.
        output: ``--output``, which is no setting of the configuration's own.
    """
    others: dict[tuple[str | int, ...], str] = {}
    if output is not None or name is None:
        others["output",] = "--resume" if output is None else "--output"
    return dump_with_origins(config, others)


def _require_resumable(resume: str) -> None:
    if not resume.strip():
        raise UsageError("--resume is empty; expected auto, a checkpoint file or a run folder")
    path = Path(resume)
    if path.suffix in _DESCRIPTIONS and path.expanduser().is_file():
        raise UsageError(
            f"--resume {resume}: that is no checkpoint; expected a run folder, such as "
            f"{shlex.quote(str(path.parent))}, or a file in its 'checkpoints'"
        )


def config_of_run(resume: str | None) -> str:
    """Without --config, a run is resumed with the config it was started with."""
    if resume is None or resume == "auto":
        raise UsageError(
            "--config is missing; name a recipe, for example --config osnet/osnet_x0_25 "
            "('reid-config list' shows the installed ones)"
        )
    from reid_core.engine.resuming.resume import run_of

    if not Path(resume).expanduser().exists():
        raise UsageError(f"--resume {resume}: there is no such run folder or checkpoint")
    run = run_of(resume)
    saved = run / "config.yaml"
    if not saved.is_file():
        above = run.absolute().parent
        hint = "name the recipe by --config"
        if (above / "config.yaml").is_file():
            hint = f"the run is {shlex.quote(str(above))}"
        raise UsageError(f"--resume {resume}: there is no {saved}; {hint}")
    return str(saved)
