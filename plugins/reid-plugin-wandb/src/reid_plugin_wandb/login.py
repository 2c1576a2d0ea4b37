"""Whether anything can be sent, without asking anybody."""

from __future__ import annotations

from reid_core.errors import PluginError


def require_login(mode: str | None) -> None:
    """Refuse to send what nobody is logged in for; wandb would ask, and training has no time.

    Args:
        mode: As of the hook; None for wandb's own setting.

    Raises:
        PluginError: There is no API key.
    """
    import wandb

    settings = wandb.setup().settings
    if (mode or settings.mode) != "online":
        return
    if wandb.login(prompt=False, verify=False) or wandb.run is not None:
        return
    raise PluginError(
        f"not logged in to {settings.base_url}; type: wandb login (or set WANDB_API_KEY), or keep "
        "the record on this machine: WANDB_MODE=offline"
    )
