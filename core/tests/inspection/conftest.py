"""Distributions made up for the tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from reid_core.inspection.finding import Finding
from reid_core.inspection.report import ComponentReport, DistributionReport
from reid_core.testing.fake_dist import FakeSite

Report = DistributionReport | ComponentReport


@pytest.fixture
def fake_dist(tmp_path: Path) -> Iterator[FakeSite]:
    """Installs made-up distributions until the test ends."""
    site = FakeSite(tmp_path / "fake_site")
    yield site
    site.uninstall()


@pytest.fixture(scope="session")
def only() -> Callable[[Report], Finding]:
    """Returns the only finding of a report, besides notes."""

    def get(report: Report) -> Finding:
        found = [finding for finding in report.findings if finding.level != "note"]
        assert len(found) == 1, found
        return found[0]

    return get
