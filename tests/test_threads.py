"""Threads that change, at any moment, what another thread works with. The numbers are those of either order; the process lives (S9.23)."""
from test_lifetime import in_fresh_process

RACE = """
    import sys, time
    sys.setswitchinterval(1e-6)

    def race(*works, seconds=3.0):
        # Each work is called again and again; what it raises is refused in good order and of no interest here.
        stop, failures = threading.Event(), []

        def run(work):
            while not stop.is_set():
                try:
                    work()
                except (RuntimeError, ValueError) as error:
                    if "(" not in str(error):
                        failures.append(error)
                except BaseException as error:
                    failures.append(error)

        threads = [threading.Thread(target=run, args=(work,)) for work in works]
        for t in threads:
            t.start()
        time.sleep(seconds)
        stop.set()
        for t in threads:
            t.join()
        assert not failures, failures[:3]

    def numbers(n, grad=False):
        return paddle.to_tensor(np.linspace(0.1, 0.9, n), stop_gradient=not grad)

"""


def test_a_gradient_dropped_while_another_thread_adds_to_it():
    in_fresh_process(RACE + """
    x = numbers(3000, grad=True)
    z = (x * 2.0).sum()
    w = numbers(3000, grad=True)
    parts = w[10:20].sum() + w[15:2500].sum()

    def drop():
        x.clear_grad()
        x.grad = None
        w.grad = None

    race(lambda: z.backward(retain_graph=True), lambda: parts.backward(retain_graph=True), drop)
    x.grad = w.grad = None
    z.backward(retain_graph=True)
    parts.backward()
    assert x.grad.tolist() == [2.0] * 3000
    assert w.grad[9:21].tolist() == [0.0] + [1.0] * 5 + [2.0] * 5 + [1.0]
    print("end")
    """)


def test_a_root_written_while_another_thread_seeds_the_root_before_it():
    in_fresh_process(RACE + """
    x = numbers(2, grad=True)
    first, second = numbers(500_000, grad=True) * 1.0, x * 3.0
    race(lambda: paddle.autograd.backward([first, second], retain_graph=True), lambda: second.add_(1.0))
    x.grad = None
    paddle.autograd.backward([first, second])
    assert x.grad.tolist() == [3.0, 3.0]
    print("end")
    """)


def test_memory_rebound_while_another_thread_works_in_it():
    in_fresh_process(RACE + """
    from eager_core import allocator
    allocator.set_cache_limit(0)         # memory that nobody holds is gone at once
    n = 1_000_000
    x, narrow = numbers(n, grad=True), numbers(n).astype("float32")
    now = {"y": x * 1.0}

    def write():
        y = now["y"]
        y.sin_()
        y[1:] = narrow[1:]
        y.add_(narrow)
        y[:-1].tanh_()
        now["y"] = x * 1.0
        y.sum().backward()

    def rebind():
        y = now["y"]
        y.data = now.pop("spare", None) or y.detach().clone()
        now["spare"] = y.detach().clone()

    race(write, rebind, rebind, seconds=6.0)
    print("end")
    """)


def test_gradients_and_seeds_rebound_while_a_pass_adds_them():
    """The engine's own additions run without the GIL too: into a .grad, and of regions that a seed was given for."""
    in_fresh_process(RACE + """
    from eager_core import allocator
    allocator.set_cache_limit(0)         # memory that nobody holds is gone at once
    n = 2_000_000
    x, seed = numbers(n, grad=True), numbers(n)
    x.sum().backward()

    def add():
        x.backward(seed)

    def regions():
        u = x * 1.0
        rows = u.reshape([2, n // 2])
        rows[0] = 1.0
        rows.backward(seed.reshape([2, n // 2]))

    def rebind():
        for t in (seed, x.grad):
            t.data = numbers(n)

    race(add, regions, rebind, rebind, seconds=6.0)
    print("end")
    """)


def test_a_shape_changed_while_another_thread_plans_with_it():
    """An operand of another dtype is converted first; strides of the new shape over the old one would lead out of the memory."""
    in_fresh_process(RACE + """
    y = numbers(200_000).reshape([2, 100_000]).clone()
    narrow = numbers(200_000).reshape([2, 100_000]).astype("float32")
    race(lambda: y.add_(narrow), lambda: y + narrow, lambda: y.transpose_([1, 0]))
    print("end")
    """)
