"""Creation functions: default dtypes, shapes, values, refusals, random numbers. S0.2, S3.8, S4.2, S11.3."""
import threading

import numpy as np
import pytest

import python_api as paddle


@pytest.fixture(autouse=True)
def default_dtype_as_before():
    yield
    paddle.set_default_dtype("float32")


def check(tensor, values, dtype):
    """The tensor has these values and this dtype, exactly, and is a fresh constant."""
    assert tensor.dtype == np.dtype(dtype)
    assert tensor.stop_gradient
    assert tensor.is_leaf
    assert tensor.inplace_version == 0
    np.testing.assert_array_equal(tensor.numpy(), np.asarray(values, dtype=dtype), strict=True)


# ---- to_tensor ----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("data", "dtype"), [
    (1, "int64"), (1.5, "float32"), (True, "bool"), (1 + 2j, "complex64"),
    ([1, 2.5], "float32"), ([True, 2], "int64"), ([True, 1.5], "float32"), ([1, 2j], "complex64"), ([[1, 2], [3, 4]], "int64"),
    ([], "float32"), ([[], []], "float32"), ((), "float32"), (2**40, "int64"), (-(2**63), "int64"), (range(3), "int64"),
    (np.float64(1.5), "float64"), (np.float32(1.5), "float32"), (np.int8(1), "int8"), (np.bool_(True), "bool"),
    (np.array([1.5, 2.0]), "float64"), (np.array([1], "uint16"), "uint16"), (np.array(1.5, "complex128"), "complex128"),
    ([np.float64(1.5)], "float32"), ([np.array([1.0, 2.0])], "float32"), ([np.int8(1)], "int8"),
])
def test_default_dtypes(data, dtype):
    check(paddle.to_tensor(data), data, dtype)
    check(paddle.Tensor(data), data, dtype)


@pytest.mark.parametrize(("data", "dtype"), [
    (1.5, "float64"), ([1.5], "float64"), ([1j], "complex128"), (1, "int64"), (np.float32(1), "float32"),
    (np.array([1], "float32"), "float32"),
])
def test_default_dtypes_when_the_default_is_float64(data, dtype):
    paddle.set_default_dtype("float64")
    assert paddle.get_default_dtype() == "float64"
    assert paddle.get_default_dtype() == paddle.float64
    check(paddle.to_tensor(data), data, dtype)
    check(paddle.Tensor(data), data, dtype)
    assert paddle.zeros([1]).dtype == paddle.float64
    assert paddle.rand([1]).dtype == paddle.float64


@pytest.mark.parametrize("dtype", ["int32", "float16", "complex64", "bool", 3, None, object()])
def test_default_dtype_is_a_float(dtype):
    with pytest.raises(TypeError, match="only supports"):
        paddle.set_default_dtype(dtype)
    assert paddle.get_default_dtype() == "float32"


@pytest.mark.parametrize("dtype", ["bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float32",
                                   "float64", "complex64", "complex128"])
def test_every_dtype_by_every_name(dtype):
    assert getattr(paddle, dtype) == np.dtype(dtype)
    for spec in (dtype, np.dtype(dtype), np.dtype(dtype).type, getattr(paddle, dtype)):
        check(paddle.to_tensor([0, 1], dtype=spec), [0, 1], dtype)
    check(paddle.to_tensor(np.array([0, 1], dtype)), [0, 1], dtype)


@pytest.mark.parametrize(("data", "dtype", "values"), [
    ([1.7, -2.2], "int64", [1, -2]), ([1.5, 0.0], "bool", [True, False]), ([1, 2], "complex64", [1, 2]), (1e300, "float32", np.inf),
    (2**63, "uint64", 2**63), ([2**64 - 1, 0], "uint64", [2**64 - 1, 0]), (np.array([300]), "uint8", [44]),
    (np.array([1.5], "float16"), "float32", [1.5]), (np.array([1.5], ">f8"), None, [1.5]), (10**20, "float64", 1e20),
])
def test_conversion(data, dtype, values):
    check(paddle.to_tensor(data, dtype=dtype), values, dtype or "float64")


@pytest.mark.parametrize(("data", "dtype", "error", "text"), [
    ([[1, 2], [3]], None, ValueError, "ragged"),
    ([[1], 2], None, ValueError, "ragged"),
    ("abc", None, TypeError, "str"),
    (["a", 1], None, TypeError, "a list that contains str"),
    (b"ab", None, TypeError, "bytes"),
    (None, None, TypeError, "NoneType"),
    ([1.0, None], None, TypeError, "NoneType"),
    ({1: 2}, None, TypeError, "dict"),
    ({1, 2}, None, TypeError, "set"),
    (object(), None, TypeError, "object"),
    (np.array(["a"]), None, TypeError, "<U1"),
    (np.array(["1.5"]), "float32", TypeError, "<U3"),
    (np.array([1, None]), None, TypeError, "object"),
    (np.array([1.5], "float16"), None, TypeError, r"float16 is not supported\. Supported: bool, uint8.*complex128"),
    (np.datetime64("2020-01-01"), None, TypeError, "datetime64"),
    ([1], "float16", TypeError, r"float16 is not supported\. Supported: bool"),
    ([1], "foo", TypeError, "foo is not supported"),
    ([1], 3, TypeError, "3 is not supported"),
    (2**63, None, ValueError, "does not fit int64"),
    ([2**63, -1], None, ValueError, "does not fit int64"),
    (10**400, "float64", ValueError, "does not fit float64"),
    (300, "uint8", ValueError, "does not fit uint8"),
    ([-1], "uint64", ValueError, "does not fit uint64"),
    ([1 + 2j], "float32", TypeError, "imaginary"),
    (np.array([1j]), "int64", TypeError, "imaginary"),
])
def test_refused_data(data, dtype, error, text):
    with pytest.raises(error, match=rf"^\(Invalid(Argument|Type)\) to_tensor\(\): .*{text}"):
        paddle.to_tensor(data, dtype=dtype)


def test_a_list_in_itself_is_refused():
    data = []
    data.append(data)
    with pytest.raises(ValueError, match="nested"):
        paddle.to_tensor(data)


def test_flags():
    """S3.8."""
    assert not paddle.to_tensor([1.0], stop_gradient=False).stop_gradient
    with pytest.raises(ValueError):
        paddle.to_tensor([1], stop_gradient=False)
    with pytest.raises(TypeError, match="stop_gradient must be bool, but got int"):
        paddle.to_tensor([1.0], stop_gradient=0)


@pytest.mark.parametrize(("place", "error"), [("gpu", ValueError), ("gpu:0", ValueError), (3, TypeError)])
def test_places(place, error):
    assert str(paddle.to_tensor(1, place="cpu").place) == "Place(cpu)"
    assert paddle.to_tensor(1, place=paddle.CPUPlace()).place == paddle.CPUPlace()
    with pytest.raises(error, match="place"):
        paddle.to_tensor(1, place=place)


def test_the_array_is_copied():
    """S11.3."""
    array = np.array([1.0, 2.0])
    t = paddle.to_tensor(array)
    array[:] = 9.0
    check(t, [1.0, 2.0], "float64")


@pytest.mark.parametrize("array", [np.arange(6.0).reshape(2, 3).T, np.arange(6.0)[::-2], np.asfortranarray(np.eye(3)),
                                   np.broadcast_to(1.0, (2, 2))], ids=["T", "step", "fortran", "broadcast"])
def test_any_memory_layout(array):
    check(paddle.to_tensor(array), array, "float64")


def test_a_tensor_is_copied():
    """S4.2: new storage, version 0, a constant."""
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    y = paddle.to_tensor(x)
    check(y, [1.0, 2.0], "float32")
    with paddle.no_grad():
        x.add_(x)
    check(y, [1.0, 2.0], "float32")
    check(paddle.to_tensor(x, dtype="int32"), [2, 4], "int32")


@pytest.mark.parametrize(("make", "values", "dtype"), [
    (lambda t: [t(1.0), t(2.0)], [1, 2], "float32"),
    (lambda t: [t([1.0, 2.0]), t([3.0, 4.0])], [[1, 2], [3, 4]], "float32"),
    (lambda t: [[t(1.0), 2.0], [3.0, 4]], [[1, 2], [3, 4]], "float32"),
    (lambda t: [t(np.float64(1.0)), 2.0], [1, 2], "float64"),
    (lambda t: [t(1), t(2)], [1, 2], "int64"),
    (lambda t: [t(1), 2.5], [1, 2.5], "float32"),
    (lambda t: (t(True), 2), [1, 2], "int64"),
    (lambda t: [t(1.0), 2j], [1, 2j], "complex64"),
    (lambda t: [t(np.float64(1.0)), 2j], [1, 2j], "complex128"),
])
def test_lists_with_tensors(make, values, dtype):
    check(paddle.to_tensor(make(paddle.to_tensor)), values, dtype)


def test_lists_with_tensors_that_do_not_fit():
    with pytest.raises(ValueError, match="ragged"):
        paddle.to_tensor([paddle.to_tensor([1.0, 2.0]), paddle.to_tensor(1.0)])


# ---- filled and spaced --------------------------------------------------------------------------------------------------

SHAPES = [
    (3, (3,)), ([], ()), ((), ()), ([0, 2], (0, 2)), ([2, np.int64(3)], (2, 3)), (np.array([2, 3]), (2, 3)), (np.int32(4), (4,)),
]


@pytest.mark.parametrize(("given", "lengths"), SHAPES)
def test_shapes(given, lengths):
    check(paddle.zeros(given), np.zeros(lengths), "float32")
    check(paddle.ones(given, "int32"), np.ones(lengths), "int32")
    check(paddle.full(given, 2.5), np.full(lengths, 2.5), "float32")
    assert paddle.empty(given, dtype="bool").shape == list(lengths)
    assert paddle.rand(given).shape == paddle.randn(given).shape == paddle.uniform(given).shape == list(lengths)


def test_shapes_from_tensors():
    two = paddle.to_tensor(2)
    assert paddle.zeros(two).shape == [2]
    assert paddle.zeros([3, two]).shape == [3, 2]
    assert paddle.zeros(paddle.to_tensor([3, 2])).shape == [3, 2]
    assert paddle.zeros(paddle.to_tensor([1], dtype="uint8")).shape == [1]


@pytest.mark.parametrize("function", [paddle.zeros, paddle.ones, paddle.empty, paddle.rand, paddle.randn, paddle.uniform,
                                      lambda shape: paddle.full(shape, 1), lambda shape: paddle.randint(3, shape=shape)])
@pytest.mark.parametrize(("shape", "error"), [
    ([2.0], TypeError), ("a", TypeError), ([True], TypeError), (None, TypeError), (np.array([2.0]), TypeError), ([[1]], TypeError),
    ([2, -1], ValueError), (-1, ValueError),
])
def test_refused_shapes(function, shape, error):
    with pytest.raises(error, match=r"\(\): .*shape"):
        function(shape)


@pytest.mark.parametrize(("value", "dtype", "result"), [
    (1, None, "float32"), (1.5, None, "float32"), (True, None, "bool"), (1j, None, "complex64"), (3, "int8", "int8"),
    (np.float64(3.5), None, "float32"), (np.inf, None, "float32"),
])
def test_full(value, dtype, result):
    check(paddle.full([2], value, dtype), [value, value], result)
    check(paddle.full([2], paddle.to_tensor([value]), dtype), [value, value], result)


def test_full_cuts_towards_zero():
    check(paddle.full([2], -3.7, "int32"), [-3, -3], "int32")


@pytest.mark.parametrize(("value", "dtype", "error"), [
    ("3", None, TypeError), (None, None, TypeError), (1j, "float32", TypeError), (300, "uint8", ValueError), (np.nan, "int64", ValueError),
    (1e20, "int32", ValueError),
    (-1, "uint64", ValueError),
    (np.array([1, 2]), None, ValueError), ([1], None, TypeError),
])
def test_full_refuses(value, dtype, error):
    with pytest.raises(error):
        paddle.full([2], value, dtype)


@pytest.mark.parametrize(("arguments", "values", "dtype"), [
    ((3,), [0, 1, 2], "int64"), ((3.0,), [0, 1, 2], "float32"), ((1, 3.5), [1, 2, 3], "float32"), ((1, 10, 3), [1, 4, 7], "int64"),
    ((10, 1, -3), [10, 7, 4], "int64"), ((5, 1), [], "int64"), ((-1,), [], "int64"), ((True,), [0], "int64"),
    ((np.float64(2),), [0, 1], "float32"), ((0, 3, 1, "uint8"), [0, 1, 2], "uint8"), ((0, 3, 1, "float64"), [0, 1, 2], "float64"),
    ((0.5, 3.2, 0.7, "int64"), [0, 1, 1, 2], "int64"), ((2**53, 2**53 + 3), [2**53, 2**53 + 1, 2**53 + 2], "int64"),
])
def test_arange(arguments, values, dtype):
    check(paddle.arange(*arguments), values, dtype)


def test_arange_of_tensors_and_floats():
    check(paddle.arange(paddle.to_tensor(1), paddle.to_tensor([4])), [1, 2, 3], "int64")
    check(paddle.arange(paddle.to_tensor(1.0), 3), [1, 2], "float32")
    check(paddle.arange(0.0, 1.0, 0.1), np.arange(10) * 0.1, "float32")


@pytest.mark.parametrize(("arguments", "error"), [
    ((5, 1, 0), ValueError), ((0, np.inf), ValueError), ((0, np.nan), ValueError), ((0, 3, 1, "bool"), TypeError),
    ((0, 3, 1, "complex64"), TypeError), (("a",), TypeError), ((1j,), TypeError), (([1, 2],), TypeError),
])
def test_arange_refuses(arguments, error):
    with pytest.raises(error, match=r"arange\(\)"):
        paddle.arange(*arguments)


@pytest.mark.parametrize(("arguments", "values", "dtype"), [
    ((0, 10, 5), [0, 2.5, 5, 7.5, 10], "float32"), ((0, 10, 1), [0], "float32"), ((0, 10, 0), [], "float32"),
    ((0, 9, 5, "int32"), [0, 2, 4, 6, 9], "int32"), ((-3, 3, 5, "int64"), [-3, -1, 0, 1, 3], "int64"),
    ((1, 0, 3, "float64"), [1, 0.5, 0], "float64"),
])
def test_linspace(arguments, values, dtype):
    check(paddle.linspace(*arguments), values, dtype)


def test_linspace_of_tensors():
    t = paddle.to_tensor
    check(paddle.linspace(t(0.0), t([10.0]), t(3)), [0, 5, 10], "float32")


@pytest.mark.parametrize(("arguments", "error"), [
    ((0, 1, 2.5), TypeError), ((0, 1, -1), ValueError), ((0, 1j, 3), TypeError), ((0, 1, 3, "complex64"), TypeError),
])
def test_linspace_refuses(arguments, error):
    with pytest.raises(error, match=r"linspace\(\)"):
        paddle.linspace(*arguments)


@pytest.mark.parametrize(("arguments", "values", "dtype"), [
    ((0, 3, 4), [1, 10, 100, 1000], "float32"), ((-1, 1, 3, 2.0), [0.5, 1, 2], "float32"), ((0, 4, 3, 2, "int64"), [1, 4, 16], "int64"),
    ((2, 0, 0), [], "float32"),
])
def test_logspace(arguments, values, dtype):
    check(paddle.logspace(*arguments), values, dtype)
    with pytest.raises(TypeError, match=r"logspace\(\)"):
        paddle.logspace(0, 1, 2.5)


def test_questions_about_a_tensor():
    check(paddle.is_empty(paddle.zeros([0, 2])), True, "bool")
    check(paddle.is_empty(paddle.zeros([])), False, "bool")
    assert paddle.tolist(paddle.to_tensor([[1, 2]])) == [[1, 2]]
    for function in (paddle.is_empty, paddle.tolist):
        with pytest.raises(TypeError, match="must be Tensor"):
            function([1.0])


def test_eye():
    check(paddle.eye(2), np.eye(2), "float32")
    check(paddle.eye(2, 3, dtype="int32"), np.eye(2, 3), "int32")
    check(paddle.eye(paddle.to_tensor(2), 0), np.zeros((2, 0)), "float32")
    with pytest.raises(ValueError, match="num_rows must not be negative"):
        paddle.eye(-1)
    with pytest.raises(TypeError, match="num_columns must be int"):
        paddle.eye(2, 2.0)


@pytest.mark.parametrize("dtype", ["bool", "int8", "float32", "float64", "complex64"])
def test_like(dtype):
    x = paddle.to_tensor(np.ones((2, 3), dtype), stop_gradient=np.dtype(dtype).kind not in "fc")
    check(paddle.zeros_like(x), np.zeros((2, 3)), dtype)
    check(paddle.ones_like(x), np.ones((2, 3)), dtype)
    check(paddle.full_like(x, 1), np.ones((2, 3)), dtype)
    check(paddle.zeros_like(x, dtype="int32"), np.zeros((2, 3)), "int32")
    assert (paddle.empty_like(x).shape, paddle.empty_like(x).dtype) == ([2, 3], np.dtype(dtype))
    assert (paddle.randint_like(x, 2).shape, paddle.randint_like(x, 2).dtype) == ([2, 3], np.dtype(dtype))
    for function in (paddle.zeros_like, paddle.ones_like, paddle.empty_like):
        with pytest.raises(TypeError, match="must be Tensor, but got list"):
            function([1, 2])


def test_small_ones():
    x = paddle.to_tensor([[1.0, 2.0, 3.0]])
    check(paddle.numel(x), 3, "int64")
    check(paddle.shape(x), [1, 3], "int64")
    assert paddle.is_tensor(x)
    assert not paddle.is_tensor(x.numpy())
    assert paddle.in_dynamic_mode() is True


def test_assign_and_clone():
    """S4.2, S4.6, S11.1."""
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    for y in (paddle.assign(x), paddle.clone(x)):
        assert not y.stop_gradient
        assert not y.is_leaf
        assert y.inplace_version == 0
    check(paddle.assign(np.array([1.0])), [1.0], "float64")
    check(paddle.assign([1.0]), [1.0], "float32")
    out = paddle.zeros([2])
    assert paddle.assign([3.0, 4.0], out) is out
    assert out.inplace_version == 1
    np.testing.assert_array_equal(out.numpy(), [3.0, 4.0])
    with pytest.raises(ValueError, match="Leaf Var"):
        paddle.assign([3.0, 4.0], x)
    with pytest.raises(TypeError, match="output"):
        paddle.assign(x, [0.0])


def test_eager_guard_changes_nothing():
    """Design 1."""
    with paddle._test_eager_guard():
        assert paddle.is_grad_enabled()
        assert paddle.get_default_dtype() == "float32"


# ---- random -------------------------------------------------------------------------------------------------------------

DRAWS = [
    lambda: paddle.rand([50]), lambda: paddle.randn([50]), lambda: paddle.randint(0, 10**9, [50]),
    lambda: paddle.uniform([50], min=-3, max=5),
    lambda: paddle.normal(2.0, 3.0, [50]), lambda: paddle.randperm(50), lambda: paddle.randn([50], "complex128"),
]


@pytest.mark.parametrize("draw", DRAWS)
def test_a_seed_repeats(draw):
    paddle.seed(7)
    first, second = draw().numpy(), draw().numpy()
    paddle.seed(7)
    np.testing.assert_array_equal(draw().numpy(), first)
    np.testing.assert_array_equal(draw().numpy(), second)
    assert (first != second).any()


@pytest.mark.parametrize(("value", "error"), [("a", TypeError), (3.5, TypeError), (-1, ValueError), (None, TypeError)])
def test_refused_seeds(value, error):
    with pytest.raises(error, match="seed"):
        paddle.seed(value)


def test_a_seed_of_its_own_leaves_the_common_generator_alone():
    paddle.seed(3)
    want = paddle.rand([4]).numpy()
    paddle.seed(3)
    own = paddle.uniform([4], seed=11).numpy()
    np.testing.assert_array_equal(paddle.uniform([4], seed=11).numpy(), own)
    np.testing.assert_array_equal(paddle.rand([4]).numpy(), want)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_moments(dtype):
    """Means and variances within five standard errors of the formulas."""
    paddle.seed(1)
    n = 100_000
    for values, mean, variance in (
        (paddle.rand([n], dtype), 0.5, 1 / 12),
        (paddle.uniform([n], dtype, min=-2.0, max=4.0), 1.0, 3.0),
        (paddle.randn([n], dtype), 0.0, 1.0),
        (paddle.randint(0, 4, [n]), 1.5, 1.25),
    ):
        a = values.numpy().astype("float64")
        assert abs(a.mean() - mean) < 5 * np.sqrt(variance / n)
        assert abs(a.var() - variance) < 0.03 * variance
    z = paddle.randn([n], "complex64").numpy()
    assert abs((abs(z) ** 2).mean() - 1.0) < 0.03


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("low", "high"), [(0, 1), (-1, 1), (1, 1 + 2**-22), (16777215, 16777216), (-3e38, 3e38), (2, 2)])
def test_uniform_stays_in_its_interval(dtype, low, high):
    a = paddle.uniform([20000], dtype, min=low, max=high).numpy()
    assert np.isfinite(a).all()
    assert (a >= np.dtype(dtype).type(low)).all()
    assert (a < np.dtype(dtype).type(high)).all() or low == high


def test_normal_of_tensors():
    mean = paddle.to_tensor(np.array([0.0, 1000.0]), stop_gradient=False)
    out = paddle.normal(mean, paddle.to_tensor(np.zeros((3, 1))))
    assert out.dtype == paddle.float64
    np.testing.assert_array_equal(out.numpy(), np.broadcast_to([0.0, 1000.0], (3, 2)))
    out.sum().backward()
    np.testing.assert_array_equal(mean.grad.numpy(), [3.0, 3.0])


@pytest.mark.parametrize(("call", "error"), [
    (lambda: paddle.randint(0), ValueError), (lambda: paddle.randint(5, 5), ValueError),
    (lambda: paddle.randint(0, 300, dtype="uint8"), ValueError),
    (lambda: paddle.randint(0.5, 3), TypeError), (lambda: paddle.randint(0, 5, [2], "float32"), TypeError),
    (lambda: paddle.uniform([2], min=3, max=2), ValueError), (lambda: paddle.uniform([2], min=np.nan), ValueError),
    (lambda: paddle.uniform([2], "int64"), TypeError), (lambda: paddle.rand([2], "complex64"), TypeError),
    (lambda: paddle.randn([2], "int64"), TypeError), (lambda: paddle.normal(), ValueError),
    (lambda: paddle.normal(0.0, -1.0, [2]), ValueError),
    (lambda: paddle.normal(paddle.zeros([2]), 1.0, [3]), ValueError),
    (lambda: paddle.normal(paddle.zeros([2]), paddle.zeros([3])), ValueError),
    (lambda: paddle.normal(paddle.to_tensor([1])), TypeError), (lambda: paddle.randperm(-1), ValueError),
    (lambda: paddle.randperm(2.0), TypeError), (lambda: paddle.randperm(2, "bool"), TypeError),
])
def test_random_refuses(call, error):
    with pytest.raises(error, match=r"^\(Invalid(Argument|Type)\)"):
        call()


def test_randint_covers_its_interval():
    assert set(paddle.randint(-2, 2, [1000]).tolist()) == {-2, -1, 0, 1}
    assert set(paddle.randint(2, shape=[1000]).tolist()) == {0, 1}
    assert paddle.randint(5).shape == [1]
    assert paddle.randint(0, 256, [3], "uint8").dtype == paddle.uint8
    assert sorted(paddle.randperm(10).tolist()) == list(range(10))
    assert paddle.randperm(3, "float32").dtype == paddle.float32


def test_threads_share_one_sequence():
    """The numbers of all threads together are those that one thread would have drawn."""
    paddle.seed(5)
    want = {float(v) for _ in range(400) for v in paddle.rand([3], "float64").numpy()}
    paddle.seed(5)
    drawn: list[list[float]] = [[] for _ in range(4)]

    def work(mine):
        for _ in range(100):
            mine.extend(paddle.rand([3], "float64").tolist())

    threads = [threading.Thread(target=work, args=(mine,)) for mine in drawn]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {v for mine in drawn for v in mine} == want


@pytest.mark.parametrize("make", [
    lambda t: paddle.full([2], t), lambda t: paddle.full_like(paddle.ones([2]), t), lambda t: paddle.linspace(t, 2.0, 2),
    lambda t: paddle.arange(t), lambda t: paddle.uniform([2], min=t, max=9.0),
])
def test_a_tensor_that_requires_grad_is_no_number(make):
    """What is made is a constant: the gradient would be lost in silence."""
    t = paddle.to_tensor(1.5, stop_gradient=False)
    with pytest.raises(ValueError, match="gets no gradient, but the tensor given requires grad"):
        make(t)
    assert make(t.detach()).shape == [2]
    with paddle.no_grad():
        assert make(t).shape == [2]


def test_a_shape_in_several_arguments_is_explained():
    with pytest.raises(TypeError, match="a shape is one argument"):
        paddle.zeros(3, 4)


def test_numbers_under_the_names_of_the_reference():
    assert (paddle.pi, paddle.e, paddle.inf) == (np.pi, np.e, np.inf)
    assert np.isnan(paddle.nan)
    assert paddle.ones([3])[:, paddle.newaxis].shape == [3, 1]
