import math
from dataclasses import replace

import pytest
from PIL import Image
from pydantic import TypeAdapter, ValidationError

from reid_core.report.galleries import (
    MAX_RESULTS,
    MAX_ROWS,
    gallery_rows,
    missing_sentence,
    similarity_text,
)
from reid_core.report.records import (
    Evaluation,
    Query,
    RankedResult,
    Ranking,
    Rankings,
    Results,
)


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
    assert row.sentence.endswith("highest average precision. 1 of the 2 shown is right.")


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


def test_a_gallery_smaller_than_what_was_asked_for_is_shown_whole():
    # B161
    [row] = gallery_rows((ranking(5),), None)
    assert len(row.results) == 5


def test_records_with_further_fields_are_read(tmp_path):
    # B158
    entry = {"path": "/1.png", "pid": 1, "camid": 2, "distance": 0.5, "match": True, "dsetid": 3}
    raw = {
        "schema": 1,
        "rankings": [
            {"dataset": "d", "selection": "chosen", "query": entry, "results": [entry], "extra": []}
        ],
    }
    [found] = TypeAdapter(Rankings).validate_python(raw).rankings
    assert (found.selection, found.results[0].pid) == ("chosen", "1")


def test_similarity_of_the_cosine_distance_is_from_minus_one_to_one():
    # B162
    assert [similarity_text(d) for d in (0.0, -9e-4, 0.25, 2.0, 2.0009)] == [
        "1.000",
        "1.000",
        "0.750",
        "-1.000",
        "-1.000",
    ]


def test_what_is_no_cosine_distance_has_no_similarity():
    # B162
    assert [similarity_text(d) for d in (None, math.nan, math.inf, 25.0, -0.5)] == [""] * 5
    plain = replace(ranking(), distance="euclidean", protocol="market1501")
    after = replace(
        ranking(), distance="cosine", protocol="market1501", postprocessing=("re-ranking",)
    )
    cosine = replace(ranking(), distance="cosine", protocol="market1501")
    shown = [gallery_rows((one,), None)[0] for one in (plain, after, cosine)]
    assert [row.results[0].similarity for row in shown] == ["", "", "0.750"]


def test_the_order_is_named():
    after = replace(ranking(), postprocessing=("average", "smooth"))
    rows = gallery_rows((ranking(), after), None)
    assert [row.order for row in rows] == ["plain", "after average, then smooth"]


def test_pictures_without_a_file_are_counted_in_one_sentence(tmp_path):
    Image.new("RGB", (30, 60)).save(tmp_path / "x.png")
    none = gallery_rows((ranking(), ranking()), None)
    assert missing_sentence(none).startswith("None of the images is in the file that is recorded")
    query = Query(str(tmp_path / "x.png"), "7", "2")
    some = gallery_rows((replace(ranking(), query=query),), None)
    assert missing_sentence(some).startswith("2 of the 3 images shown are not in the file")
    assert missing_sentence(gallery_rows((replace(ranking(0), query=query),), None)) == ""


def test_a_query_that_was_asked_for_is_called_so():
    [row] = gallery_rows((ranking(selection="chosen"),), None)
    assert row.sentence.startswith("A query that was asked for by name.")
