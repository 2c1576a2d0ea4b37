"""Local code for one run: a Python file that the command line names, and only that."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
import traceback
from dataclasses import dataclass, field
from pathlib import Path

from reid_core.errors import PluginError, UsageError

#: Under this name a module loaded from a file carries its record.
_RECORD = "__reid_plugin_file__"


@dataclass(frozen=True)
class PluginFile:
    """A file whose components are known in this process.

    Args:
        path: Where it is, absolute.
        module: The name it was imported under.
        content: What was in it when it was imported.
    """

    path: Path
    module: str
    content: bytes = field(repr=False)

    @property
    def sha256(self) -> str:
        """Hash of the content."""
        return hashlib.sha256(self.content).hexdigest()

    @property
    def version(self) -> str:
        """The beginning of the hash, where an installed component has its version."""
        return f"sha256:{self.sha256[:12]}"


def load_plugin_file(name: str | Path) -> PluginFile:
    """Import a Python file, so that what it registers can be named by this run.

    Its folder goes to the end of ``sys.path``: worker processes that are started anew find the
    module there, and so do its neighbours.

    Args:
        name: A path; the file registers components, by ``@HOOKS.register()`` for example.

    Returns:
        Its record, which the run folder keeps.

    Raises:
        UsageError: There is no such file, or its name is no module name or that of another module.
        PluginError: Its code fails.
    """
    path = Path(name).expanduser().absolute()
    _require_importable(path)
    loaded = sys.modules.get(path.stem)
    known = getattr(loaded, _RECORD, None)
    if isinstance(known, PluginFile) and known.path == path:
        return known
    _require_free(path)
    record = PluginFile(path, path.stem, path.read_bytes())
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    importlib.invalidate_caches()
    try:
        module = importlib.import_module(path.stem)
    except (Exception, SystemExit) as error:
        raise PluginError(_failed(path, error)) from error
    setattr(module, _RECORD, record)
    return record


def plugin_files() -> list[PluginFile]:
    """Return the files that were loaded in this process, by path."""
    found = [getattr(module, _RECORD, None) for module in list(sys.modules.values())]
    return sorted((f for f in found if isinstance(f, PluginFile)), key=lambda f: str(f.path))


def plugin_file_of(obj: object) -> PluginFile | None:
    """Return the file that a class or function was loaded from, or None."""
    module = sys.modules.get(getattr(obj, "__module__", None) or "")
    record = getattr(module, _RECORD, None)
    return record if isinstance(record, PluginFile) else None


def _require_importable(path: Path) -> None:
    if not path.is_file():
        what = "is a folder; name the file in it" if path.is_dir() else "does not exist"
        raise UsageError(f"--plugin-file {path} {what}")
    if path.suffix != ".py" or not path.stem.isidentifier():
        raise UsageError(
            f"--plugin-file {path}: expected a Python file whose name can be imported, such as "
            "my_hook.py (letters, digits and underscores)"
        )


def _require_free(path: Path) -> None:
    try:
        spec = importlib.util.find_spec(path.stem)
    except (ImportError, ValueError):
        spec = None
    taken = path.stem in sys.modules or spec is not None
    if taken and (spec is None or spec.origin is None or Path(spec.origin) != path):
        where = f" ({spec.origin})" if spec is not None and spec.origin else ""
        raise UsageError(
            f"--plugin-file {path}: there is another module named {path.stem}{where}; rename the "
            "file"
        )


def _failed(path: Path, error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(path)]
    if isinstance(error, SyntaxError) and error.filename == str(path):
        lines = [error.lineno]
    place = f"{path}:{lines[-1]}" if lines and lines[-1] else str(path)
    reason = f"{type(error).__name__}: {error}" if str(error) else repr(error)
    return f"plugin file {place} cannot be loaded: {reason}"
