import pytest

from reid_core.testing import SamplerConformance

GOOD = """
import numpy as np

class Example:
    def __init__(self, *, labels, seed: int, size: int = 8):
        self.count, self.seed, self.size = len(labels), seed, size

    def __len__(self):
        return self.count // self.size

    def batches(self, epoch):
        rng = np.random.default_rng(np.random.SeedSequence((self.seed, epoch)))
        order = rng.permutation(self.count).astype(np.int64)
        for start in range(0, len(self) * self.size, self.size):
            rows = order[start : start + self.size]
            yield rows

    def summary(self):
        return f"{len(self)} batches of {self.size}"
"""
RNG = "rng = np.random.default_rng(np.random.SeedSequence((self.seed, epoch)))"
YIELD = "yield rows"
BUILT = "self.count, self.seed, self.size = len(labels), seed, size"

FAULTS = {
    "it yields single rows": (
        "test_batches_are_rows_of_the_data", YIELD, "yield from rows",
        "a sampler, not a batch sampler: it yields single rows",
    ),
    "it yields lists": (
        "test_batches_are_rows_of_the_data", YIELD, "yield rows.tolist()", "it yields a list",
    ),
    "it yields another type": (
        "test_batches_are_rows_of_the_data", YIELD, "yield rows.astype(float)",
        r"an array \(8,\) float64; expected an array of rows \(B,\) int64",
    ),
    "it yields an empty batch": (
        "test_batches_are_rows_of_the_data", YIELD, "yield rows[:0]", "an empty batch",
    ),
    "it yields rows that are not there": (
        "test_batches_are_rows_of_the_data", YIELD, "yield rows + 1",
        r"the data has rows 0 to 59",
    ),
    "it fails": (
        "test_batches_are_rows_of_the_data", YIELD, "yield rows[0] / missing",
        r"raised NameError in batches\(0\)",
    ),
    "it has no batch": (
        "test_length_is_exact", "size: int = 8", "size: int = 100",
        "has no batch; set `parameters`",
    ),
    "it has fewer batches than its length": (
        "test_length_is_exact", "range(0, len(self) * self.size", "range(8, len(self) * self.size",
        r"epoch 0 has 6 batches, len\(\) is 7",
    ),
    "it never ends": (
        "test_length_is_exact", "for start in range(0, len(self) * self.size, self.size):",
        "for start in iter(lambda: 0, None):", "8 or more batches",
    ),
    "it is shuffled from call to call": (
        "test_epochs_depend_on_seed_and_epoch_alone", RNG,
        "self.seed += 1; rng = np.random.default_rng((self.seed, epoch))",
        "depends on what was drawn before it",
    ),
    "its epoch is another one the second time": (
        "test_epochs_depend_on_seed_and_epoch_alone", RNG,
        "self.drawn = getattr(self, 'drawn', set()); again = epoch in self.drawn;"
        " self.drawn.add(epoch); rng = np.random.default_rng((self.seed, epoch, again))",
        "drawing epoch 0 a second time gives other batches",
    ),
    "its epochs are all the same": (
        "test_epochs_and_seeds_differ", RNG, "rng = np.random.default_rng(self.seed)",
        "epochs 0 and 1 have the same batches",
    ),
    "it ignores the seed": (
        "test_epochs_and_seeds_differ", RNG, "rng = np.random.default_rng(epoch)",
        "seeds 0 and 1 give the same batches",
    ),
    "an epoch disturbs another": (
        "test_two_iterations_do_not_disturb_each_other", YIELD,
        "self.order = order if start == 0 else self.order;"
        " yield self.order[start : start + self.size]",
        "epoch 0 changes while epoch 1 is drawn",
    ),
    "its summary has two lines": (
        "test_summary_is_one_line", "batches of", "batches\\nof", "expected one line of text",
    ),
    "it uses the global generator": (
        "test_random_state_of_the_run_is_left_alone", RNG,
        "np.random.seed(epoch); rng = np.random", "uses the global generator of numpy",
    ),
    "it changes the labels": (
        "test_batches_are_rows_of_the_data", BUILT, f"{BUILT}; labels[0] = 0",
        "raised ValueError when it was built",
    ),
    "it lacks a method": (
        "test_length_is_exact", "def summary", "def describe", "Example without summary; expected",
    ),
}  # fmt: skip

ROW_SAMPLER = """
class Example:
    def __init__(self, *, labels):
        self.labels = labels

    def __len__(self):
        return len(self.labels)

    def __iter__(self):
        return iter(range(len(self.labels)))
"""


def test_a_good_sampler_passes_every_check(installed_component, run_all_checks) -> None:
    assert run_all_checks(installed_component(SamplerConformance, GOOD)) == 10


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_found(installed_component, run_check, fault: str) -> None:
    check, old, new, message = FAULTS[fault]
    component = installed_component(SamplerConformance, GOOD, old, new)
    with pytest.raises(AssertionError, match=message):
        run_check(component, check)


def test_a_sampler_of_torch_is_told_what_is_wanted(installed_component, run_check) -> None:
    component = installed_component(SamplerConformance, ROW_SAMPLER)
    with pytest.raises(AssertionError, match="sampler, not a batch sampler"):
        run_check(component, "test_length_is_exact")


def test_every_check_has_a_fault_that_it_finds(own_checks) -> None:
    found = {check for check, *_ in FAULTS.values()}
    assert own_checks(SamplerConformance) == found
