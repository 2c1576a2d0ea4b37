"""How a data set is cut into parts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reid_core.errors import UsageError
from reid_plugin_ray.embedding.plan import EmbedPlan, file_sha256, is_used

PLAN = EmbedPlan(
    dataset="d",
    source="s",
    splits=("query",),
    num_rows=100,
    rows_per_part=32,
    batch_size=8,
    weights="/w",
    weights_sha256="abc",
    config={"seed": 0},
)


def test_the_last_part_is_what_is_left(tmp_path):
    assert PLAN.num_parts == 4
    assert replace(PLAN, num_rows=96).num_parts == 3
    assert PLAN.path(tmp_path, 3).name == "part-000003.parquet"


def test_parts_whose_files_are_there_are_done(tmp_path):
    PLAN.path(tmp_path, 1).touch()
    assert PLAN.missing(tmp_path) == [0, 2, 3]


def test_the_same_plan_is_gone_on_with_wherever_its_weights_lie(tmp_path):
    PLAN.write(tmp_path, state="running")
    PLAN.require_same(tmp_path)
    replace(PLAN, weights="/moved").require_same(tmp_path)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"weights_sha256": "abd"}, "weights_sha256 was 'abc' and is 'abd'"),
        ({"rows_per_part": 64}, "rows_per_part was 32 and is 64"),
        ({"config": {"seed": 1}}, "(config)"),
    ],
)
def test_parts_of_another_plan_are_not_mixed_in(tmp_path, changes, told):
    PLAN.write(tmp_path, state="running")
    with pytest.raises(UsageError) as caught:
        replace(PLAN, **changes).require_same(tmp_path)
    assert told in str(caught.value)


def test_a_folder_without_a_plan_is_not_gone_on_with(tmp_path):
    with pytest.raises(UsageError, match=r"has no embed\.json to go on with"):
        PLAN.require_same(tmp_path)


def test_the_hash_is_that_of_the_content(tmp_path):
    (tmp_path / "a").write_bytes(b"abc")
    assert file_sha256(tmp_path / "a").startswith("ba7816bf")


def test_a_plan_of_which_no_part_was_made_is_in_nobodys_way(tmp_path):
    assert not is_used(tmp_path / "new")
    PLAN.write(tmp_path, state="running")
    assert not is_used(tmp_path)
    PLAN.path(tmp_path, 0).touch()
    assert is_used(tmp_path)
