"""Large kernels shared by threads: the same bits as one thread's, no thread for small work, and no harm to forks, signals and exits."""
import math
import os
import sys
import textwrap
import threading

import numpy as np
import pytest
from test_lifetime import in_fresh_process

import python_api as paddle
from eager_core import processors, splitting, thread_pool
from python_api.nn import functional as F

N = 300_007
rng = np.random.default_rng(5)
needs_pool = pytest.mark.skipif(sys.platform == "win32", reason="no pool there")


@pytest.fixture(autouse=True)
def eager_to_wake():
    """Every job that may be cut is, on machines with one core too."""
    count, worth = paddle.get_num_threads(), thread_pool._test_set_worth(1)
    paddle.set_num_threads(3)
    yield
    paddle.set_num_threads(count)
    thread_pool._test_set_worth(worth)


def fresh(code):
    in_fresh_process(textwrap.dedent(code) + 'print("end")\n')


def asked():
    return thread_pool._test_pool()[1]


def tensor(array):
    return paddle.to_tensor(np.ascontiguousarray(array))


def numbers(*shape, dtype="float64"):
    return (rng.random(shape) * 2 - 1).astype(dtype)


A, B = numbers(N), numbers(N)
M, R = numbers(701, 433), numbers(433)
CUBE = numbers(37, 61, 149)
WIDE, TALL, FEW = numbers(5, 80_001), numbers(80_001, 6), numbers(3, 100_003)
LABELS = rng.integers(0, 433, 701)


def softmax(a):
    e = np.exp(a - a.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def put_rows(m, index, value):
    m = m.copy()
    m[np.arange(len(m)), index] += value
    return m


def square_in_place(a):
    copy = a.clone()
    return copy.multiply_(copy)


def set_rows(m):
    made = paddle.zeros([751, 433], m.dtype)
    made[50:] = m
    return made


# name: (arrays, what we compute, what NumPy computes)
JOBS = {
    "add": ((A, B), lambda a, b: a + b, lambda a, b: a + b),
    "number": ((A,), lambda a: 1.5 - a, lambda a: 1.5 - a),
    "tanh": ((A,), lambda a: a.tanh(), np.tanh),
    "exp": ((A,), lambda a: a.exp(), np.exp),
    "compare": ((A, B), lambda a, b: a < b, np.less),
    "clip": ((A,), lambda a: a.clip(-0.25, 0.5), lambda a: a.clip(-0.25, 0.5)),
    "scale": ((A,), lambda a: a.scale(3.0, -1.0), lambda a: a * 3.0 - 1.0),
    "cast": ((A,), lambda a: a.astype("float32"), lambda a: a.astype("float32")),
    "in place": ((A, B), lambda a, b: a.clone().multiply_(b), np.multiply),
    "in place with itself": ((A,), square_in_place, np.square),
    "strided": ((A,), lambda a: a[::-3].sin(), lambda a: np.sin(a[::-3])),
    "strided pair": ((A, B), lambda a, b: a[1::2] * b[::-2][:N // 2], lambda a, b: a[1::2] * b[::-2][:N // 2]),
    "transposed": ((M,), lambda m: m.t() + m.t(), lambda m: m.T + m.T),
    "transposed with straight": ((M,), lambda m: m.t().clone() - m.t(), lambda m: m.T - m.T),
    "row": ((M, R), lambda m, r: m * r, np.multiply),
    "column": ((M,), lambda m: m - m[:, :1], lambda m: m - m[:, :1]),
    "few long rows": ((WIDE,), lambda m: m + m[:, :1], lambda m: m + m[:, :1]),
    "inner part": ((CUBE,), lambda c: c[3:, 1:-1, 2:-2].exp(), lambda c: np.exp(c[3:, 1:-1, 2:-2])),
    "axes reversed": ((CUBE,), lambda c: c.transpose([2, 1, 0]).sqrt() + c.transpose([2, 1, 0]),
                      lambda c: np.sqrt(c.transpose(2, 1, 0)) + c.transpose(2, 1, 0)),
    "where": ((A, B), lambda a, b: paddle.where(a > 0, a, b), lambda a, b: np.where(a > 0, a, b)),
    "broadcast to": ((R,), lambda r: r.expand([701, 433]).clone(), lambda r: np.broadcast_to(r, (701, 433))),
    "set": ((M,), set_rows, lambda m: np.concatenate([np.zeros((50, 433), m.dtype), m])),
    "sum": ((A,), lambda a: a.sum(), np.sum),
    "sum transposed": ((M,), lambda m: m.t()[5:].sum(), lambda m: m.T[5:].sum()),
    "mean": ((A,), lambda a: a.mean(), np.mean),
    "max": ((A,), lambda a: a.max(), np.max),
    "min of a part": ((CUBE,), lambda c: c[:, 1:, ::2].min(), lambda c: c[:, 1:, ::2].min()),
    "prod": ((1 + A / 1000,), lambda a: a.prod(), np.prod),
    "any": ((A > 2,), lambda a: a.any(), np.any),
    "all": ((A < 2,), lambda a: a.all(), np.all),
    "sum of rows": ((M,), lambda m: m.sum(1), lambda m: m.sum(1)),
    "sum of columns": ((M,), lambda m: m.sum(0), lambda m: m.sum(0)),
    "sum of few columns": ((TALL,), lambda m: m.sum(0), lambda m: m.sum(0)),
    "sum of few rows": ((FEW,), lambda m: m.sum(1), lambda m: m.sum(1)),
    "mean over few rows": ((WIDE,), lambda m: m.mean(0), lambda m: m.mean(0)),
    "largest in columns": ((M,), lambda m: m.max(0), lambda m: m.max(0)),
    "middle axis": ((CUBE,), lambda c: c.sum(1, keepdim=True), lambda c: c.sum(1, keepdims=True)),
    "outer axes": ((CUBE,), lambda c: c.sum([0, 2]), lambda c: c.sum((0, 2))),
    "softmax": ((M,), lambda m: F.softmax(m), softmax),
    "log_softmax": ((M,), lambda m: F.log_softmax(m), lambda m: np.log(softmax(m))),
}
INTEGERS = {"add", "compare", "in place", "strided pair", "row", "column", "where", "set", "sum", "max", "prod", "sum of rows",
            "sum of columns", "largest in columns", "middle axis"}
COMPLEX = {"add", "tanh", "in place", "transposed", "row", "sum", "mean", "prod", "sum of columns"}
CASES = [(name, dtype) for name in JOBS for dtype in ("float64", "float32", "int32", "complex128")
         if dtype[:5] == "float" or name in (INTEGERS if dtype == "int32" else COMPLEX)]


@needs_pool
@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_the_same_bits_with_any_number_of_threads(name, dtype):
    arrays, ours, numpys = JOBS[name]
    if name in ("any", "all"):
        dtype = "bool"
    arrays = [(a * 1000 if dtype == "int32" else a).astype(dtype) for a in arrays]
    if dtype == "complex128":
        arrays = [a + 1j * a[::-1] for a in arrays]
    if name == "prod" and dtype == "complex128":
        arrays = [a / np.abs(a) for a in arrays]
    if name == "axes reversed":
        arrays = [np.abs(a) for a in arrays]
    tensors = [tensor(a) for a in arrays]
    before = asked()
    results = [ours(*tensors)]
    assert asked() > before, "the job was not cut"
    for count in (1, 2, 7):
        paddle.set_num_threads(count)
        results.append(ours(*tensors))
    first = results[0].numpy()
    for other in results[1:]:
        assert first.tobytes() == other.numpy().tobytes()
    expected = numpys(*arrays)
    assert first.shape == expected.shape
    if first.dtype.kind in "biu":
        np.testing.assert_array_equal(first, expected)
    else:
        single = first.dtype == np.float32
        np.testing.assert_allclose(first, expected, rtol=2e-4 if single else 1e-11, atol=2e-2 if single else 1e-10)


@needs_pool
def test_elementwise_results_are_numpys():
    """Where NumPy's loop runs in parts, it ends nowhere but where it would have ended."""
    for size in (65_536, 65_537, 98_303, 131_071, N):
        a = A[:size].astype("float32")
        for name in ("exp", "log", "sin", "tanh", "sqrt"):
            ours, numpys = getattr(paddle, name), getattr(np, name)
            for array in (np.abs(a), np.abs(a.astype("float64"))):
                paddle.set_num_threads(1)
                one = ours(tensor(array)).numpy()
                paddle.set_num_threads(3)
                assert ours(tensor(array)).numpy().tobytes() == one.tobytes()
                np.testing.assert_allclose(one, numpys(array), rtol=1e-6 if array.dtype == np.float32 else 1e-14)


@needs_pool
def test_sums_are_accurate():
    for array in (A, A.astype("float32"), np.full(2_000_001, 0.1, "float32")):
        exact = math.fsum(array.astype("float64"))
        size = math.fsum(np.abs(array.astype("float64")))
        assert abs(float(tensor(array).sum()) - exact) <= 4 * np.finfo(array.dtype).eps * size / 2


@needs_pool
def test_nan_anywhere_is_seen():
    for at in (0, 65_535, 65_536, 200_001, N - 1):
        a = A.copy()
        a[at] = np.nan
        assert np.isnan(float(tensor(a).max()))
        assert np.isnan(float(tensor(a).min()))
        assert np.isnan(float(tensor(a).sum()))


@needs_pool
def test_overlapping_operands():
    """What reads what it writes is not cut, or works on a copy (S4)."""
    x = tensor(A)
    expected = A.copy()
    x[1:].add_(x[:-1])
    expected[1:] = A[1:] + A[:-1]
    np.testing.assert_array_equal(x.numpy(), expected)
    x = tensor(A)
    x.add_(x[::-1])
    np.testing.assert_array_equal(x.numpy(), A + A[::-1])
    square = numbers(500, 500)
    x = tensor(square)
    x.add_(x.t())
    np.testing.assert_array_equal(x.numpy(), square + square.T)
    x = tensor(A)
    x[:200_000] = x[100_000:300_000]
    np.testing.assert_array_equal(x.numpy(), np.concatenate([A[100_000:300_000], A[200_000:]]))


HERE, THERE = 1 << 40, 1 << 41


@pytest.mark.parametrize(("what", "shape", "operands", "cut"), [
    ("elementwise", [1000], [(HERE, [8]), (THERE, [8])], (0, False, 1000)),
    ("in place", [1000], [(HERE, [8]), (THERE, [8]), (HERE, [8])], (0, False, 1000)),
    ("a running sum: reads what the step before wrote", [1000], [(HERE, [8]), (THERE, [8]), (HERE + 8, [8])], None),
    ("reads what a later step writes", [1000], [(HERE + 8, [8]), (HERE, [8])], None),
    ("reversed in place", [1000], [(HERE + 999 * 8, [-8]), (HERE, [8])], None),
    ("neighbours", [1000], [(HERE, [8]), (HERE + 8000, [8])], (0, False, 1000)),
    ("neighbours, backwards", [1000], [(HERE + 7992, [-8]), (HERE + 8000, [8])], (0, False, 1000)),
    ("reads all of it from one element of the output", [1000], [(HERE + 80, [0]), (HERE, [8])], None),
    ("the output overlaps itself", [100, 100], [(THERE, [800, 8]), (HERE, [8, 8])], None),
    ("windows that share elements", [100, 100], [(THERE, [800, 8]), (HERE, [80, 8])], None),
    ("the outer axis", [100, 100], [(THERE, [8, 800]), (HERE, [800, 8])], (1, False, 10_000)),
    ("a short outer axis", [3, 100], [(THERE, [0, 8]), (HERE, [800, 8])], (0, False, 300)),
    ("transposed in place", [100, 100], [(HERE, [8, 800]), (HERE, [800, 8])], None),
    ("total", [1000], [(HERE, [0]), (THERE, [8]), (HERE, [0])], (0, True, 1)),
    ("total that is not a reduction: the last one stays", [1000], [(THERE, [8]), (HERE, [0])], None),
    ("rows", [100, 50], [(HERE, [8, 0]), (THERE, [400, 8]), (HERE, [8, 0])], (1, False, 100)),
    ("columns", [100, 50], [(HERE, [0, 8]), (THERE, [400, 8]), (HERE, [0, 8])], (1, True, 50)),
    ("columns of few rows", [20, 50], [(HERE, [0, 8]), (THERE, [400, 8]), (HERE, [0, 8])], (0, False, 50)),
    ("of what is written", [1000], [(HERE, [0]), (HERE - 8, [8]), (HERE, [0])], None),
    ("nothing", [0], [(HERE, [8]), (THERE, [8])], None),
])
def test_what_may_be_cut(what, shape, operands, cut):
    assert splitting._test_cut(shape, *operands) == cut


@needs_pool
def test_gradients():
    """Backward uses the same kernels; each formula is known."""
    x, y = paddle.to_tensor(A, stop_gradient=False), paddle.to_tensor(B, stop_gradient=False)
    (x.tanh() * y).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), (1 - np.tanh(A) ** 2) * B, rtol=1e-12)
    np.testing.assert_allclose(y.grad.numpy(), np.tanh(A), rtol=1e-12)
    m = paddle.to_tensor(M, stop_gradient=False)
    F.cross_entropy(m, paddle.to_tensor(LABELS)).backward()
    np.testing.assert_allclose(m.grad.numpy(), put_rows(softmax(M), LABELS, -1.0) / 701, rtol=1e-9, atol=1e-12)
    r = paddle.to_tensor(R, stop_gradient=False)
    (paddle.to_tensor(M) + r).square().sum().backward()
    np.testing.assert_allclose(r.grad.numpy(), 2 * (M + R).sum(0), rtol=1e-9, atol=1e-9)


@needs_pool
def test_small_work_wakes_nobody():
    before = asked()
    for size in (1, 1000, 65_535):
        x = tensor(A[:size])
        x.tanh().sum()
        (x + x).mean()
        F.softmax(x)
    assert asked() == before
    tensor(A).tanh()
    assert asked() > before


@needs_pool
def test_work_of_less_than_its_worth_wakes_nobody():
    thread_pool._test_set_worth(10**12)
    before = asked()
    tensor(A).tanh()
    assert asked() == before
    thread_pool._test_set_worth(1)
    paddle.set_num_threads(1)
    tensor(A).tanh()
    assert asked() == before


@needs_pool
@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="counts threads there")
def test_threads_start_with_the_first_large_work():
    fresh("""
    import os
    from eager_core import thread_pool
    tasks = lambda: len(os.listdir("/proc/self/task"))
    np.ones(3) @ np.ones(3)
    paddle.set_num_threads(3)
    thread_pool._test_set_worth(1)
    at_import = tasks()
    x = paddle.to_tensor(np.ones(60_000))
    for _ in range(100):
        x.tanh_()
    assert tasks() == at_import
    paddle.to_tensor(np.ones(1_000_000)).tanh_()
    assert tasks() == at_import + 2
    for _ in range(10):
        paddle.to_tensor(np.ones(1_000_000)).tanh_()
    assert tasks() == at_import + 2
    """)


@needs_pool
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_child_forked_after_the_pool_was_used():
    fresh("""
    import multiprocessing, os, signal
    from eager_core import thread_pool
    thread_pool._test_set_worth(1)
    a = np.linspace(0, 1, 500_001)
    x = paddle.to_tensor(a)

    def right():
        return np.allclose((x * 2.0).tanh().numpy(), np.tanh(a * 2)) and abs(float(x.sum()) - 250_000.5) < 1e-6

    def in_child(check):
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            os._exit(0 if check() else 1)
        assert os.waitpid(child, 0)[1] == 0

    thread_pool.limit_num_threads(2)              # as if the machine had two cores: nobody chose the number
    assert right() and thread_pool._test_pool()[0] == 1
    in_child(lambda: right() and paddle.get_num_threads() == 1 and thread_pool._test_pool() == (0, 0))
    in_child(lambda: paddle.set_num_threads(3) or (right() and thread_pool._test_pool()[0] == 2))
    paddle.set_num_threads(2)                     # chosen: children inherit it
    in_child(lambda: right() and paddle.get_num_threads() == 2 and thread_pool._test_pool()[0] == 1)
    assert right() and thread_pool._test_pool()[0] == 1
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(float, [1, 2]) == [1.0, 2.0]
        assert all(pool.starmap(right, [()] * 6))
    """)


@needs_pool
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_fork_while_other_threads_work():
    fresh("""
    import os, signal
    from eager_core import thread_pool
    thread_pool._test_set_worth(1)
    paddle.set_num_threads(3)
    x = paddle.to_tensor(np.linspace(0, 1, 300_001))
    stop = threading.Event()

    def work():
        while not stop.is_set():
            x.tanh()

    threads = [threading.Thread(target=work) for _ in range(2)]
    for t in threads:
        t.start()
    for _ in range(20):
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            os._exit(0 if abs(float(x.sum()) - 150_000.5) < 1e-6 else 1)
        assert os.waitpid(child, 0)[1] == 0
    stop.set()
    for t in threads:
        t.join()
    """)


@needs_pool
def test_python_threads_at_once():
    """One of them has the pool, the others work alone; all are right. Backward passes too."""
    failures = []

    def run(k):
        array = A + k
        for _ in range(40):
            x = paddle.to_tensor(array, stop_gradient=False)
            y = (x * x).sum()
            y.backward()
            if abs(float(y) - math.fsum(array**2)) > 1e-6 or x.grad.numpy().tobytes() != (array * 2).tobytes():
                failures.append(k)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures


@needs_pool
def test_the_process_ends_while_threads_work():
    fresh("""
    from eager_core import thread_pool
    thread_pool._test_set_worth(1)
    paddle.set_num_threads(3)
    x = paddle.to_tensor(np.ones(2_000_000))

    def work():
        while True:
            x.tanh_()

    threading.Thread(target=work, daemon=True).start()
    import time
    time.sleep(0.3)
    """)


@needs_pool
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_an_interrupt_goes_to_the_main_thread():
    fresh("""
    import os, signal
    from eager_core import thread_pool
    thread_pool._test_set_worth(1)
    paddle.set_num_threads(3)
    x = paddle.to_tensor(np.ones(2_000_000))
    x.tanh_()
    signal.signal(signal.SIGINT, signal.default_int_handler)         # a parent may have had it ignored
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        while True:
            x.tanh_()
    except KeyboardInterrupt:
        pass
    assert float(paddle.to_tensor(np.ones(500_000)).sum()) == 500_000
    """)


@pytest.mark.parametrize("wrong", [2.0, "2", None, True, [1]])
def test_a_number_of_threads_is_an_integer(wrong):
    text = r"\(InvalidType\) set_num_threads\(\): the number of threads must be an int, but got " + type(wrong).__name__
    with pytest.raises(TypeError, match=text):
        paddle.set_num_threads(wrong)
    assert paddle.get_num_threads() == 3


@pytest.mark.parametrize("wrong", [0, -1, 1025, 2**70])
def test_a_number_of_threads_out_of_range(wrong):
    text = rf"\(InvalidArgument\) set_num_threads\(\): the number of threads must be 1 to 1024, but is {wrong}"
    with pytest.raises(ValueError, match=text):
        paddle.set_num_threads(wrong)
    assert paddle.get_num_threads() == 3


@needs_pool
@pytest.mark.parametrize(("variables", "expected"), [
    ({"OMP_NUM_THREADS": "3"}, 3), ({"OMP_NUM_THREADS": "5,2"}, 5), ({"OMP_NUM_THREADS": "3", "EAGER_NUM_THREADS": " 6 "}, 6),
    ({"OMP_NUM_THREADS": "many", "EAGER_NUM_THREADS": "4"}, 4), ({"OMP_NUM_THREADS": "0", "EAGER_NUM_THREADS": ""}, None),
    ({"OMP_NUM_THREADS": "2", "EAGER_NUM_THREADS": "none"}, 2),
])
def test_the_environment(variables, expected):
    """What is read at the first question, not at import."""
    fresh(f"""
    import os, warnings
    for name in ("OMP_NUM_THREADS", "EAGER_NUM_THREADS"):
        os.environ.pop(name, None)
    os.environ.update({variables})
    from eager_core import processors
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert paddle.get_num_threads() == ({expected} or processors.default_count()), paddle.get_num_threads()
    assert [str(w.message) for w in seen] == {["EAGER_NUM_THREADS=none is ignored: it must be a number from 1 to 1024"]
                                              if variables.get("EAGER_NUM_THREADS") == "none" else []}
    """)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no affinity")
def test_affinity_limits_the_default():
    fresh("""
    import os
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    for name in ("OMP_NUM_THREADS", "EAGER_NUM_THREADS"):
        os.environ.pop(name, None)
    assert paddle.get_num_threads() == 1
    """)


def test_cores_and_quotas(tmp_path):
    for number, siblings in enumerate(["0,2", "1,3", "0,2", "1,3"]):
        (tmp_path / f"cpu{number}" / "topology").mkdir(parents=True)
        (tmp_path / f"cpu{number}" / "topology" / "thread_siblings_list").write_text(siblings + "\n")
    assert processors.cores({0, 1, 2, 3}, tmp_path) == 2
    assert processors.cores({0, 2}, tmp_path) == 1
    assert processors.cores({0, 1, 7, 8}, tmp_path) == 4                # nothing is known of the last two
    assert processors.quota(tmp_path) == processors.MOST_BY_DEFAULT
    for text, count in (("max 100000", processors.MOST_BY_DEFAULT), ("150000 100000", 2), ("50000 100000", 1), ("300000 100000", 3)):
        (tmp_path / "cpu.max").write_text(text + "\n")
        assert processors.quota(tmp_path) == count
    (tmp_path / "cpu.max").unlink()
    (tmp_path / "cpu").mkdir()
    for quota, count in (("-1", processors.MOST_BY_DEFAULT), ("250000", 3)):
        (tmp_path / "cpu" / "cpu.cfs_quota_us").write_text(quota)
        (tmp_path / "cpu" / "cpu.cfs_period_us").write_text("100000")
        assert processors.quota(tmp_path) == count


@needs_pool
def test_threadpoolctl():
    threadpoolctl = pytest.importorskip("threadpoolctl", minversion="3.2")
    ours = [info for info in threadpoolctl.threadpool_info() if info["internal_api"] == "eager"]
    assert len(ours) == 1
    assert (ours[0]["num_threads"], ours[0]["user_api"]) == (3, "openmp")
    for limits in ({"limits": 1}, {"limits": 1, "user_api": "openmp"}):
        with threadpoolctl.threadpool_limits(**limits):
            before = asked()
            tensor(A).tanh()
            assert asked() == before
            assert paddle.get_num_threads() == 1
        assert paddle.get_num_threads() == 3
    with threadpoolctl.threadpool_limits(1, user_api="blas"):
        assert paddle.get_num_threads() == 3
