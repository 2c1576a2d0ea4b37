import reid_core.evaluation as evaluation


# Case B179.
def test_every_public_name_is_there_and_documented():
    for name in evaluation.__all__:
        assert getattr(evaluation, name) is not None
        if name not in ("DistanceName", "IdColumn"):
            assert getattr(evaluation, name).__doc__


def test_the_protocol_of_the_entry_point_takes_no_parameters():
    assert evaluation.market1501().name == "market1501"
