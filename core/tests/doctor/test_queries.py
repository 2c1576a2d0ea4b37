from dataclasses import replace

import numpy as np
import pytest

from reid_core.doctor.queries import check_queries, find_matches
from reid_core.evaluation import Labels, match_coverage, no_camera
from reid_core.evaluation.protocols import market1501


def rows(query, gallery):
    """Rows of (identity, camera) pairs."""
    return [
        (f"{split}/{number}.png", pid, camid, split)
        for split, pairs in (("query", query), ("gallery", gallery))
        for number, (pid, camid) in enumerate(pairs)
    ]


def found(manifest, *, uses_cameras=True):
    return {f.code: f for f in check_queries(manifest, uses_cameras=uses_cameras)}


def test_each_reason_is_told_with_its_queries(make_table):
    manifest = make_table(rows([(1, 1), (2, 1), (3, 1)], [(1, 2), (2, 1), (9, 1), (3, 2)]))
    manifest.pids[2] = 4  # the third query's identity is nowhere else
    findings = found(manifest)
    absent, own = findings["query-identity-absent"], findings["query-own-camera-only"]
    assert absent.message.startswith("1 of 3 queries have no valid match and are skipped")
    assert absent.examples == ("query/2.png (identity 4, camera 1)",)
    assert own.examples == ("query/1.png (identity 2, camera 1)",)
    assert "evaluate.protocol=no_camera" in own.advice
    assert findings["gallery-only-identities"].examples == ("3", "9")


def test_without_the_camera_rule_the_own_camera_counts(make_table):
    manifest = make_table(rows([(1, 1), (2, 1)], [(1, 2), (2, 1)]))
    assert list(found(manifest)) == ["query-own-camera-only"]
    assert found(manifest, uses_cameras=False) == {}


def test_one_side_alone_is_wrong_unless_the_protocol_pools(make_table):
    manifest = make_table(rows([], [(1, 1), (1, 1), (2, 1)]))
    (finding,) = check_queries(manifest, uses_cameras=True)
    assert (finding.code, finding.severity) == ("incomplete-test", "error")
    assert "--set evaluate.protocol=leave_one_out" in finding.advice
    assert list(check_queries(manifest, uses_cameras=True, pools=True)) == []


def test_training_images_alone_are_no_test_but_for_a_protocol_that_pools(make_table):
    manifest = replace(make_table(rows([(1, 1)], [])), splits=np.array(["train"]))
    (finding,) = check_queries(manifest, uses_cameras=True)
    assert (finding.code, finding.severity) == ("no-test-images", "info")
    assert "by --set evaluate.protocol=leave_one_out, or train without a test" in finding.advice
    (pooled,) = check_queries(manifest, uses_cameras=True, pools=True)
    assert pooled.advice == "nothing has to be done: tested, each image searches all others"


def test_case_b052_a_pool_of_lone_identities_is_an_error(make_table):
    manifest = make_table(rows([(1, 1), (-1, 1)], [(2, 1), (3, 1), (-1, 2)]))
    (finding,) = check_queries(manifest, uses_cameras=False, pools=True)
    assert (finding.code, finding.severity, finding.count) == ("no-valid-query", "error", 3)
    assert "none of 3 identities has two images" in finding.message
    assert "all figures are undefined" in finding.message


def test_case_b038_the_error_says_splits_numbers_and_option(make_table):
    manifest = make_table(rows([(1, 0), (2, 0)], [(1, 0), (1, 0), (2, 0), (2, 0)]))
    (finding,) = check_queries(manifest, uses_cameras=True)
    assert finding.severity == "error"
    assert finding.message == (
        "splits query and gallery: 0 of 2 queries have a cross-camera match, so there is nothing "
        "to measure: 2 are in the gallery from their own camera only (all images are of camera 0)"
    )
    assert "--set evaluate.protocol=no_camera" in finding.advice


def test_a_query_whose_only_match_is_its_own_file_has_none(make_table):
    manifest = make_table(
        [
            ("a.png", 1, 1, "query"),
            ("a.png", 1, 2, "gallery"),
            ("b.png", 2, 1, "query"),
            ("c.png", 2, 2, "gallery"),
        ]
    )
    assert found(manifest)["query-itself-only"].examples == ("a.png (identity 1, camera 1)",)


@pytest.mark.parametrize(
    ("splits", "message"),
    [
        (["query"] * 2, "2 images of split query and none of split gallery"),
        (["gallery"], "1 image of split gallery and none of split query"),
    ],
)
def test_half_a_test_is_an_error(splits, message, make_table):
    manifest = make_table([(f"{i}.png", 1, i, split) for i, split in enumerate(splits)])
    (finding,) = check_queries(manifest, uses_cameras=True)
    assert (finding.code, finding.severity) == ("incomplete-test", "error")
    assert message in finding.message


@pytest.mark.parametrize("is_text", [False, True])
@pytest.mark.parametrize("uses_cameras", [True, False])
def test_the_counts_are_those_of_the_evaluation(uses_cameras, is_text, make_table):
    protocol = market1501() if uses_cameras else no_camera()
    for seed in range(20):
        rng = np.random.default_rng(seed)
        query = rng.integers(1, 12, (15, 2)) % [12, 3]
        gallery = rng.integers(-1, 12, (20, 2)) % [100, 3]
        gallery[gallery[:, 0] == 99] = -1
        manifest = make_table(rows(query.tolist(), gallery.tolist()))
        coverage = match_coverage(
            Labels(query[:, 0], query[:, 1]),
            Labels(gallery[:, 0], gallery[:, 1]),
            protocol=protocol,
        )
        if is_text and (gallery[:, 0] != -1).all():
            manifest = make_table(
                [
                    (p, str(pid), str(c), s)
                    for p, pid, c, s in rows(query.tolist(), gallery.tolist())
                ]
            )
        matches = find_matches(manifest, uses_cameras=uses_cameras)
        assert matches.num_valid == coverage.num_valid
        assert matches.is_absent.sum() == coverage.num_absent
        assert matches.is_own_camera_only.sum() == coverage.num_excluded
