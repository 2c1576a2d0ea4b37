"""Tables in MATLAB's files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from reid_core.errors import DataError


def read_variable(path: Path, name: str, *, dataset: str) -> NDArray[np.int64]:
    """Read a table of whole numbers from a MATLAB file (up to version 7).

    Args:
        path: The file.
        name: The variable in it.
        dataset: The component's name, for messages.

    Returns:
        The table, of two axes or more, int64.

    Raises:
        DataError: scipy is not installed, the file cannot be read, or it does not hold the
            variable as whole numbers.
    """
    table = np.asarray(_content(path, name, dataset, simplify=False))
    if table.dtype.kind not in "iufb" or (table.astype(np.int64) != table).any():
        raise DataError(
            f"data set {dataset}: {name} in {path} is {table.dtype} {table.shape}; expected whole "
            "numbers"
        )
    return table.astype(np.int64)


def read_cells(path: Path, name: str, *, dataset: str) -> object:
    """Read cells and structures from a MATLAB file (up to version 7).

    Args:
        path: The file.
        name: The variable in it.
        dataset: The component's name, for messages.

    Returns:
        A structure as a dictionary with its fields in their order, cells as lists or arrays, text
        as text, tables as arrays; what has one element is that element.

    Raises:
        DataError: scipy is not installed, the file cannot be read, or it does not hold the
            variable.
    """
    return _content(path, name, dataset, simplify=True)


def _content(path: Path, name: str, dataset: str, *, simplify: bool) -> object:
    try:
        from scipy.io import loadmat
    except ImportError as error:
        raise DataError(
            f"data set {dataset}: {path.name} is a MATLAB file, which needs scipy; type "
            "pip install 'reid-plugin-datasets[mat]'"
        ) from error
    try:
        content: dict[str, object] = loadmat(path, simplify_cells=simplify)
    except Exception as error:
        # Any: on damaged bytes the reader raises ValueError, zlib.error, struct.error, TypeError, …
        raise DataError(f"data set {dataset}: {path} cannot be read: {error}") from error
    if name not in content:
        found = sorted(key for key in content if not key.startswith("__"))
        raise DataError(
            f"data set {dataset}: {path} does not hold {name}; it holds "
            f"{', '.join(found) if found else 'nothing'}"
        )
    return content[name]
