"""Local code for one run: a Python file that the command line names, and only that."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
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
    module there, and so do its neighbours. A file that was loaded before is not run again, however
    its path is spelled; after a failure everything is as before, so that a mended file can be
    loaded.

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
    for known in plugin_files():
        if _is_same(known.path, path):
            return known
    _require_free(path)
    record = PluginFile(path, path.stem, path.read_bytes())
    try:
        with _importing_from(path.parent):
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


@contextmanager
def _importing_from(folder: Path) -> Iterator[None]:
    """Put a folder on ``sys.path``; after a failure take back what the block imported from it."""
    # Imported here: the registries need this module.
    from reid_core.plugins.registries import local_components, registry_of

    modules = set(sys.modules)
    registered = {(ref.kind, ref.name) for ref in local_components()}
    is_new = str(folder) not in sys.path
    if is_new:
        sys.path.append(str(folder))
    importlib.invalidate_caches()
    try:
        yield
    except BaseException:
        for ref in local_components():
            if (ref.kind, ref.name) not in registered:
                registry_of(ref.kind).unregister(ref.name)
        # The neighbours too: only when they run again do they register again.
        for name in [name for name in _modules_in(folder) if name not in modules]:
            del sys.modules[name]
        if is_new and str(folder) in sys.path:
            sys.path.remove(str(folder))
        raise


def _modules_in(folder: Path) -> list[str]:
    """Return the imported modules that lie directly in a folder, with their submodules."""
    tops = set()
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if "." not in name and isinstance(file, str):
            place = Path(file).parent
            place = place.parent if Path(file).stem == "__init__" else place
            tops |= {name} if _is_same(place, folder) else set()
    return [name for name in sys.modules if name.partition(".")[0] in tops]


def _is_same(one: str | Path, other: Path) -> bool:
    """Say whether two paths lead to one file or folder."""
    try:
        return Path(one) == other or other.samefile(one)
    except OSError:  # one of them is not there
        return False


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
    if taken and (spec is None or spec.origin is None or not _is_same(spec.origin, path)):
        where = f" ({spec.origin})" if spec is not None and spec.origin else ""
        raise UsageError(
            f"--plugin-file {path}: there is another module named {path.stem}{where}; rename the "
            "file"
        )


def _failed(path: Path, error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if _is_same(frame.filename, path)]
    if isinstance(error, SyntaxError) and error.filename and _is_same(error.filename, path):
        lines = [error.lineno]
    place = f"{path}:{lines[-1]}" if lines and lines[-1] else str(path)
    reason = f"{type(error).__name__}: {error}" if str(error) else repr(error)
    return f"plugin file {place} cannot be loaded: {reason}"
