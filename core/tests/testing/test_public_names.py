import subprocess
import sys

import reid_core.testing


def test_every_public_name_is_there() -> None:
    for name in reid_core.testing.__all__:
        assert getattr(reid_core.testing, name).__doc__
    assert dir(reid_core.testing) == reid_core.testing.__all__


def test_every_kind_has_a_class() -> None:
    from reid_core.plugins.index import KINDS

    classes = [getattr(reid_core.testing, n) for n in reid_core.testing.__all__ if "Conform" in n]
    assert {cls.kind for cls in classes} == {"", *KINDS}


def test_the_kit_needs_no_pytest_and_the_package_no_torch() -> None:
    code = (
        "import sys; import reid_core.testing; assert 'torch' not in sys.modules;"
        "[getattr(reid_core.testing, n) for n in reid_core.testing.__all__];"
        "sys.exit('pytest' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
