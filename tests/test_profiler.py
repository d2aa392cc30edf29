"""profiler.profile: what it records is compared with what the program does, counted by hand."""
import json
import sys
import threading
import time
from xml.etree import ElementTree

import numpy as np
import pytest

import python_api as paddle
from eager_core import allocator, storage
from python_api import profiler

N = 1000
NBYTES = 8 * N


def tensor(requires_grad=False, n=N):
    return paddle.to_tensor(np.linspace(0.1, 1.0, n), stop_gradient=not requires_grad)


def names(prof, kind):
    return [event.name for event in prof.events if event.kind == kind]


def test_operators_and_nodes_by_name():
    x = tensor(True)
    with profiler.profile() as prof:
        y = x * 2.0
        y.exp_()
        for _ in range(3):
            y = paddle.tanh(y)
        y = y + 1.0
        y[2:5] = 0.0
        y.sum().backward()
    forward = [event for event in prof.events if event.kind == "operator" and not _inside_backward(prof, event)]
    assert [event.name for event in forward] == ["multiply", "exp_", "tanh", "tanh", "tanh", "add", "setitem_", "sum"]
    assert [event.inplace for event in forward] == [False, True, False, False, False, False, True, False]
    # Backward goes the other way, each node once.
    assert names(prof, "node") == ["SumGradNode", "SetValueGradNode", "AddGradNode", "TanhGradNode", "TanhGradNode", "TanhGradNode",
                                   "ExpGradNode", "MultiplyGradNode", "GradNodeAccumulation"]
    assert names(prof, "pass") == ["backward"]
    assert prof.complete


def _inside_backward(prof, event):
    whole = [one for one in prof.events if one.kind == "pass"]
    return any(one.start <= event.start < one.start + one.duration for one in whole)


def test_grad_is_a_pass_of_its_own():
    x = tensor(True)
    with profiler.profile() as prof:
        paddle.grad((x * x).sum(), x)
    assert names(prof, "pass") == ["grad"]
    assert names(prof, "node") == ["SumGradNode", "MultiplyGradNode", "GradNodeAccumulation"]


def test_entry_points_and_composites_are_seen():
    from eager_core import eager_api_exp, eager_api_exp_
    x = tensor()
    with profiler.profile() as prof:
        eager_api_exp(x)
        eager_api_exp_(x)
    assert names(prof, "operator") == ["exp", "exp_"]


def test_times_add_up():
    x = tensor(True, 200_000)
    x.exp()  # the first large kernel of a process looks for the number of cores
    with profiler.profile() as prof, profiler.RecordEvent("all"):
        (x.exp() * x).sum().backward()
    (whole,) = [event for event in prof.events if event.kind == "user"]
    assert whole.name == "all"
    # One thread: the events' own times fill the outermost one, to the nanosecond.
    assert sum(event.self_duration for event in prof.events) == whole.duration <= prof.duration
    for event in prof.events:
        assert 0 <= event.kernel <= event.self_duration <= event.duration
        assert 0 <= event.start <= event.start + event.duration <= prof.duration
    exp = next(event for event in prof.events if event.name == "exp")
    assert exp.kernel > 0.5 * exp.duration  # 200,000 exponentials take far longer than the rest of a call
    rows = prof.key_averages()
    assert sum(row.self_total for row in rows) == whole.duration
    assert sum(row.kernel for row in rows) == sum(event.kernel for event in prof.events)


def test_kernel_time_is_apart_from_overhead():
    """The kernel of a product of matrices against the clock around it; on one element all is overhead."""
    a = paddle.to_tensor(np.ones((300, 300)))
    with profiler.profile() as prof:
        before = time.perf_counter_ns()
        paddle.matmul(a, a)
        after = time.perf_counter_ns()
        paddle.exp(tensor(n=1))
    product, one = prof.events
    assert 0 < product.kernel < after - before
    assert product.kernel > 100_000  # 27 million multiply-adds
    assert one.kernel < 50_000


def test_peak_is_what_was_alive():
    x = tensor()
    with profiler.profile() as prof:
        a = x + 1.0      # a
        b = a + 1.0      # a, b
        del a            # b
        c = b * b        # b, c
        d = c * b        # b, c, d: the peak
        del b, c         # d
        e = d + 1.0      # d, e
    assert prof.peak - prof.in_use_before == 3 * NBYTES
    assert prof.in_use_after - prof.in_use_before == 2 * NBYTES
    assert (prof.allocations, prof.allocated) == (5, 5 * NBYTES)
    (at_peak,) = prof.at(prof.peak_at)
    assert at_peak is prof.events[3]
    assert [event.allocated for event in prof.events] == [NBYTES] * 5
    assert [event.in_use - prof.in_use_before for event in prof.events] == [NBYTES, 2 * NBYTES, 2 * NBYTES, 3 * NBYTES, 2 * NBYTES]
    del d, e


def test_memory_that_there_is_not_is_no_part_of_the_peak():
    column, row = paddle.zeros([10**7, 1]), paddle.zeros([10**7])
    with profiler.profile() as prof, pytest.raises(MemoryError, match="cannot allocate 400000000000000 bytes"):
        column + row
    assert (prof.peak, prof.in_use_after) == (prof.in_use_before, prof.in_use_before)
    assert prof.allocated == 0


def test_memory_kept_for_reuse_that_is_freed_is_no_allocation():
    """Small tensors keep their memory while they wait to be used again; to free that is not to allocate it."""
    paddle.to_tensor([1.0]) + 1.0
    with profiler.profile() as prof:
        allocator.empty_cache()
    assert (prof.allocations, prof.allocated, prof.in_use_after) == (0, 0, prof.in_use_before)
    assert len(prof.levels) == 1


def test_what_is_allocated_while_a_profile_begins_is_counted_once():
    """By another thread, say. Here it happens between any two lines of `__enter__`."""
    kept = []

    def allocate(frame, event, _argument):
        if event == "line":
            kept.append(tensor())
        return allocate

    prof = profiler.profile()
    before = sys.gettrace()
    sys.settrace(lambda frame, *_: allocate if frame.f_code is profiler.profile.__enter__.__code__ else None)
    try:
        prof.__enter__()
    finally:
        sys.settrace(before)
    prof.__exit__(None, None, None)
    assert len(kept) > 1
    assert prof.in_use_after == storage.bytes_in_use()


def test_in_place_allocates_nothing():
    x = tensor()
    with profiler.profile() as prof:
        x.exp_()
        x.add_(1.0)
        x.relu_()
    assert (prof.allocations, prof.peak) == (0, prof.in_use_before)


def test_saved_values_count_until_backward_frees_them():
    x = tensor(True)
    with profiler.profile() as prof:
        loss = (x * 2.0).exp().sum()  # x * 2 is saved by nobody and gone; exp has saved its result
        held = prof.events, loss
    assert prof.in_use_after - prof.in_use_before == NBYTES + 8
    with profiler.profile() as second:
        loss.backward()
    assert second.in_use_after - second.in_use_before == 0  # the saved result is gone, x.grad has come
    del held


def test_memory_of_arrays_that_numpy_made_counts():
    x = tensor()
    with profiler.profile() as prof:
        y = paddle.sort(x)
    assert prof.in_use_after - prof.in_use_before == NBYTES
    del y


def test_levels_and_freed_memory_from_before():
    x = tensor()
    with profiler.profile() as prof:
        del x
    assert [nbytes - prof.in_use_before for _, nbytes in prof.levels] == [0, -NBYTES]
    assert prof.peak == prof.in_use_before


def test_shapes_only_if_asked_for():
    a, b = paddle.to_tensor(np.ones((3, 4))), paddle.to_tensor(np.ones(4))
    with profiler.profile(record_shapes=True) as prof:
        a + b
        a + b
        a + 1.0
    assert [event.shapes for event in prof.events] == [((3, 4), (4,)), ((3, 4), (4,)), ((3, 4), None)]
    assert sorted(row.count for row in prof.key_averages(group_by_shapes=True)) == [1, 2]
    assert [row.count for row in prof.key_averages()] == [3]
    with profiler.profile() as prof:
        a + b
    assert prof.events[0].shapes is None


def test_table():
    x = tensor(True)
    with profiler.profile() as prof:
        for _ in range(4):
            x.exp()
        (x * 1.0).exp_().sum().backward()
    rows = {row.name: row for row in prof.key_averages()}
    assert rows["exp"].count == 4
    assert not rows["exp"].inplace
    assert rows["exp_"].count == 1
    assert rows["exp_"].inplace
    assert rows["exp"].overhead == rows["exp"].self_total - rows["exp"].kernel
    text = str(prof.key_averages())
    line = next(line for line in text.splitlines() if line.startswith("exp "))
    assert line.split()[1] == "4"
    assert next(line for line in text.splitlines() if line.startswith("exp_ ")).split()[1:3] == ["yes", "1"]
    by_count = prof.key_averages().table(sort_by="count", row_limit=1).splitlines()
    assert by_count[2].startswith("exp ")
    assert len(by_count) == 4  # heading, rule, row, totals
    with pytest.raises(ValueError, match=r"sort_by must be one of self, total, .* but is 'size'"):
        prof.key_averages().table(sort_by="size")


def test_chrome_trace(tmp_path):
    x = tensor(True)
    with profiler.profile(record_shapes=True) as prof:
        with profiler.RecordEvent("forward"):
            loss = x.exp().sum()
        loss.backward()
    path = tmp_path / "trace.json"
    prof.export_chrome_tracing(path)
    entries = json.loads(path.read_text("utf-8"))["traceEvents"]
    complete = [entry for entry in entries if entry["ph"] == "X"]
    assert [entry["name"] for entry in complete] == [event.name for event in prof.events]
    assert {"forward", "exp", "sum", "ExpGradNode", "backward"} <= {entry["name"] for entry in complete}
    for entry in complete:
        assert entry.keys() >= {"name", "cat", "ph", "ts", "dur", "pid", "tid", "args"}
    exp = next(entry for entry in complete if entry["name"] == "exp")
    forward = next(entry for entry in complete if entry["name"] == "forward")
    assert exp["args"]["shapes"] == [[N]]
    assert forward["ts"] <= exp["ts"]
    assert exp["ts"] + exp["dur"] <= forward["ts"] + forward["dur"] + 0.001
    counters = [entry["args"]["bytes in use"] for entry in entries if entry["ph"] == "C"]
    assert max(counters) == prof.peak


def test_memory_timeline(tmp_path):
    x = tensor()
    with profiler.profile() as prof:
        with profiler.RecordEvent("a < b"):
            x.exp()
        for _ in range(3000):  # more levels than columns
            x + 1.0
    path = tmp_path / "memory.svg"
    prof.export_memory_timeline(path)
    root = ElementTree.parse(path).getroot()
    assert root.tag.endswith("svg")
    texts = [element.text for element in root.iter() if element.text]
    assert any(f"({prof.peak} bytes)" in text for text in texts)
    assert any(text.startswith("a < b, ") for text in texts)
    assert len(prof.levels) > 6000
    assert path.stat().st_size < 1_000_000


def test_user_ranges():
    marked = profiler.RecordEvent("step")

    @marked
    def step(a, b=1):
        """Text."""
        return a + b

    assert step(1, b=2) == 3  # no profile: nothing happens
    assert step.__doc__ == "Text."
    with profiler.profile() as prof:
        step(1)
        marked.begin()
        marked.end()
        with pytest.raises(ZeroDivisionError), profiler.RecordEvent("wrong"):
            1 / 0
    assert names(prof, "user") == ["step", "step", "wrong"]
    with pytest.raises(TypeError, match=r"name must be str, but got int"):
        profiler.RecordEvent(3)


def test_range_over_the_end_of_a_profile_is_left_out():
    event = profiler.RecordEvent("open")
    with profiler.profile() as prof:
        event.begin()
    with profiler.profile() as second:
        event.end()
    assert prof.events == second.events == []


def test_exceptions_end_it_and_failures_are_marked():
    x, y = tensor(n=3), tensor(n=4)
    prof = profiler.profile()
    with pytest.raises(ValueError, match="Broadcast dimension mismatch"), prof:  # noqa: PT012  the block is what is tested
        x.exp()
        x + y
    assert [(event.name, event.failed) for event in prof.events] == [("exp", False), ("add", True)]
    x.exp()
    assert len(prof.events) == 2
    with profiler.profile() as after:  # none is on
        x.tanh()
    assert names(after, "operator") == ["tanh"]


def test_failing_backward_is_marked():
    x = tensor(True)
    y = x.exp()
    loss = y.sum()
    y.add_(1.0)
    with profiler.profile() as prof, pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()
    assert {event.name for event in prof.events if event.failed} == {"ExpGradNode", "backward"}


def test_nested_profiles_refuse():
    x = tensor()
    with profiler.profile() as outer:
        with pytest.raises(RuntimeError, match=r"a profile is on already.*RecordEvent"), profiler.profile():
            pass
        x.exp()
    assert names(outer, "operator") == ["exp"]
    with pytest.raises(RuntimeError, match="a profile is entered once"), outer:
        pass


def test_results_before_the_end_refuse(tmp_path):
    with profiler.profile() as prof:
        for ask in (prof.export_chrome_tracing, prof.export_memory_timeline):
            with pytest.raises(RuntimeError, match="when the profile's block has ended"):
                ask(tmp_path / "a")
        with pytest.raises(RuntimeError, match=r"key_averages\(\) has something to show when"):
            prof.key_averages()


def test_threads_are_told_apart():
    x = tensor(n=50_000)
    barrier = threading.Barrier(3)

    def work(operator):
        barrier.wait()
        for _ in range(100):
            operator(x)

    with profiler.profile() as prof:
        threads = [threading.Thread(target=work, args=(operator,)) for operator in (paddle.exp, paddle.tanh)]
        for thread in threads:
            thread.start()
        barrier.wait()
        for thread in threads:
            thread.join()
    by_name = {}
    for event in prof.events:
        by_name.setdefault(event.name, []).append(event)
    assert {name: len(events) for name, events in by_name.items()} == {"exp": 100, "tanh": 100}
    assert len({event.thread for event in by_name["exp"]}) == len({event.thread for event in by_name["tanh"]}) == 1
    assert by_name["exp"][0].thread != by_name["tanh"][0].thread
    assert all(0 < event.kernel <= event.self_duration == event.duration for event in prof.events)


def test_off_is_off():
    from eager_core.profiling import user_begin
    from eager_core.storage import bytes_in_use
    assert user_begin() is None
    before = bytes_in_use()
    x = tensor()
    assert bytes_in_use() - before == NBYTES
    del x
    assert bytes_in_use() == before


def test_result_does_not_depend_on_the_profile():
    def step():
        x = tensor(True)
        y = (x * 3.0).exp_() + 0.0
        y[1:4].multiply_(2.0)
        y.sum().backward()
        return x.grad.numpy()

    plain = step()
    with profiler.profile(record_shapes=True):
        watched = step()
    np.testing.assert_array_equal(plain, watched)
    expected = 3.0 * np.exp(3.0 * np.linspace(0.1, 1.0, N))
    expected[1:4] *= 2.0
    np.testing.assert_allclose(watched, expected, rtol=1e-13)
