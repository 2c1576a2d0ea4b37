import math

import pytest
from PIL import Image
from pydantic import TypeAdapter, ValidationError

from reid_core.report.galleries import MAX_RESULTS, MAX_ROWS, gallery_rows
from reid_core.report.records import Evaluation, Query, RankedResult, Ranking, Results


def ranking(num_results=2, selection="best", distance=0.25):
    results = tuple(
        RankedResult(f"/{n}.png", str(n), "1", distance, match=n == 0) for n in range(num_results)
    )
    return Ranking("d", selection, Query("/q.png", "7", "2"), results, ap=0.5)


def measured(*distances):
    return Results(
        schema=1,
        evaluations=tuple(
            Evaluation("d", 1, "market1501", distance, {"mAP": 0.5}) for distance in distances
        ),
    )


def test_places_count_from_one_and_right_answers_are_counted():
    [row] = gallery_rows((ranking(),), None)
    assert [one.place for one in row.results] == [1, 2]
    assert [one.is_match for one in row.results] == [True, False]
    assert "the 2 gallery images nearest to it, smallest distance first; 1 of them right." in (
        row.sentence
    )


def test_the_way_of_measuring_is_named_only_where_it_is_certain():
    [certain] = gallery_rows((ranking(),), measured("cosine", "cosine"))
    [uncertain] = gallery_rows((ranking(),), measured("cosine", "euclidean"))
    assert certain.how_measured == "protocol market1501, cosine distance"
    assert uncertain.how_measured == ""


def test_long_rankings_and_long_lists_are_cut():
    rows = gallery_rows((ranking(MAX_RESULTS + 5),) * (MAX_ROWS + 3), None)
    assert len(rows) == MAX_ROWS
    assert {len(row.results) for row in rows} == {MAX_RESULTS}


def test_a_query_without_results_says_so():
    [row] = gallery_rows((ranking(0, "worst"),), None)
    assert row.sentence.endswith("No gallery image is recorded for it.")


def test_distances_that_are_unknown_or_not_finite_are_called_so():
    for distance in (None, math.nan, math.inf):
        [row] = gallery_rows((ranking(1, distance=distance),), None)
        assert row.results[0].distance == "not finite"


URI = "data:image/jpeg;base64,abc+/9=="


def test_boxes_and_pictures_of_the_record_are_shown(tmp_path):
    Image.new("RGB", (30, 60)).save(tmp_path / "x.png")
    path = str(tmp_path / "x.png")
    query = Query(path, "7", "2", box=(0, 0, 10, 10))
    results = (
        RankedResult(path, "1", "1", 0.5, match=True),
        RankedResult("/packed/data.mdb/a/9.jpg", "1", "1", 0.5, match=True, thumbnail=URI),
    )
    [row] = gallery_rows((Ranking("d", "best", query, results, ap=0.5),), None)
    whole, stored = (one.picture for one in row.results)
    assert None not in (row.query.uri, whole.uri)
    assert row.query.uri != whole.uri
    assert (stored.name, stored.uri) == ("9.jpg", URI)


@pytest.mark.parametrize("uri", ["https://example.org/x.jpg", f'{URI}" onload="x', "x"])
def test_a_picture_that_a_browser_would_load_from_elsewhere_is_refused(uri):
    record = {"path": "a", "pid": "1", "camid": "1", "thumbnail": uri}
    with pytest.raises(ValidationError):
        TypeAdapter(Query).validate_python(record)
    assert TypeAdapter(Query).validate_python({**record, "thumbnail": URI}).thumbnail == URI
