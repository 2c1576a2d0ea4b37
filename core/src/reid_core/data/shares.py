"""Which part of a batch each of several processes trains on."""

from __future__ import annotations

from dataclasses import dataclass

from reid_core.errors import ConfigError


@dataclass(frozen=True)
class BatchShare:
    """The part of every batch that one of several processes has.

    Each batch is cut into ``world`` parts of equal length, and process ``rank`` gets part number
    ``rank``, in the batch's order: together they hold each of its rows once. A sampler of groups
    says with the attribute ``instances`` how many rows side by side belong together; they stay
    together, so each process has whole identities to mine among.

    Args:
        rank: Number of the process, 0..``world`` − 1.
        world: Number of processes.
        instances: Rows side by side that belong together, at least 1.

    Raises:
        ConfigError: ``rank`` is none of the processes.
    """

    rank: int = 0
    world: int = 1
    instances: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.rank < self.world:
            raise ConfigError(
                f"process {self.rank} of {self.world}: expected a rank from 0 to {self.world - 1}, "
                "and at least one process"
            )

    def rows(self, length: int) -> slice:
        """Return which rows of a batch of ``length`` are those of this process.

        Raises:
            ConfigError: It cannot be cut into equal parts of whole groups.
        """
        if self.world == 1:
            return slice(0, length)
        groups = length // self.instances
        if length % self.instances or groups % self.world:
            raise ConfigError(self._cannot_be_dealt(length, groups))
        part = length // self.world
        return slice(self.rank * part, (self.rank + 1) * part)

    def _cannot_be_dealt(self, length: int, groups: int) -> str:
        nearest = [n for n in (groups // self.world * self.world,) if n]
        nearest.append((groups // self.world + 1) * self.world)
        if self.instances == 1:
            what, setting = f"a batch of {groups} images", "data.batch.size"
        elif length % self.instances:
            what = f"a batch of {length} images, in groups of {self.instances},"
            setting = "data.batch.identities"
        else:
            what = f"a batch of {groups} identities x {self.instances} images"
            setting = "data.batch.identities"
        return (
            f"{what} cannot be dealt to {self.world} processes evenly; make it "
            f"{' or '.join(map(str, nearest))} ({setting})"
        )
