"""How a data set is cut into parts, kept beside them so that the work can be gone on with."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from reid_core.checkpoint.atomic import write_text_atomically
from reid_core.errors import UsageError

_FILE = "embed.json"


@dataclass(frozen=True)
class EmbedPlan:
    """What is embedded, and by what.

    Args:
        dataset: Name of the data set.
        source: Where it was read from.
        splits: Splits that are embedded; empty is all.
        num_rows: Images that are embedded.
        rows_per_part: Images of each part but the last; whole batches.
        batch_size: Images a batch; each image is computed in the company that it would have in one
            process.
        weights: The weights file.
        weights_sha256: Its content.
        config: The resolved configuration, as plain types.
    """

    dataset: str
    source: str
    splits: tuple[str, ...]
    num_rows: int
    rows_per_part: int
    batch_size: int
    weights: str
    weights_sha256: str
    config: Mapping[str, object]

    @property
    def num_parts(self) -> int:
        """Number of parts."""
        return -(-self.num_rows // self.rows_per_part)

    def path(self, output: Path, part: int) -> Path:
        """Return the file of a part.

        Args:
            output: Folder of the parts.
            part: Number of the part, from 0.
        """
        return output / f"part-{part:06d}.parquet"

    def missing(self, output: Path) -> list[int]:
        """Return the parts whose files are not there."""
        return [part for part in range(self.num_parts) if not self.path(output, part).exists()]

    def write(self, output: Path, **results: object) -> None:
        """Keep it in the folder of the parts, with what is known at the end."""
        text = json.dumps({"schema": 1, **asdict(self), **results}, indent=2, ensure_ascii=False)
        write_text_atomically(output / _FILE, text + "\n")

    def require_same(self, output: Path) -> None:
        """Check that the folder holds parts of the same plan.

        Raises:
            UsageError: It holds no parts, or parts of something else.
        """
        path = output / _FILE
        try:
            kept = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise UsageError(f"--resume: {output} has no {_FILE} to go on with: {error}") from error
        now = json.loads(json.dumps(asdict(self)))
        # The same content may lie elsewhere by now.
        others = [key for key in now if key != "weights" and kept.get(key) != now[key]]
        if others:
            was = {key: kept.get(key) for key in others}
            told = "; ".join(
                key if key == "config" else f"{key} was {was[key]!r} and is {now[key]!r}"
                for key in others
            )
            raise UsageError(
                f"--resume: the parts in {output} were made otherwise ({told}); give the same "
                "options, or embed into another folder"
            )


def is_used(output: Path) -> bool:
    """Say whether a folder holds anything but the plan of parts of which none was made."""
    return output.is_dir() and any(path.name != _FILE for path in output.iterdir())


def file_sha256(path: Path) -> str:
    """Return the hash of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
