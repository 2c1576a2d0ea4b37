"""The page on checking data lists every finding, and no other."""

from __future__ import annotations

import re

from reid_core.doctor.codes import CODES


def test_the_page_lists_the_codes(page):
    listed: list[str] = []
    for heading, rows in page("docs/check_data.md").tables():
        if heading in ("Labels", "Queries", "Files", "Images", "Copies"):
            listed += [code for cells in rows for code in re.findall(r"`([^`]+)`", cells[0])]
    assert sorted(listed) == sorted(CODES)
