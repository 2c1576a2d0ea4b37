"""``python -m reid_core.cli.evaluate``, which torchrun can start."""

from reid_core.cli.evaluate.command import main

main()
