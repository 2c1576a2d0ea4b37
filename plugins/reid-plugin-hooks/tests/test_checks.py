import pytest

from reid_core.errors import ConfigError
from reid_plugin_hooks.checks import require_plain_name
from reid_plugin_hooks.csv_log import CsvLog
from reid_plugin_hooks.profiler import Profiler


def test_a_plain_name_is_taken():
    assert require_plain_name("csv", "file", "numbers.csv") == "numbers.csv"


@pytest.mark.parametrize("name", ["../x.csv", "/tmp/x.csv", "a/b.csv", "C:x", "", "  ", ".."])
def test_what_leads_out_of_the_run_folder_is_refused(name):
    with pytest.raises(ConfigError, match=r"hook csv: file is .*expected a plain name"):
        CsvLog(file=name)
    with pytest.raises(ConfigError, match=r"hook profiler: output is .*expected a plain name"):
        Profiler(output=name)
