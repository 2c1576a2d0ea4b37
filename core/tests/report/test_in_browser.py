"""The pages in a real browser: what no parser of HTML can see."""

import io
import json
import shutil

import pytest
from PIL import Image

from reid_core.report import write_comparison, write_report

playwright = pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed: the pages are not looked at"
)

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PHONE, DESKTOP = 375, 1280

#: Texts of a drawing whose boxes lie over each other by more than a rounding error.
OVERLAPS = """() => {
  const found = [];
  for (const svg of document.querySelectorAll('.chart > svg')) {
    const texts = [...svg.querySelectorAll('text')]
      .map(t => [t.textContent, t.getBoundingClientRect()]);
    texts.forEach(([a, p], i) => texts.slice(i + 1).forEach(([b, q]) => {
      const across = Math.min(p.right, q.right) - Math.max(p.left, q.left);
      const down = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
      if (across > 1 && down > 4) found.push(`${a} | ${b}`);
    }));
  }
  for (const legend of document.querySelectorAll('.legend')) {
    const items = [...legend.children].map(t => [t.textContent, t.getBoundingClientRect()]);
    items.forEach(([a, p], i) => items.slice(i + 1).forEach(([b, q]) => {
      const across = Math.min(p.right, q.right) - Math.max(p.left, q.left);
      const down = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
      if (across > 1 && down > 1) found.push(`${a} | ${b}`);
    }));
  }
  return found;
}"""

#: Texts with less contrast to what is behind them than a limit, by the formula of WCAG 2.
PALE = """(limit) => {
  const context = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const rgba = (colour) => {
    context.clearRect(0, 0, 1, 1);
    context.fillStyle = colour;
    context.fillRect(0, 0, 1, 1);
    return [...context.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const colour = rgba(getComputedStyle(e).backgroundColor);
      if (colour[3] === 255) return colour;
    }
    return [255, 255, 255, 255];
  };
  const found = [];
  let count = 0;
  for (const e of document.querySelectorAll('body *')) {
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim())) continue;
    if (!e.getClientRects().length || e.tagName === 'title') continue;
    count += 1;
    const style = getComputedStyle(e);
    const own = light(rgba(e.tagName === 'text' ? style.fill : style.color));
    const other = light(behind(e));
    const contrast = (Math.max(own, other) + 0.05) / (Math.min(own, other) + 0.05);
    if (contrast < limit) found.push(`${e.textContent.slice(0, 40)}: ${contrast.toFixed(2)}`);
  }
  return [count, found];
}"""


@pytest.fixture(scope="module")
def browser():
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip(f"no browser: none of {', '.join(NAMES)} is on the PATH")
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture
def open_page(browser):
    """Open a file without network; remember requests, and what the console says."""
    contexts = []

    def open_file(path, *, width=DESKTOP, scheme="light"):
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True
        )
        contexts.append(context)
        page = context.new_page()
        page.asked_for, page.complaints = [], []
        page.on("request", lambda request: page.asked_for.append(request.url))
        page.on("console", lambda message: page.complaints.append(message.text))
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.goto(path.as_uri())
        return page

    yield open_file
    for context in contexts:
        context.close()


@pytest.fixture
def report(detailed_run):
    return write_report(detailed_run)


@pytest.fixture
def comparison(detailed_run, tmp_path, write_run, make_detail):
    better = [make_detail(lift=0.05, seed=3)]
    other = write_run(tmp_path / "other", details={"schema": 1, "details": better})
    wrong = [make_detail(query_pids=["0"] * 200)]
    third = write_run(tmp_path / "third", details={"schema": 1, "details": wrong})
    return write_comparison([detailed_run, other, third], tmp_path / "comparison.html")


def test_the_page_asks_for_nothing_and_nobody_complains(open_page, report, comparison):
    for path in (report, comparison):
        page = open_page(path)
        outside = [url for url in page.asked_for if not url.startswith("data:")]
        assert outside == [path.as_uri()]
        assert page.complaints == []


def test_every_section_is_there_and_has_a_size(open_page, report):
    page = open_page(report, width=PHONE)
    headings = page.locator("h2").all_text_contents()
    assert headings == [
        "Outcome", "Curves", "Final results", "In full: market1501", "Ranked galleries",
        "Broken images", "Components", "Environment", "Configuration",
    ]  # fmt: skip
    parts = (
        "section, .chart > svg, .box, .figures, .others, .failures, .identities, .heat, .bar, img"
    )
    boxes = [each.bounding_box() for each in page.locator(parts).all()]
    assert len(boxes) > 35
    assert all(box and box["width"] > 1 and box["height"] > 1 for box in boxes)


@pytest.mark.parametrize("width", [PHONE, DESKTOP])
def test_nothing_is_wider_than_the_screen_and_no_texts_overlap(
    open_page, report, comparison, width
):
    for path in (report, comparison):
        page = open_page(path, width=width)
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert page.evaluate(OVERLAPS) == []


@pytest.mark.parametrize("width", [PHONE, DESKTOP])
def test_long_names_widen_nothing(open_page, tmp_path, write_run, make_detail, width):
    long = "W" * 200
    names = [f"{long}{n}" for n in range(30)]
    cameras = {"query_cameras": names, "gallery_cameras": names, "ap": [[0.5] * 30] * 30,
               "num_queries": [[1] * 30] * 30}  # fmt: skip
    one = make_detail(
        long, protocol=long, protocol_description="行人" * 100, features=long, distance="cosine",
        postprocessing=[long], camera_pairs=cameras, warnings=[long],
        metrics={**make_detail()["metrics"], long: 0.5},
        identities=[{"pid": long, "ap": 0.5, "num_queries": 1}],
        failures=[{"reason": long, "explanation": long, "count": 3}],
    )  # fmt: skip
    images = [{"use": "test", "dataset": long, "path": f"/{long}", "reason": long}]
    run = write_run(
        tmp_path / "run",
        details={"schema": 1, "details": [one]},
        broken_images={"schema": 1, "images": images},
    )
    for path in (write_report(run), write_comparison([run, run], tmp_path)):
        page = open_page(path, width=width)
        assert page.evaluate("document.documentElement.scrollWidth") == width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_contrast(open_page, report, comparison, scheme):
    for path in (report, comparison):
        page = open_page(path, scheme=scheme)
        count, pale = page.evaluate(PALE, 4.5)
        assert count > 50
        assert pale == []


#: Captions of tiles with more lines than three, or with text that runs out of the tile.
CROWDED = """() => [...document.querySelectorAll('.shot')].filter(tile => {
  const caption = tile.querySelector('figcaption');
  const lines = caption.offsetHeight / parseFloat(getComputedStyle(caption).lineHeight);
  const parts = [tile, ...caption.children];
  return lines > 3.3 || parts.some(e => e.scrollWidth > e.clientWidth + 1 && e.clientWidth);
}).map(tile => tile.textContent)"""


@pytest.mark.parametrize("width", [PHONE, DESKTOP])
def test_a_tile_of_a_gallery_has_three_lines_that_fit(
    open_page, full_run, images, make_ranking, width
):
    paths = [images[0]] * 11
    one = make_ranking("best", 0.5, paths, [True, False] * 5)
    for each in one["results"]:
        each["pid"] = "1502"
    ranks = {"schema": 1, "rankings": [one]}
    (full_run / "ranks.json").write_text(json.dumps(ranks), encoding="utf-8")
    page = open_page(write_report(full_run), width=width)
    assert page.locator(".shot").count() == 11
    assert page.evaluate(CROWDED) == []


def test_what_is_folded_away_on_the_screen_is_printed(open_page, full_run):
    path = full_run / "ranks.json"
    ranks = json.loads(path.read_text(encoding="utf-8"))
    for one in ranks["rankings"]:
        one["postprocessing"] = ["smooth"]
    path.write_text(json.dumps(ranks), encoding="utf-8")
    page = open_page(write_report(full_run))
    tiles = page.locator(".reranked .shot")
    assert tiles.count() == 9
    assert not any(tile.is_visible() for tile in tiles.all())
    page.emulate_media(media="print")
    assert all(tile.is_visible() for tile in tiles.all())


def test_marks_of_the_map_are_large_enough_to_tell_apart(open_page, report):
    page = open_page(report)
    marks = page.locator(".legend .dot, .legend .cross").all()
    assert len(marks) == 2
    assert all(mark.bounding_box()["height"] >= 8 for mark in marks)


def test_a_table_by_camera_is_not_broken_in_print(open_page, report):
    page = open_page(report)
    page.emulate_media(media="print")
    for part in page.locator(".part.cameras, .part.failures, .part.identities").all():
        assert part.evaluate("e => getComputedStyle(e).breakInside") == "avoid"


def test_light_and_dark_differ_and_neither_is_blank(open_page, report):
    means = []
    for scheme in ("light", "dark"):
        shot = open_page(report, scheme=scheme).screenshot()
        with Image.open(io.BytesIO(shot)) as image:
            assert len(image.convert("RGB").getcolors(1 << 24)) > 100
            means.append(image.convert("L").resize((1, 1)).getpixel((0, 0)))
    assert means[0] > 200
    assert means[1] < 60


def test_it_prints_on_several_pages(open_page, report):
    page = open_page(report)
    pdf = page.pdf(format="A4")
    assert pdf.startswith(b"%PDF")
    assert pdf.count(b"/Type /Page\n") > 1
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 718, "height": 1000})
    assert page.evaluate("document.documentElement.scrollWidth") <= 718
