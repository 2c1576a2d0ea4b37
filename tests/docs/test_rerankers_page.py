"""What the page on re-ranking says is what the rerankers say of themselves."""

from __future__ import annotations

import re

from reid_core.evaluation import rerankers

MSMT17 = (11_659, 82_161, 2048)


def test_the_table_names_what_each_needs(page):
    ((_, rows),) = page("docs/rerankers.md").section("The rerankers").tables()
    documented = {cells[0].split(",")[0].strip("` "): cells[-1] for cells in rows}
    made = {
        "k_reciprocal": rerankers.k_reciprocal(),
        "aqe": rerankers.aqe(),
        "the same": rerankers.alpha_qe(expand="query"),
        "dba": rerankers.dba(),
        "knn_smoothing": rerankers.knn_smoothing(),
    }
    expected = {name: f"{one.needed_bytes(*MSMT17) / 1e9:.1f} GB" for name, one in made.items()}
    assert documented == expected
    assert rerankers.alpha_qe().needed_bytes(*MSMT17) == made["aqe"].needed_bytes(*MSMT17)


def test_the_line_about_memory_is_the_one_that_is_logged(page):
    (block,) = page("docs/rerankers.md").section("k-reciprocal re-ranking").blocks("text")
    pattern = ".*".join(re.escape(part) for part in block.text.strip().split("…"))
    assert re.fullmatch(pattern, rerankers.k_reciprocal()._need(*MSMT17).line())
