import math

from reid_core.report.metrics import parse_metrics, read_metrics


def test_curves_are_sorted_by_step_and_other_keys_are_dropped():
    metrics = parse_metrics(
        [
            '{"step": 20, "epoch": 1.0, "loss": 1.0, "accuracy": 0.5, "time/step": 0.1}',
            '{"step": 10, "epoch": 0.5, "loss": 2, "lr": 0.1, "d/mAP": 0.3, "d/mINP": 0.1}',
        ]
    )
    assert set(metrics.series) == {"loss", "lr", "d/mAP"}
    assert metrics.series["loss"].steps == (10, 20)
    assert metrics.series["loss"].values == (2.0, 1.0)
    assert list(metrics.epochs.items()) == [(10, 0.5), (20, 1.0)]


def test_after_a_resume_the_later_row_of_a_step_wins():
    rows = ['{"step": 10, "loss": 3}', '{"step": 20, "loss": 9}', '{"step": 20, "loss": 2}']
    series = parse_metrics(rows).series["loss"]
    assert (series.steps, series.values) == ((10, 20), (3.0, 2.0))


def test_lines_that_hold_no_row_are_counted():
    rows = [
        '{"step": 1, "loss": 1}',
        "",
        "[]",
        "nonsense",
        '{"loss": 1}',
        '{"step": NaN, "loss": 1}',
        '{"step": true, "loss": 1}',
        '{"step": 2, "lo',
    ]
    metrics = parse_metrics(rows)
    assert metrics.num_damaged_lines == 6
    assert metrics.series["loss"].steps == (1,)


def test_values_that_are_no_number_are_skipped_and_null_means_not_finite():
    metrics = parse_metrics(['{"step": 1, "loss": "1", "lr": true, "loss/a": null}'])
    assert set(metrics.series) == {"loss/a"}
    assert math.isnan(metrics.series["loss/a"].values[0])


def test_an_integer_beyond_floats_is_infinite():
    assert parse_metrics([f'{{"step": 1, "loss": {10**400}}}']).series["loss"].values == (math.inf,)


def test_a_byte_that_is_no_text_costs_one_line(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b'{"step": 1, "loss": 1}\n{"step": \xff\n{"step": 3, "loss": 3}\n')
    metrics = read_metrics(path)
    assert metrics.series["loss"].steps == (1, 3)
    assert metrics.num_damaged_lines == 1
