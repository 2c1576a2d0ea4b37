import pytest


@pytest.fixture(scope="session", autouse=True)
def _pictures(tmp_path_factory):
    """Keep the drawn pictures of these tests together: they are the same few for all recipes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REID_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield
