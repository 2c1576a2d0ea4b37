"""``python -m reid_core.cli.train``, which torchrun can start."""

from reid_core.cli.train.command import main

main()
