"""Text of tensors: S13. The expected strings were printed by PaddlePaddle 3.3.1."""
import numpy as np
import pytest

import python_api as paddle
from eager_core import printing

CASES = [
    (np.array([1.5,-2.0,3.25], "float64"), (
        "Tensor(shape=[3], dtype=float64, place=Place(cpu), stop_gradient=True,\n"
        "       [1.50000000, -2.       , 3.25000000])"
    )),
    (np.array([1.,2.], "float32"), (
        "Tensor(shape=[2], dtype=float32, place=Place(cpu), stop_gradient=True,\n"
        "       [1., 2.])"
    )),
    (np.array(1.5, "float32"), (
        "Tensor(shape=[], dtype=float32, place=Place(cpu), stop_gradient=True,\n"
        "       1.50000000)"
    )),
    (np.array(-7), (
        "Tensor(shape=[], dtype=int64, place=Place(cpu), stop_gradient=True,\n"
        "       -7)"
    )),
    (np.array(True), (
        "Tensor(shape=[], dtype=bool, place=Place(cpu), stop_gradient=True,\n"
        "       True)"
    )),
    (np.array([True,False]), (
        "Tensor(shape=[2], dtype=bool, place=Place(cpu), stop_gradient=True,\n"
        "       [True , False])"
    )),
    (np.array([[1,-20],[300,4]], "int32"), (
        "Tensor(shape=[2, 2], dtype=int32, place=Place(cpu), stop_gradient=True,\n"
        "       [[ 1 , -20],\n"
        "        [300,  4 ]])"
    )),
    (np.zeros((0,), "float32"), (
        "Tensor(shape=[0], dtype=float32, place=Place(cpu), stop_gradient=True,\n"
        "       [])"
    )),
    (np.zeros((2,0), "float32"), (
        "Tensor(shape=[2, 0], dtype=float32, place=Place(cpu), stop_gradient=True,\n"
        "       [[],\n"
        "        []])"
    )),
    (np.zeros((2,0,3), "int64"), (
        "Tensor(shape=[2, 0, 3], dtype=int64, place=Place(cpu), stop_gradient=True,\n"
        "       [[],\n"
        "\n"
        "        []])"
    )),
    (np.array([np.inf,-np.inf,np.nan,0.5], "float32"), (
        "Tensor(shape=[4], dtype=float32, place=Place(cpu), stop_gradient=True,\n"
        "       [ inf.     , -inf.     ,  nan      , 0.50000000])"
    )),
    (np.array([1+2j,-0.5-1j], "complex64"), (
        "Tensor(shape=[2], dtype=complex64, place=Place(cpu), stop_gradient=True,\n"
        "       [ (1.00000000+2.00000000j), (-0.50000000-1.00000000j)])"
    )),
    (np.array(1e-10, "float64"), (
        "Tensor(shape=[], dtype=float64, place=Place(cpu), stop_gradient=True,\n"
        "       0.00000000)"
    )),
    (np.array([1e10,0.1], "float64"), (
        "Tensor(shape=[2], dtype=float64, place=Place(cpu), stop_gradient=True,\n"
        "       [10000000000., 0.10000000  ])"
    )),
    (np.array([-0.0,0.0], "float32"), (
        "Tensor(shape=[2], dtype=float32, place=Place(cpu), stop_gradient=True,\n"
        "       [-0., 0. ])"
    )),
    (np.arange(24, dtype="float32").reshape(2,3,4), (
        "Tensor(shape=[2, 3, 4], dtype=float32, place=Place(cpu), stop_gradient=True,\n"
        "       [[[0. , 1. , 2. , 3. ],\n"
        "         [4. , 5. , 6. , 7. ],\n"
        "         [8. , 9. , 10., 11.]],\n"
        "\n"
        "        [[12., 13., 14., 15.],\n"
        "         [16., 17., 18., 19.],\n"
        "         [20., 21., 22., 23.]]])"
    )),
    (np.arange(1001), (
        "Tensor(shape=[1001], dtype=int64, place=Place(cpu), stop_gradient=True,\n"
        "       [0   , 1   , 2   , ..., 998 , 999 , 1000])"
    )),
    (np.arange(2000, dtype="float64").reshape(40,50), (
        "Tensor(shape=[40, 50], dtype=float64, place=Place(cpu), stop_gradient=True,\n"
        "       [[0.   , 1.   , 2.   , ..., 47.  , 48.  , 49.  ],\n"
        "        [50.  , 51.  , 52.  , ..., 97.  , 98.  , 99.  ],\n"
        "        [100. , 101. , 102. , ..., 147. , 148. , 149. ],\n"
        "        ...,\n"
        "        [1850., 1851., 1852., ..., 1897., 1898., 1899.],\n"
        "        [1900., 1901., 1902., ..., 1947., 1948., 1949.],\n"
        "        [1950., 1951., 1952., ..., 1997., 1998., 1999.]])"
    )),
    (np.arange(2400, dtype="float32").reshape(2,30,40)/8, (
        "Tensor(shape=[2, 30, 40], dtype=float32, place=Place(cpu), stop_gradient=True,\n"
        "       [[[0.          , 0.12500000  , 0.25000000  , ..., 4.62500000  ,\n"
        "          4.75000000  , 4.87500000  ],\n"
        "         [5.          , 5.12500000  , 5.25000000  , ..., 9.62500000  ,\n"
        "          9.75000000  , 9.87500000  ],\n"
        "         [10.         , 10.12500000 , 10.25000000 , ..., 14.62500000 ,\n"
        "          14.75000000 , 14.87500000 ],\n"
        "         ...,\n"
        "         [135.        , 135.12500000, 135.25000000, ..., 139.62500000,\n"
        "          139.75000000, 139.87500000],\n"
        "         [140.        , 140.12500000, 140.25000000, ..., 144.62500000,\n"
        "          144.75000000, 144.87500000],\n"
        "         [145.        , 145.12500000, 145.25000000, ..., 149.62500000,\n"
        "          149.75000000, 149.87500000]],\n"
        "\n"
        "        [[150.        , 150.12500000, 150.25000000, ..., 154.62500000,\n"
        "          154.75000000, 154.87500000],\n"
        "         [155.        , 155.12500000, 155.25000000, ..., 159.62500000,\n"
        "          159.75000000, 159.87500000],\n"
        "         [160.        , 160.12500000, 160.25000000, ..., 164.62500000,\n"
        "          164.75000000, 164.87500000],\n"
        "         ...,\n"
        "         [285.        , 285.12500000, 285.25000000, ..., 289.62500000,\n"
        "          289.75000000, 289.87500000],\n"
        "         [290.        , 290.12500000, 290.25000000, ..., 294.62500000,\n"
        "          294.75000000, 294.87500000],\n"
        "         [295.        , 295.12500000, 295.25000000, ..., 299.62500000,\n"
        "          299.75000000, 299.87500000]]])"
    )),
    (np.arange(20, dtype="float32")/8, (
        "Tensor(shape=[20], dtype=float32, place=Place(cpu), stop_gradient=True,\n"
        "       [0.        , 0.12500000, 0.25000000, 0.37500000, 0.50000000, 0.62500000,\n"
        "        0.75000000, 0.87500000, 1.        , 1.12500000, 1.25000000, 1.37500000,\n"
        "        1.50000000, 1.62500000, 1.75000000, 1.87500000, 2.        , 2.12500000,\n"
        "        2.25000000, 2.37500000])"
    )),
    (np.array([1.,2.,3.,1234.5,5.,6.,7.], "float32"), (
        "Tensor(shape=[7], dtype=float32, place=Place(cpu), stop_gradient=True,\n"
        "       [1., 2., 3., 1234.50000000, 5., 6., 7.])"
    )),
    (np.array([200,3], "uint8"), (
        "Tensor(shape=[2], dtype=uint8, place=Place(cpu), stop_gradient=True,\n"
        "       [200, 3  ])"
    )),
]


@pytest.fixture(autouse=True)
def options_as_before():
    before = printing.get_printoptions()
    yield
    paddle.set_printoptions(**before._asdict())


@pytest.mark.parametrize(("value", "text"), CASES, ids=lambda case: f"{case.dtype}{case.shape}" if isinstance(case, np.ndarray) else "")
def test_text_is_the_reference_text(value, text):
    """S13.1, S13.2."""
    t = paddle.to_tensor(value)
    assert repr(t) == text
    assert str(t) == text


def test_stop_gradient_shows():
    """S13.1."""
    t = paddle.to_tensor(np.array([1.0, 2.0]), stop_gradient=False)
    assert repr(t) == "Tensor(shape=[2], dtype=float64, place=Place(cpu), stop_gradient=False,\n       [1., 2.])"


def test_threshold_is_exclusive():
    """S13.2: 1000 elements are printed, 1001 are summarised."""
    assert "..." not in repr(paddle.zeros([1000]))
    assert "..." in repr(paddle.zeros([1001]))


def test_sci_mode_and_precision():
    """S13.2."""
    paddle.set_printoptions(precision=2, sci_mode=True)
    assert repr(paddle.to_tensor(np.array([1234.5, -0.001]))) == (
        "Tensor(shape=[2], dtype=float64, place=Place(cpu), stop_gradient=True,\n"
        "       [ 1.23e+03, -1.00e-03])"
    )


def test_threshold_and_edgeitems():
    """S13.2."""
    paddle.set_printoptions(threshold=4, edgeitems=1)
    assert repr(paddle.to_tensor(np.arange(9.0).reshape(3, 3))) == (
        "Tensor(shape=[3, 3], dtype=float64, place=Place(cpu), stop_gradient=True,\n"
        "       [[0., ..., 2.],\n"
        "        ...,\n"
        "        [6., ..., 8.]])"
    )


def test_linewidth_and_precision():
    """S13.2."""
    paddle.set_printoptions(linewidth=24, precision=3)
    assert repr(paddle.to_tensor(np.arange(6.0) / 4)) == (
        "Tensor(shape=[6], dtype=float64, place=Place(cpu), stop_gradient=True,\n"
        "       [0.   , 0.250,\n"
        "        0.500, 0.750,\n"
        "        1.   , 1.250])"
    )


@pytest.mark.parametrize(("name", "value", "error"), [
    ("precision", "8", TypeError), ("precision", True, TypeError), ("precision", -1, ValueError), ("threshold", 1.5, TypeError),
    ("edgeitems", -3, ValueError), ("linewidth", None, None), ("sci_mode", 1, TypeError),
])
def test_options_are_checked(name, value, error):
    before = printing.get_printoptions()
    if error is None:
        paddle.set_printoptions(**{name: value})
    else:
        with pytest.raises(error, match=rf"^\(Invalid\w+\) set_printoptions\(\): {name} must"):
            paddle.set_printoptions(**{name: value})
    assert printing.get_printoptions() == before


def test_complex_numbers_carry_their_own_sign():
    """Where the reference writes "+-0.00000000j" and "1.00000000nanj"."""
    text = repr(paddle.to_tensor(np.array([complex(1.0, -0.0), complex(1.0, np.nan)])))
    assert "(1.00000000-0.00000000j)" in text
    assert "(1.00000000+nanj)" in text


@pytest.mark.parametrize(("value", "spec", "text"), [
    (1.5, ".2f", "1.50"), ([1.5], ".2f", "1.50"), ([[2.0]], "8.3e", "2.000e+00"), (3, "d", "3"), (1.5, "", "1.5"), (True, "", "True"),
])
def test_format_of_one_element(value, spec, text):
    """S13.2."""
    assert format(paddle.to_tensor(value), spec) == text


def test_format_of_more_elements():
    """S13.2."""
    t = paddle.to_tensor([1.5, 2.0])
    assert format(t) == str(t)
    with pytest.raises(TypeError, match="2 elements"):
        format(t, ".2f")


@pytest.mark.parametrize("mode", [True, False])
def test_printing_changes_nothing(mode):
    """S13.3."""
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    y = x * 2.0
    node, version = y.grad_fn, y.inplace_version
    with paddle.set_grad_enabled(mode):
        text = repr(y)
        assert repr(y) == text
        assert paddle.is_grad_enabled() is mode
    assert (y.grad_fn, y.inplace_version) == (node, version)
    assert y.grad is None
    assert x.is_leaf
