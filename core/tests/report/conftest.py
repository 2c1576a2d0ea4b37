import json
import math
import random
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest
from PIL import Image

from reid_core.report.details import details_adapter, with_nan

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
def make_ranking():
    """Make a ranked gallery of a query, the first of the paths."""
    return ranking


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
        details={"schema": 1, "details": []},
        config='name: "<script>alert(1)</script>"\nhomepage: https://example.org/\n',
        components=[
            {"kind": "backbones", "name": "osnet<1>", "dist": "reid-plugin-osnet",
             "version": "0.1.0", "value": "reid_plugin_osnet.osnet:osnet_x1_0"}
        ],
        env={"python": "3.11.2", "torch": "2.14.1", "gpus": ["H200 & co", "T4"],
             "cuda": {"driver": 1}},
        status={"state": "completed", "steps": 200},
    )  # fmt: skip


REASONS = [
    ("distractor first", "The first answer is nobody who was asked for."),
    ("near miss", "The right answer is among the first 5."),
    ("found late", "The right answer is among the first 50."),
    ("not found", "No right answer is among the first 50."),
]


def rising(low, high, count, speed=6.0):
    """Return a curve that rises quickly and then slowly, as a CMC does."""
    return [high - (high - low) * math.exp(-speed * k / count) for k in range(count)]


def bell(edges, middle, width, total):
    centres = [(a + b) / 2 for a, b in pairwise(edges)]
    heights = [math.exp(-(((c - middle) / width) ** 2)) for c in centres]
    return [round(total * height / sum(heights)) for height in heights]


def roc(strength, count=200):
    fpr = [0.0, *(10 ** (-6 + 6 * k / (count - 1)) for k in range(count))]
    return fpr, [0.31, *(x**strength for x in fpr[1:])]


def detail(dataset="market1501", lift=0.0, seed=0, num_cameras=6, **changes):
    """Return one entry; ``lift`` makes it better, as re-ranking does."""
    draw = random.Random(seed)
    pids = [f"{n:04d}" for n in range(40) for _ in range(5)]
    ap = [min(1.0, max(0.0, draw.gauss(0.74 + lift, 0.2))) for _ in pids]
    ap[3] = None
    metrics = {"mAP": 0.742 + lift, "mINP": 0.41 + lift, "rank1": 0.886 + lift / 2,
               "rank5": 0.951 + lift / 4, "rank10": 0.969, "mAP_trapezoid": 0.738 + lift,
               "r_precision": 0.70 + lift, "recall@20": 0.981, "chance_rank1": 0.0012,
               "chance_mAP": 0.0009}  # fmt: skip
    intervals = {
        name: {"low": metrics[name] - 0.018, "high": metrics[name] + 0.016, "level": 0.95,
               "num_resamples": 1000}
        for name in ("mAP", "mINP", "rank1", "rank5", "rank10")
    }  # fmt: skip
    fpr, tpr = roc(0.06 - lift / 3)
    edges = [k / 50 for k in range(76)]
    cameras = [f"c{n}" for n in range(1, num_cameras + 1)]
    pairs = [
        [None if q == g else min(1.0, 0.35 + 0.6 * draw.random() + lift) for g in cameras]
        for q in cameras
    ]
    count = 300
    sides = ["query" if n % 5 == 0 else "gallery" for n in range(count)]
    entry = {
        "dataset": dataset,
        "step": 1200,
        "protocol": "market1501",
        "protocol_description": "gallery entries of the query's identity and camera are left out",
        "distance": "cosine",
        "features": "flip averaged, L2-normalised",
        "postprocessing": [],
        "num_trials": 1,
        "metrics": metrics,
        "intervals": intervals,
        "cmc": rising(metrics["rank1"], 0.995, 100),
        "verification": {
            "num_same": 51_203, "num_different": 53_500_122, "auc": 0.9871, "eer": 0.0432,
            "eer_threshold": 0.612, "tpr_at_fpr": {"1e-4": 0.57, "1e-3": 0.71, "1e-2": 0.88},
            "fpr": fpr, "tpr": tpr, "thresholds": [k / 150 for k in range(len(fpr))],
        },
        "open_set": {"num_mated": 3000, "num_unmated": 368,
                     "fnir_at_fpir": {"1e-2": 0.41, "1e-1": 0.2}, "fnmr_at_fmr": {"1e-3": 0.29}},
        "histogram": {"edges": edges, "same": bell(edges, 0.42, 0.18, 51_203),
                      "different": bell(edges, 0.96, 0.17, 53_500_122)},
        "camera_pairs": {"query_cameras": cameras, "gallery_cameras": cameras, "ap": pairs,
                         "num_queries": [[0 if c is None else 112 for c in row] for row in pairs]},
        "identities": [{"pid": f"{n:04d}", "ap": n / 60, "num_queries": 5} for n in range(40)],
        "failures": [
            {"reason": name, "explanation": text, "count": count, "examples": [3, 14]}
            for (name, text), count in zip(REASONS, (151, 98, 71, 22), strict=True)
        ],
        "map": {
            "x": [draw.gauss(n % 12 * 0.6, 0.35) for n in range(count)],
            "y": [draw.gauss(n % 7 * 0.4, 0.3) for n in range(count)],
            "pids": [str(n % 40) for n in range(count)], "sides": sides, "explained": 0.23,
        },
        "threshold": {"value": 0.58, "distance": "cosine", "criterion": "fpr=1e-3",
                      "source": "market1501 validation", "features": ""},
        "threshold_rates": {"tpr": 0.702, "fpr": 0.0011},
        "ap": ap,
        "query_pids": pids,
        "warnings": [],
        "num_queries": 200,
        "num_valid_queries": 199,
        "num_gallery": 15_913,
        "mean_matches": 5.5,
    }  # fmt: skip
    return {**entry, **changes}


def reranked(**changes):
    """Return the same evaluation after re-ranking."""
    after = ["k-reciprocal re-ranking (k1=20, k2=6, lambda=0.3)"]
    plain = {"open_set": None, "map": None, "threshold": None, "threshold_rates": {}}
    return detail(lift=0.09, **{"postprocessing": after, **plain, **changes})


@pytest.fixture
def make_detail():
    """Make an entry of details.json with realistic numbers."""
    return detail


@pytest.fixture
def make_reranked():
    """Make the entry of the same evaluation after re-ranking."""
    return reranked


@pytest.fixture
def read_details():
    """Check entries as the report does."""
    return lambda *entries: details_adapter().validate_python(with_nan(list(entries)))


@pytest.fixture
def detailed_run(full_run, write_run):
    """A run with every file and every section."""
    broken = [
        {"use": "test", "dataset": "market1501", "path": f"/data/{n} {NASTY}", "row": n,
         "reason": "truncated <jpeg>"}
        for n in range(25)
    ]  # fmt: skip
    warned = detail(warnings=["62 % of all distances are tied"])
    return write_run(
        full_run,
        details={"schema": 1, "details": [warned, reranked()]},
        broken_images={"schema": 1, "images": broken},
    )
