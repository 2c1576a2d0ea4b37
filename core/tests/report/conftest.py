import json
from html.parser import HTMLParser
from pathlib import Path

import pytest
from PIL import Image

VOID = {"meta", "link", "br", "img"}

#: A name that breaks markup, attributes and ASCII at once.
NASTY = 'Zoë & "Łódź" <b>.png'


class ParsedPage(HTMLParser):
    """Collects elements, attributes and text, and fails on tags that do not nest."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.html = html
        self.open = []
        self.elements = []
        self.pieces = []
        self.feed(html)
        self.close()
        assert self.open == [], f"never closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        assert len({name for name, _ in attrs}) == len(attrs), f"{tag} repeats an attribute"
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] != ["style"]:
            self.pieces.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.pieces).split())

    def tags(self, tag):
        return [attrs for name, attrs in self.elements if name == tag]

    def with_class(self, name):
        return [attrs for _, attrs in self.elements if name in (attrs.get("class") or "").split()]


@pytest.fixture
def parse():
    return lambda path: ParsedPage(path.read_text(encoding="utf-8"))


def evaluation(step=200, value=0.41, **changes):
    entry = {
        "dataset": "synthetic",
        "step": step,
        "epoch": step / 40,
        "protocol": "market1501",
        "protocol_description": "same identity & same camera <left out>",
        "distance": "cosine",
        "metrics": {"mAP": value, "mINP": 0.2, "rank1": value + 0.2, "rank5": 0.8, "rank10": 0.9},
        "num_queries": 240,
        "num_valid_queries": 237,
        "num_gallery": 7200,
        "weights": "last",
    }
    return {**entry, **changes}


@pytest.fixture
def make_evaluation():
    return evaluation


@pytest.fixture
def nasty_name():
    return NASTY


@pytest.fixture
def images(tmp_path):
    folder = tmp_path / "images <i> é"
    folder.mkdir()
    for number in range(4):
        Image.new("RGB", (48, 96), (60 * number, 90, 200 - 40 * number)).save(
            folder / f"{number} {NASTY}"
        )
    return sorted(folder.iterdir())


def ranking(selection, ap, paths, matches):
    results = [
        {"path": str(path), "pid": str(n), "camid": "2", "distance": 0.1 * n, "match": match}
        for n, (path, match) in enumerate(zip(paths[1:], matches, strict=True), start=1)
    ]
    query = {"path": str(paths[0]), "pid": "12", "camid": "3"}
    return {
        "dataset": "synthetic",
        "selection": selection,
        "query": query,
        "ap": ap,
        "results": results,
    }


@pytest.fixture
def write_run():
    """Write the files of a run folder: JSON for records, lines for lists, text as it is."""

    def write(run_dir, **files):
        run_dir.mkdir(exist_ok=True)
        for stem, content in files.items():
            if stem == "metrics":
                text = "".join(json.dumps(row) + "\n" for row in content)
                (run_dir / "metrics.jsonl").write_text(text, encoding="utf-8")
            elif stem == "config":
                (run_dir / "config.yaml").write_text(content, encoding="utf-8")
            else:
                (run_dir / f"{stem}.json").write_text(json.dumps(content), encoding="utf-8")
        return run_dir

    return write


def training_rows(num_rows=20):
    for step in range(10, 10 * num_rows + 1, 10):
        yield {
            "step": step,
            "epoch": step / 40,
            "loss": 7.0 / step + 0.5,
            "loss/cross_entropy": 6.0 / step + 0.3,
            "loss/triplet": 1.0 / step + 0.2,
            "lr": 3.5e-4,
            "accuracy": 0.8,
            "time/step": 0.1,
        }


@pytest.fixture
def full_run(tmp_path, images, write_run) -> Path:
    """A run with every file, three evaluations and three ranked galleries."""
    evaluations = [evaluation(0, 0.052), evaluation(120, 0.452), evaluation(200, 0.41)]
    missing = images[0].with_name("gone <b>.png")
    galleries = [
        ranking("best", 0.92, images, [True, True, False]),
        ranking("worst", 0.031, [images[1], images[0], missing], [False, False]),
        ranking("random", None, images[:2], [False]),
    ]
    rows = list(training_rows())
    rows += [
        {"step": e["step"], "epoch": e["epoch"], "synthetic/mAP": e["metrics"]["mAP"],
         "synthetic/rank1": e["metrics"]["rank1"], "synthetic/rank5": 0.8}
        for e in evaluations[1:]
    ]  # fmt: skip
    best = {"dataset": "synthetic", "metric": "mAP", "value": 0.452, "step": 120}
    return write_run(
        tmp_path / 'run <b>bold & "Łódź"',
        metrics=rows,
        results={"schema": 1, "outcome": "completed", "evaluations": evaluations, "best": best},
        ranks={"schema": 1, "rankings": galleries},
        config='name: "<script>alert(1)</script>"\nhomepage: https://example.org/\n',
        components=[
            {"kind": "backbones", "name": "osnet<1>", "dist": "reid-plugin-osnet",
             "version": "0.1.0", "value": "reid_plugin_osnet.osnet:osnet_x1_0"}
        ],
        env={"python": "3.11.2", "torch": "2.14.1", "gpus": ["H200 & co", "T4"],
             "cuda": {"driver": 1}},
        status={"state": "completed", "steps": 200},
    )  # fmt: skip
