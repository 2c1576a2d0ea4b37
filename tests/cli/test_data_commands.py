"""The data commands as they are typed: from a folder of images to a trained, evaluated model."""

from __future__ import annotations

import json
import shlex
import shutil


def train(run, line, small_osnet, *more):
    """Run the command that was printed, made as small as the other tests are."""
    words = shlex.split(line.removeprefix("next  "))
    setting = words[words.index("--set") + 1]
    return run(*words[:1], *small_osnet, "--set", setting, "--set", "epochs=1", *more)


def test_the_command_that_split_prints_trains_and_evaluates(
    run, small_osnet, tiny_market, tmp_path
):
    raw = tmp_path / "re id" / "数据 #1, Märket"
    for path in tiny_market.glob("*/*.*"):
        (raw / path.name[:4]).mkdir(parents=True, exist_ok=True)
        shutil.copy(path, raw / path.name[:4])
    cut = run("reid-data", "split", raw, "-o", "cut.csv", "--test", 4)
    assert cut.returncode == 0, cut.stderr
    assert "cameras are not known: a query's matches may be of its own camera" in cut.stdout
    trained = train(run, cut.stdout.splitlines()[-1], small_osnet, "--output", "out")
    assert trained.returncode == 0, trained.stderr
    assert "no_camera" in trained.stdout
    results = json.loads((tmp_path / "out" / "results.json").read_text())["evaluations"][-1]
    assert (results["dataset"], results["protocol"]) == ("cut", "no_camera")


def test_a_sample_of_a_recipe_trains_too(run, small_osnet, tmp_path):
    recipe = [part for part in small_osnet[:4] if part != "--config"]
    drawn = run("reid-data", "sample", *recipe, "-o", "small.parquet", "--identities", 4)
    assert drawn.returncode == 0, drawn.stderr
    trained = train(run, drawn.stdout.splitlines()[-1], small_osnet)
    assert trained.returncode == 0, trained.stderr
    assert "(protocol market1501, cosine distance" in trained.stdout


def test_real_data_is_counted_drawn_and_cut_twice_alike(run, shared_data, tmp_path):
    nyala = shared_data / "nyala_reid"
    plain = json.loads(run("reid-data", "stats", nyala, "--json", "--no-images").stdout)
    counts = {
        one["split"]: (one["images"], one["identities"]) for one in plain["sets"][0]["splits"]
    }
    assert counts == {"train": (1213, 179), "query": (108, 54), "gallery": (621, 58)}
    drawn = run("reid-data", "preview", nyala, "-o", "sheet.png", "--identities", 3)
    assert drawn.returncode == 0, drawn.stderr
    for name in ("a.csv", "b.csv"):
        done = run("reid-data", "split", nyala, "-o", name, "--seed", 1)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


def test_a_mistake_has_the_exit_code_of_its_kind(run, tmp_path):
    (tmp_path / "empty").mkdir()
    for arguments, code, words in [
        (["stats", "empty"], 3, "it holds neither images nor folders"),
        (["stats", "nobody/nothing"], 3, "there is no file or folder nobody/nothing"),
        (["stats", "empty", "--dataset", "market1502"], 4, "did you mean market1501?"),
        (["split", "empty"], 2, "Missing option '-o'"),
    ]:
        done = run("reid-data", *arguments)
        assert done.returncode == code, done.stderr
        assert words in done.stderr
        assert "Traceback" not in done.stderr
