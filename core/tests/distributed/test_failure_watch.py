"""Several watches in one process, on one store: what each of them learns of the others."""

import threading
import time
from datetime import timedelta

import pytest
import torch.distributed as dist

from reid_core.distributed import failure_watch
from reid_core.distributed.failure import (
    LAUNCHER,
    Failure,
    LostExchangeError,
    OtherProcessError,
    is_consequence,
)
from reid_core.distributed.failure_watch import FailureWatch, WatchTimes
from reid_core.distributed.process_group import make_group
from reid_core.distributed.start_number import agreed_start
from reid_core.distributed.told_once import is_told_by_first
from reid_core.engine.record.failed_status import write_failure
from reid_core.errors import DataError, Interrupted, TrainingError, UsageError

TIMES = WatchTimes(beat=0.01, silence=60, notice=0.2, wind_up=60, reason=0.5)
IMPATIENT = WatchTimes(beat=0.01, silence=0.3, notice=60)


class Job:
    """Watches of some processes, and the exit codes that threads ended them with."""

    def __init__(self):
        self.store = dist.HashStore()
        self.left = []
        self.has_left = threading.Event()
        self.watches = []

    def watch(self, rank, count=2, **settings):
        settings = {"times": TIMES, "is_bound": lambda: False, **settings}
        watch = FailureWatch(self.store, rank, count, leave=self.leave, **settings)
        self.watches.append(watch)
        return watch

    def end(self):
        for watch in self.watches:
            for event in (watch._is_over, watch._is_closed, watch._is_ending):
                event.set()
            watch._thread.join(20)

    def leave(self, code):
        self.left.append(code)
        self.has_left.set()

    def fail(self, watch, error):
        """Raise an error under guard; return what comes out."""
        with pytest.raises(BaseException) as caught, watch.guard():
            raise error
        return caught.value


@pytest.fixture
def job():
    job = Job()
    yield job
    job.end()


def wait_for(condition):
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        threading.Event().wait(0.005)


def raised_by(check):
    try:
        check()
    except OtherProcessError as error:
        return error
    return None


def test_another_process_learns_text_and_exit_code(job):
    first, second = job.watch(0), job.watch(1)
    own = DataError("the disk is full")
    assert job.fail(second, own) is own
    wait_for(lambda: raised_by(first.check))
    error = raised_by(first.check)
    assert str(error) == "process 1 failed: the disk is full"
    assert (error.status_code, error.failure.kind) == (3, "DataError")
    assert raised_by(second.check) is None


def test_what_follows_from_a_failure_is_told_by_its_cause(job):
    first, second = job.watch(0), job.watch(1)
    job.fail(second, ValueError("half"))
    lost = LostExchangeError("another process has ended")
    error = job.fail(first, lost)
    assert str(error) == "process 1 failed: ValueError: half"
    assert error.__cause__ is lost


def test_the_first_of_two_failures_counts_and_each_keeps_its_own_words(job):
    watches = [job.watch(rank, 3) for rank in range(3)]
    job.fail(watches[2], DataError("first"))
    assert str(job.fail(watches[1], DataError("second"))) == "second"
    assert str(job.fail(watches[0], LostExchangeError("x"))) == "process 2 failed: first"


def test_a_failure_that_passes_two_guards_is_told_once(job):
    first, second = job.watch(0), job.watch(1)
    with pytest.raises(DataError), second.guard(), second.guard():
        raise DataError("once")
    error = job.fail(first, LostExchangeError("x"))
    with pytest.raises(OtherProcessError) as caught, first.guard():
        raise error
    assert caught.value is error


def test_a_process_without_a_sign_of_life_is_gone(job):
    first, second = job.watch(0, times=IMPATIENT), job.watch(1)
    wait_for(lambda: job.store.check(["beat/1"]))
    second._is_closed.set()  # killed: it says nothing
    wait_for(lambda: raised_by(first.check))
    told = str(raised_by(first.check))
    assert told.startswith("process 1 (host ")
    assert "is gone: it was killed, by hand or for want of memory, or it crashed" in told


def test_a_lost_exchange_finds_the_process_that_is_gone_before_it_is_missed(job):
    first, second = job.watch(0), job.watch(1)
    wait_for(lambda: job.store.check(["beat/1"]))
    second._is_closed.set()
    second._thread.join()
    error = job.fail(first, RuntimeError("[gloo/transport/tcp] Connection closed by peer"))
    assert "process 1 (host" in str(error)
    assert error.status_code == 1


def test_a_lost_exchange_nobody_knows_the_reason_of_is_a_failure_of_its_own(job):
    first, second = job.watch(0), job.watch(1)
    lost = LostExchangeError("no reason")
    assert job.fail(first, lost) is lost
    wait_for(lambda: raised_by(second.check))
    assert str(raised_by(second.check)) == "process 0 failed: no reason"


# Only signs of life are counted, so a clock that jumps makes nobody miss anybody.
def test_a_clock_that_jumps_ends_nothing(job, monkeypatch):
    times = WatchTimes(beat=0.01, silence=5)
    first, second = job.watch(0, times=times), job.watch(1, times=times)
    wait_for(lambda: job.store.check(["beat/0", "beat/1"]))
    monkeypatch.setattr(time, "time", lambda: 1e12)
    beats = job.store.add("beat/0", 0)
    wait_for(lambda: job.store.add("beat/0", 0) > beats + 30)
    assert raised_by(first.check) is raised_by(second.check) is None


def test_a_process_that_has_ended_is_not_missed_and_the_first_leaves_last(job):
    watches = [job.watch(rank, 3) for rank in range(3)]
    leaving = threading.Thread(target=watches[0].close)
    leaving.start()
    watches[1].close()
    wait_for(lambda: watches[0]._next == 2)
    assert leaving.is_alive()
    watches[2].close()
    leaving.join(20)
    assert not leaving.is_alive()
    assert not job.store.check(["failure"])


def test_the_first_process_fails_if_another_one_does_while_it_waits(job):
    first, second = job.watch(0), job.watch(1)
    job.fail(second, DataError("late"))
    with pytest.raises(OtherProcessError, match="process 1 failed: late"):
        first.close()


def test_a_process_that_is_done_fails_too_if_it_knows_of_a_failure(job):
    watches = [job.watch(rank, 3) for rank in range(3)]
    job.fail(watches[2], DataError("earlier"))
    wait_for(lambda: watches[1]._known)
    with pytest.raises(OtherProcessError, match="process 2 failed: earlier"):
        watches[1].close()


def test_a_main_thread_that_is_stuck_is_ended_with_the_first_exit_code(job, capsys):
    told = []
    first, second = job.watch(0), job.watch(1)
    first.at_forced_exit = told.append
    job.fail(second, DataError("the disk is full"))
    second.close()
    assert job.has_left.wait(20)
    assert job.left == [3]
    assert [failure.message for failure in told] == ["the disk is full"]
    assert capsys.readouterr().err == "error: process 1 failed: the disk is full\n"


def test_a_process_is_ended_although_its_status_cannot_be_written(job, caplog):
    def no_space(failure):
        raise OSError("no space left on device")

    first, second = job.watch(0), job.watch(1)
    first.at_forced_exit = no_space
    job.fail(second, DataError("x"))
    second.close()
    assert job.has_left.wait(20)
    assert "the failure could not be written to the run folder" in caplog.text


def test_a_group_that_cannot_be_taken_apart_ends_the_process_without_another_word(job, capsys):
    watch = job.watch(1, is_bound=lambda: True)
    job.fail(watch, DataError("told by whoever caught it"))
    watch.close()
    assert job.has_left.wait(20)
    assert capsys.readouterr().err == ""


def test_a_process_that_goes_on_after_a_failure_without_a_group_is_left_alone(job):
    watch = job.watch(1)
    job.fail(watch, DataError("handled by the caller"))
    watch.close()
    watch._thread.join(20)
    assert not watch._thread.is_alive()
    assert job.left == []


def test_a_signal_that_all_agreed_upon_is_no_failure(job):
    first, second = job.watch(0), job.watch(1)
    for watch in (first, second):
        assert isinstance(job.fail(watch, Interrupted(15)), Interrupted)
    second.close()
    first.close()
    assert not job.store.check(["failure"])


class GoneStore(dist.HashStore):
    """A store whose process was killed."""

    is_gone = False

    def check(self, keys):
        if self.is_gone:
            raise RuntimeError("Connection reset by peer")
        return super().check(keys)


@pytest.mark.parametrize(
    ("launcher", "told"), [("", "process 0 is gone"), ("True", "torchrun is gone")]
)
def test_a_store_that_is_gone_says_who_had_it(job, monkeypatch, launcher, told):
    monkeypatch.setenv("TORCHELASTIC_USE_AGENT_STORE", launcher)
    job.store = GoneStore()
    watch = job.watch(1)
    job.store.is_gone = True
    wait_for(lambda: raised_by(watch.check))
    assert str(raised_by(watch.check)).startswith(told)


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (DataError("a"), 3, "a"),
        (ValueError("b"), 1, "ValueError: b"),
        (KeyboardInterrupt(), 130, "interrupted by Ctrl-C"),
        (SystemExit(7), 7, "SystemExit: 7"),
        (SystemExit(0), 1, "SystemExit: 0"),
        (OtherProcessError(Failure(2, "X", "c", 4)), 4, "process 2 failed: c"),
    ],
)
def test_a_failure_has_the_text_and_exit_code_of_its_error(error, code, text):
    failure = Failure.from_text(Failure.of(0, error).to_text())
    assert (failure.exit_code, failure.message) == (code, text)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (LostExchangeError("x"), True),
        (RuntimeError("[/gloo/transport/tcp/pair.cc:534] Connection closed by peer"), True),
        (RuntimeError("NCCL communicator was aborted on rank 0"), True),
        (RuntimeError("shape mismatch"), False),
        (DataError("Connection closed by peer"), False),
    ],
)
def test_an_exchange_that_came_to_nothing_is_told_from_other_errors(error, expected):
    assert is_consequence(error) is expected
    outer = TrainingError("outer")
    outer.__cause__ = error
    assert is_consequence(outer) is expected


class FakeTrainer:
    iter, max_iter = 3, 9

    def __init__(self, rank):
        self.processes = self.folder = self
        self.rank, self.written = rank, []

    def write_status(self, state, **facts):
        self.written.append({"state": state, **facts})


def test_the_second_process_writes_the_status_where_the_first_is_gone():
    gone, failed = Failure.gone(0, ""), Failure(0, "DataError", "x", 3)
    trainers = [FakeTrainer(rank) for rank in range(3)]
    for trainer in trainers:
        write_failure(trainer, gone)
    assert [len(trainer.written) for trainer in trainers] == [0, 1, 0]
    assert trainers[1].written[0]["process"] == 0
    write_failure(trainers[0], failed)
    write_failure(trainers[0], Failure(LAUNCHER, "", "torchrun is gone", 1))
    assert [row.get("process") for row in trainers[0].written] == [0, None]


def starts(store, count):
    """Let processes come to a start; return what number each is told."""
    numbers = {}

    def come(rank):
        numbers[rank] = agreed_start(store, rank, count, timeout_seconds=20)

    threads = [threading.Thread(target=come, args=(rank,)) for rank in reversed(range(count))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    return numbers


def test_all_processes_of_a_start_have_one_number_whatever_earlier_ones_left():
    store = dist.HashStore()
    store.set("name/1", "of one that was killed before it heard its number")
    assert starts(store, 3) == {0: 1, 1: 1, 2: 1}
    assert starts(store, 2) == {0: 2, 1: 2}
    assert starts(store, 3) == {0: 3, 1: 3, 2: 3}


def test_a_process_that_does_not_come_is_named():
    with pytest.raises(TrainingError, match="1 processes have not come, process 1 first"):
        agreed_start(dist.HashStore(), 0, 2, timeout_seconds=0.05)
    with pytest.raises(TrainingError, match="process 0 has not come"):
        agreed_start(dist.HashStore(), 1, 2, timeout_seconds=0.05)


@pytest.fixture
def launcher_store(monkeypatch):
    """A store as torchrun keeps it."""
    store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    for name, value in {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(store.port),
        "WORLD_SIZE": "2",
        "TORCHELASTIC_USE_AGENT_STORE": "True",
    }.items():
        monkeypatch.setenv(name, value)
    return store


def test_what_the_first_process_says_the_others_keep_to_themselves(launcher_store, monkeypatch):
    monkeypatch.setenv("RANK", "0")
    assert not is_told_by_first("error: x")
    monkeypatch.setenv("RANK", "1")
    assert is_told_by_first("error: x")
    assert not is_told_by_first("error: y")
    monkeypatch.setenv("WORLD_SIZE", "1")
    assert not is_told_by_first("error: x")


def test_one_process_without_a_job_is_not_watched(monkeypatch):
    monkeypatch.delenv("MASTER_ADDR", raising=False)
    with failure_watch.watched(failure_watch.Processes()) as watch:
        assert watch is None
    with failure_watch.watched(failure_watch.Processes(1, 2)) as watch:
        assert watch is None


# B113: a port that is in use.
def test_a_port_in_use_says_how_to_choose_another(monkeypatch):
    other = dist.TCPStore("127.0.0.1", 0, is_master=True, timeout=timedelta(seconds=5))
    monkeypatch.delenv("TORCHELASTIC_USE_AGENT_STORE", raising=False)
    monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
    monkeypatch.setenv("MASTER_PORT", str(other.port))
    with pytest.raises(UsageError) as caught:
        make_group("gloo", rank=0, count=2, timeout_minutes=0.05)
    assert str(caught.value) == (
        f"port {other.port} is in use, by another job on this machine say, and the processes of "
        "this one need it to find each other; choose a free one by torchrun --master-port PORT, or "
        "let torchrun choose by --standalone"
    )
    monkeypatch.delenv("MASTER_PORT")
    with pytest.raises(UsageError, match=r"MASTER_PORT.* torchrun --nproc-per-node N"):
        make_group("gloo", rank=0, count=2, timeout_minutes=0.05)
