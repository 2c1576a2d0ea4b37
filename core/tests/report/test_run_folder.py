from reid_core.report.run_folder import read_run_folder


def test_a_full_run_folder_has_no_notes(full_run):
    assert read_run_folder(full_run).notes == ()


def test_every_missing_file_is_named_once(tmp_path):
    run = read_run_folder(tmp_path)
    named = sorted(note.split(" ")[0] for note in run.notes)
    assert named == [
        "components.json", "config.yaml", "details.json", "env.json", "metrics.jsonl",
        "ranks.json", "results.json", "status.json",
    ]  # fmt: skip
    assert run.results is None
    assert run.metrics.series == {}


def test_a_file_cut_off_by_a_crash_is_noted_and_the_rest_is_read(full_run):
    (full_run / "results.json").write_text('{"schema": 1, "evalu')
    run = read_run_folder(full_run)
    [note] = run.notes
    assert note.startswith("results.json is not shown: it is no JSON (")
    assert run.rankings is not None


def test_a_wrong_value_is_noted_with_its_place(full_run, write_run, make_evaluation):
    wrong = {**make_evaluation(), "step": "soon"}
    write_run(full_run, results={"schema": 1, "evaluations": [make_evaluation(), wrong]})
    [note] = read_run_folder(full_run).notes
    assert note.startswith("results.json is not shown: at evaluations.1.step: ")


def test_a_newer_schema_is_not_guessed_at(full_run, write_run):
    write_run(full_run, ranks={"schema": 2, "rankings": []})
    run = read_run_folder(full_run)
    assert run.rankings is None
    assert run.notes[0].startswith("ranks.json is not shown: at schema: ")


def test_a_file_of_the_wrong_shape_is_noted(full_run, write_run):
    write_run(full_run, env=["python"], components={"kind": "backbones"})
    notes = read_run_folder(full_run).notes
    assert [note.split(":")[0] for note in notes] == [
        "components.json is not shown",
        "env.json is not shown",
    ]


def test_a_folder_in_place_of_a_file_is_noted(full_run):
    (full_run / "metrics.jsonl").unlink()
    (full_run / "metrics.jsonl").mkdir()
    [note] = read_run_folder(full_run).notes
    assert note.startswith("metrics.jsonl cannot be read: ")


def test_damaged_and_empty_logs_are_noted(full_run):
    (full_run / "metrics.jsonl").write_text("{")
    assert read_run_folder(full_run).notes == ("metrics.jsonl: damaged lines left out: 1.",)
    (full_run / "metrics.jsonl").write_text("")
    [note] = read_run_folder(full_run).notes
    assert note.startswith("metrics.jsonl is empty: nothing was logged yet")


def test_numbers_as_identities_become_text(full_run, write_run):
    query = {"path": "/q.png", "pid": 12, "camid": 3}
    one = {"dataset": "d", "selection": "best", "query": query, "ap": 1.0, "results": []}
    write_run(full_run, ranks={"schema": 1, "rankings": [one]})
    run = read_run_folder(full_run)
    assert (run.rankings.rankings[0].query.pid, run.rankings.rankings[0].query.camid) == ("12", "3")


def test_damaged_details_are_noted_with_their_place_and_the_rest_is_read(
    full_run, write_run, make_detail
):
    write_run(full_run, details={"schema": 1, "details": [make_detail(), make_detail(cmc="x")]})
    run = read_run_folder(full_run)
    [note] = run.notes
    assert note.startswith("details.json is not shown: at 1.cmc: ")
    assert run.details == ()
    assert run.results is not None


def test_details_of_a_newer_schema_are_not_guessed_at(full_run, write_run, make_detail):
    write_run(full_run, details={"schema": 2, "details": [make_detail()]})
    [note] = read_run_folder(full_run).notes
    assert note.startswith("details.json is not shown: at schema: ")


def test_broken_images_are_no_note_where_there_are_none(full_run, write_run):
    assert read_run_folder(full_run).broken == ()
    write_run(full_run, broken_images={"schema": 1, "images": [{"use": "test"}]})
    [note] = read_run_folder(full_run).notes
    assert note.startswith("broken_images.json is not shown: at images.0.")
