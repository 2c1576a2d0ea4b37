"""What a benchmark leaves out by its protocol is not told as if it were lost."""

import pytest

from reid_core.doctor.examine import examine
from reid_core.plugins.registries import DATASETS
from reid_plugin_datasets.testing.cuhk03 import write_cuhk03
from reid_plugin_datasets.testing.modalities import write_sysu_mm01
from reid_plugin_datasets.testing.person import write_ilids, write_prid


@pytest.mark.parametrize(
    ("name", "write", "parameters"),
    [
        ("cuhk03", write_cuhk03, {"protocol": "classic", "gallery": "one"}),
        ("sysu_mm01", write_sysu_mm01, {"draw": 0}),
        ("prid", write_prid, {}),
        ("ilids", write_ilids, {}),
    ],
)
def test_images_that_a_protocol_leaves_out_are_information(name, write, parameters, tmp_path):
    component = {"name": f"reid-plugin-datasets/{name}", "root": str(write(tmp_path)), **parameters}
    report = examine([DATASETS.build(component)], looks_at_images=False)
    (finding,) = [one for one in report.findings if one.code == "images-not-read"]
    assert finding.severity == "info"
    assert "are named like the others and are left out" in finding.message
