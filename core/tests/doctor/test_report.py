from reid_core.doctor import Finding
from reid_core.doctor.examine import examine
from reid_core.doctor.finding import MAX_EXAMPLES, are_few, counted, named, some


def test_a_report_counts_and_orders_its_findings(make_table):
    test = [("a.png", "x", 0, "query"), ("b.png", "X", 0, "gallery")]
    report = examine([make_table(test)], looks_at_images=False)
    severities = [finding.severity for finding in report.findings]
    assert severities == sorted(severities, key=("error", "warning", "info").index)
    assert report.summary() == "2 errors, 1 warning, 1 info"
    assert report.strict().count("error") == 3
    plain = report.plain()
    assert (plain["errors"], plain["warnings"], plain["infos"]) == (2, 1, 1)
    assert plain["counts"][0]["split"] == "query"
    assert plain["images_decoded"] is False


def test_notes_of_readers_are_passed_on(make_set):
    manifest = make_set({"a.png": b"x"}, notes=("3 junk images left out",))
    report = examine([manifest], looks_at_images=False)
    assert report.notes == (("zoo", "3 junk images left out"),)


def test_counts_have_cameras_where_they_are_known(make_table):
    rows = [("a.png", 1, 4, "train"), ("b.png", 1, 5, "train")]
    known = examine([make_table(rows)], looks_at_images=False)
    unknown = examine([make_table(rows, has_cameras=False)], looks_at_images=False)
    assert (known.counts[0].cameras, unknown.counts[0].cameras) == (2, None)


def test_examples_are_the_first_few():
    assert len(some(range(100))) == MAX_EXAMPLES
    assert named(("a", "b"), 5) == "a, b and 3 more"
    assert named(("a",), 1) == "a"
    assert (counted(1, "image"), counted(2, "identity", "identities")) == (
        "1 image",
        "2 identities",
    )


def test_few_are_one_or_a_twentieth():
    assert are_few(1, 3)
    assert are_few(5, 100)
    assert not are_few(6, 100)


def test_a_finding_says_what_to_do():
    fields = Finding("no-cameras", "info", "zoo", "message", "advice", 1)
    assert fields.examples == ()
