import pytest

from reid_core.report.camera_table import camera_table
from reid_core.report.plots.make import MAX_CAMERAS


@pytest.fixture
def table(read_details, make_detail):
    def make(**changes):
        fields = {"query_cameras": ["1", "2"], "gallery_cameras": ["1", "2"],
                  "ap": [[None, 0.756], [0.2, 1.0]],
                  "num_queries": [[0, 7], [3, 4]], **changes}  # fmt: skip
        [one] = read_details(make_detail(camera_pairs=fields))
        return camera_table(one.camera_pairs, "plain")

    return make


def test_cells_are_whole_percent_with_the_exact_value_and_count_behind(table):
    (name, (empty, cell)), (_, (_, full)) = table().rows
    assert name == "1"
    assert (empty.text, empty.tint) == ("–", 0)
    assert (cell.text, cell.tint, cell.title) == ("76", 76, "75.6 %, 7 queries")
    assert (full.text, full.tint) == ("100", 100)


def test_of_a_thousand_cameras_few_are_shown_and_the_others_counted(table):
    names = [str(n) for n in range(1000)]
    row = [0.5] * 1000
    found = table(query_cameras=names, gallery_cameras=names, ap=[row] * 1000,
                  num_queries=[[1] * 1000] * 1000)  # fmt: skip
    assert len(found.rows) == len(found.columns) == MAX_CAMERAS
    assert found.note == "The 24 cameras with most queries; 976 more are in the CSV."


def test_no_cameras_give_no_table(table):
    assert table(query_cameras=[], gallery_cameras=[], ap=[], num_queries=[]) is None
