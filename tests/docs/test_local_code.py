"""The file that the plugin page shows runs, and the run folder keeps what the page says."""

from __future__ import annotations

import hashlib
import json
import shlex

ENTRY = "import sys; from reid_core.cli import train; sys.exit(train.main(sys.argv[1:]))"
SMALL = [
    "data.train={name: synthetic, identities: 4, test_identities: 4, cameras: 2, shots: 4}",
    "data.batch={identities: 2, instances: 4}",
    "data.image_size=[64, 32]",
    "data.workers=0",
    "train.epochs=1",
    "train.schedule={name: constant, warmup: null}",
]


def test_the_file_of_the_page_acts_and_is_kept(page, tmp_path, python_in):
    section = page("docs/plugins.md").section("Local code")
    (block,) = (block for block in section.blocks("py") if block.file)
    (command,) = section.blocks("sh")
    (tmp_path / block.file).write_text(block.text, encoding="utf-8")
    words = shlex.split(command.text)[1:]
    options = [word for setting in SMALL for word in ("--set", setting)]
    result = python_in(
        tmp_path, "-c", ENTRY, *words, *options, "--output", "run", "--device", "cpu"
    )
    assert result.returncode == 0, result.stderr
    shouted = [line for line in result.stdout.splitlines() if line.startswith("4 ")]
    assert shouted, result.stdout

    run = tmp_path / "run"
    assert (run / "plugins" / block.file).read_text(encoding="utf-8") == block.text
    digest = hashlib.sha256(block.text.encode()).hexdigest()
    (file,) = json.loads((run / "env.json").read_text())["plugin_files"]
    assert file["sha256"] == digest
    components = json.loads((run / "components.json").read_text())
    (used,) = [one for one in components if one["name"] == "ShoutLoss"]
    assert used["dist"] == "local"
    assert used["version"] == f"sha256:{digest[:12]}"
