"""The operator table: one row per operator, and nothing else that repeats per operator.

name        public name; the in-place form, if there is one, has an underscore behind it
family      which rule lays out the result and chooses the kernel (``rules_*.pyx``)
signature   ``name: kind = default @ name in the entry point's attribute list``; tensors first
lowlevel    name of the python-c entry point and of its inputs and results, as in the reference
kernel      a NumPy ufunc, ``own:`` one of kernels.h, ``view:`` / ``set:`` a variant of the family, or a function of ``array_ops``
dtypes      rule for the result's dtype
grad        formula per input, in terms of inputs, ``out``, ``grad`` (of the result) and attributes. What backward must save follows from the
            formula. ``helpers.f(...)`` is a Python function of ``gradient_helpers``; a bare name is a function of ``native_gradients.pyx``,
            with ``saves`` listed.
Gradients of complex operators follow the convention of the references (S9.27): grad * conj(derivative).
"""
from __future__ import annotations

from .model import Op

NAME = ", name: ignored = None"
UNARY = "x: tensor" + NAME
BINARY = "x: operand, y: operand" + NAME
REDUCE = "x: tensor, axis: axes = None @ dim, keepdim: bool = False @ keep_dim, dtype: dtype = None @ out_dtype" + NAME
REDUCE_PLAIN = "x: tensor, axis: axes = None @ dim, keepdim: bool = False @ keep_dim" + NAME


def unary(name: str, kernel: str, doc: str, formula: str, grad: dict[str, str] | None = None, dtypes: str = "float", **more: object) -> Op:
    return Op(name, "unary", UNARY, doc, kernel=kernel, dtypes=dtypes, inplace=more.pop("inplace", True), grad=grad,  # type: ignore[arg-type]
              formula=formula, **more)  # type: ignore[arg-type]


def binary(name: str, kernel: str, doc: str, formula: str, grad: dict[str, str] | None = None, dtypes: str = "same", lowlevel: str = "",
           inplace: bool = True) -> Op:
    return Op(name, "binary", BINARY, doc, kernel=kernel, dtypes=dtypes, inplace=inplace, grad=grad, formula=formula, lowlevel=lowlevel,
              inputs=("X", "Y"))


def fused(name: str, kernel: str, doc: str, grad: dict[str, str]) -> Op:
    """A gradient kernel: an operator like any other, so that it can be differentiated again."""
    return Op(name, "binary", "saved: tensor, grad: tensor", doc, kernel=kernel, grad=grad, inputs=("X", "DOut"), public=False, method=False,
              formula="")


def reduction(name: str, kernel: str, doc: str, formula: str, signature: str, start: int, grad: dict[str, str] | str | None,
              saves: tuple[str, ...] = (), dtypes: str = "same", mean: int = 0, lowlevel: str = "") -> Op:
    fixed = [] if "dtype:" in signature else [("dtype", -1.0)]
    return Op(name, "reduction", signature, doc, kernel=kernel, dtypes=dtypes, grad=grad, saves=saves, formula=formula,
              lowlevel=lowlevel or f"reduce_{name}", attributes=(*fixed, ("start", start), ("mean", mean)))


def view(name: str, variant: str, signature: str, doc: str, lowlevel: str, inputs: tuple[str, ...] = ("X",), inplace: bool = True,
         attributes: tuple[tuple[str, float], ...] = (), public: bool = True) -> Op:
    return Op(name, "view", signature, doc, kernel="view:" + variant, lowlevel=lowlevel, inputs=inputs, results=("Out", "XShape"),
              inplace=inplace, grad="view", attributes=attributes, public=public, functional=public or not inplace,
              formula="the gradient in x's shape; a view, nothing is saved")


COMPARISONS = {
    "equal": "==", "not_equal": "!=", "less_than": "<", "less_equal": "<=", "greater_than": ">", "greater_equal": ">=",
}
COMPARISON_UFUNCS = {
    "equal": "equal", "not_equal": "not_equal", "less_than": "less", "less_equal": "less_equal", "greater_than": "greater",
    "greater_equal": "greater_equal",
}

OPS: tuple[Op, ...] = (
    # ---- elementwise, one input ---------------------------------------------------------------------------------------------------------
    unary("exp", "exp", "Exponential.", "grad * exp(x)", {"x": "grad * conj(out)"}),
    unary("log", "log", "Natural logarithm.", "grad / x", {"x": "grad / conj(x)"}),
    unary("sqrt", "sqrt", "Square root.", "grad / (2 sqrt(x))", {"x": "sqrt_grad(out, grad) if real else grad / conj(out * 2.0)"}),
    unary("rsqrt", "own:RSQRT", "Reciprocal of the square root.", "-grad x^(-3/2) / 2", {"x": "rsqrt_grad(out, grad)"}),
    unary("square", "square", "Square.", "2 x grad", {"x": "square_grad(conj(x), grad)"}, dtypes="same"),
    unary("abs", "absolute", "Absolute value.", "grad sign(x)", {"x": "grad * sign(x)"}, dtypes="real"),
    unary("neg", "negative", "Negative.", "-grad", {"x": "-grad"}, dtypes="same"),
    unary("sin", "sin", "Sine.", "grad cos(x)", {"x": "grad * conj(cos(x))"}),
    unary("cos", "cos", "Cosine.", "-grad sin(x)", {"x": "-(grad * conj(sin(x)))"}),
    unary("tanh", "tanh", "Hyperbolic tangent.", "grad (1 - tanh(x)^2)",
          {"x": "tanh_grad(out, grad) if real else grad * conj(1.0 - out * out)"}),
    unary("sigmoid", "own:SIGMOID", "Logistic function 1 / (1 + exp(-x)).", "grad s (1 - s), s = sigmoid(x)", {"x": "sigmoid_grad(out, grad)"}),
    unary("relu", "own:RELU", "Positive part max(x, 0).", "grad where x > 0, else 0", {"x": "relu_grad(out, grad)"}, dtypes="same"),
    unary("reciprocal", "reciprocal", "Reciprocal 1 / x.", "-grad / x^2", {"x": "reciprocal_grad(conj(out), grad)"}),
    unary("floor", "floor", "Largest integer not above x.", "0", {"x": "helpers.zeros_like(grad)"}, dtypes="same"),
    unary("ceil", "ceil", "Smallest integer not below x.", "0", {"x": "helpers.zeros_like(grad)"}, dtypes="same"),
    Op("round", "unary", UNARY, "Nearest integer, halves to even.", kernel="rint", dtypes="same", inplace=True,
       grad={"x": "helpers.zeros_like(grad)"}, formula="0"),
    unary("sign", "sign", "Sign: -1, 0 or 1 (x / |x| for complex numbers).", "0 (real)", {"x": "helpers.sign_grad(grad, x)"}, dtypes="same",
          inplace=False),
    unary("conj", "conjugate", "Complex conjugate.", "conj(grad)", {"x": "conj(grad)"}, dtypes="same", inplace=False),
    unary("logical_not", "logical_not", "Truth negated.", "none", None, dtypes="bool", inplace=True),
    unary("bitwise_not", "invert", "Bits inverted (bool: truth negated).", "none", None, dtypes="same", inplace=True),
    unary("isnan", "isnan", "Whether not a number.", "none", None, dtypes="bool", inplace=False, lowlevel="isnan_v2"),
    unary("isinf", "isinf", "Whether infinite.", "none", None, dtypes="bool", inplace=False, lowlevel="isinf_v2"),
    unary("isfinite", "isfinite", "Whether finite.", "none", None, dtypes="bool", inplace=False, lowlevel="isfinite_v2"),
    # ---- their fused gradients ----------------------------------------------------------------------------------------------------------
    fused("tanh_grad", "own:TANH_GRAD", "grad * (1 - out^2).",
          {"saved": "saved * grad * gout * -2.0", "grad": "tanh_grad(saved, gout)"}),
    fused("sigmoid_grad", "own:SIGMOID_GRAD", "grad * out * (1 - out).",
          {"saved": "gout * grad * (1.0 - saved * 2.0)", "grad": "sigmoid_grad(saved, gout)"}),
    fused("relu_grad", "own:RELU_GRAD", "grad where out > 0.",
          {"saved": "helpers.zeros_like(saved)", "grad": "relu_grad(saved, gout)"}),
    fused("rsqrt_grad", "own:RSQRT_GRAD", "-grad * out^3 / 2.",
          {"saved": "gout * grad * saved * saved * -1.5", "grad": "rsqrt_grad(saved, gout)"}),
    fused("sqrt_grad", "own:SQRT_GRAD", "grad / (2 out).",
          {"saved": "-(gout * grad / (saved * saved)) * 0.5", "grad": "sqrt_grad(saved, gout)"}),
    fused("reciprocal_grad", "own:RECIPROCAL_GRAD", "-grad * out^2.",
          {"saved": "gout * conj(grad * saved) * -2.0", "grad": "reciprocal_grad(conj(saved), gout)"}),
    fused("square_grad", "own:SQUARE_GRAD", "2 * x * grad.",
          {"saved": "gout * conj(grad) * 2.0", "grad": "square_grad(conj(saved), gout)"}),
    # ---- elementwise, two inputs --------------------------------------------------------------------------------------------------------
    binary("add", "add", "Sum of x and y.", "grad; grad", {"x": "grad", "y": "grad"}, lowlevel="elementwise_add"),
    binary("subtract", "subtract", "Difference x - y.", "grad; -grad", {"x": "grad", "y": "-grad"}, lowlevel="elementwise_sub"),
    binary("multiply", "multiply", "Product of x and y.", "grad y; grad x", {"x": "grad * conj(y)", "y": "grad * conj(x)"},
           lowlevel="elementwise_mul"),
    binary("divide", "divide", "True quotient x / y; integers become floating point.", "grad / y; -grad x / y^2",
           {"x": "grad / conj(y)", "y": "-(grad * conj(x)) / conj(y * y)"}, dtypes="float", lowlevel="elementwise_div"),
    binary("pow", "power", "x to the power y.", "grad y x^(y-1); grad x^y log(x)",
           {"x": "helpers.pow_grad_x(grad, x, y)", "y": "helpers.pow_grad_y(grad, x, y, out)"}, lowlevel="elementwise_pow"),
    binary("maximum", "maximum", "Larger of x and y; where they are equal the gradient goes to y.", "grad where x > y; grad where x <= y",
           {"x": "grad * greater_than(x, y)", "y": "grad * less_equal(x, y)"}, lowlevel="elementwise_max", inplace=False),
    binary("minimum", "minimum", "Smaller of x and y; where they are equal the gradient goes to y.", "grad where x < y; grad where x >= y",
           {"x": "grad * less_than(x, y)", "y": "grad * greater_equal(x, y)"}, lowlevel="elementwise_min", inplace=False),
    binary("floor_divide", "floor_divide", "Quotient rounded down.", "0; 0",
           {"x": "helpers.zeros_like(grad)", "y": "helpers.zeros_like(grad)"}, lowlevel="elementwise_floordiv"),
    binary("remainder", "remainder", "x - y floor(x / y).", "grad; -grad floor(x / y)",
           {"x": "grad", "y": "-(grad * floor(x / y))"}, lowlevel="elementwise_mod"),
    *(binary(name, COMPARISON_UFUNCS[name], f"Whether x {sign} y, elementwise.", "none", None, dtypes="bool")
      for name, sign in COMPARISONS.items()),
    binary("logical_and", "logical_and", "Whether x and y are both true.", "none", None, dtypes="bool"),
    binary("logical_or", "logical_or", "Whether x or y is true.", "none", None, dtypes="bool"),
    binary("logical_xor", "logical_xor", "Whether exactly one of x and y is true.", "none", None, dtypes="bool"),
    binary("bitwise_and", "bitwise_and", "Bits set in both (bool: logical and).", "none", None),
    binary("bitwise_or", "bitwise_or", "Bits set in either (bool: logical or).", "none", None),
    binary("bitwise_xor", "bitwise_xor", "Bits set in exactly one.", "none", None),
    # ---- elementwise with attributes ----------------------------------------------------------------------------------------------------
    Op("scale", "scale", "x: tensor, scale: float = 1.0, bias: float = 0.0, bias_after_scale: bool = True, act: ignored = None" + NAME,
       "scale * x + bias, or scale * (x + bias).", kernel="own:SCALE", inplace=True, grad={"x": "grad * scale"}, formula="grad scale"),
    Op("clip", "clip", "x: tensor, min: number = None, max: number = None" + NAME,
       "x bounded from below and above; the gradient passes where x lies within the bounds, ends included.", kernel="clip", inplace=True,
       inputs=("X", "Min", "Max"), grad={"x": "helpers.clip_grad(grad, x, min, max)"}, formula="grad where min <= x <= max"),
    Op("where", "ternary", "condition: tensor, x: operand, y: operand" + NAME, "x where the condition holds, else y.",
       kernel="own:WHERE", inputs=("Condition", "X", "Y"),
       grad={"x": "helpers.where_grad_x(grad, condition)", "y": "helpers.where_grad_y(grad, condition)"},
       formula="grad where condition; grad where not"),
    Op("cast", "cast", "x: tensor, dtype: dtype @ out_dtype", "x converted to another dtype. A result that is not floating point or complex "
       "is a constant.", grad={"x": "grad"}, formula="grad in x's dtype", inplace=True),
    Op("assign", "cast", "x: tensor", "A copy.", grad={"x": "grad"}, formula="grad", functional=False, method=False),
    Op("real", "array", UNARY, "Real part.", kernel="real", grad={"x": "helpers.to_complex(grad)"}, formula="grad"),
    Op("imag", "array", UNARY, "Imaginary part.", kernel="imag", grad={"x": "helpers.to_imaginary(grad)"}, formula="i grad"),
    # ---- reductions ---------------------------------------------------------------------------------------------------------------------
    reduction("sum", "add", "Sum over axes; of integers in 64 bits.", "grad repeated",
              "x: tensor, axis: axes = None @ dim, dtype: dtype = None @ out_dtype, keepdim: bool = False @ keep_dim" + NAME, 0,
              "sum_backward", ("x.meta",)),
    reduction("mean", "add", "Arithmetic mean over axes.", "grad / n repeated", REDUCE_PLAIN, 0, "mean_backward", ("x.meta",), dtypes="float",
              mean=1),
    reduction("max", "maximum", "Largest element over axes; equal ones share the gradient evenly.", "grad / m where x == max",
              REDUCE_PLAIN, 2, {"x": "helpers.extremum_grad(grad, x, out, axis, keepdim)"}),
    reduction("min", "minimum", "Smallest element over axes; equal ones share the gradient evenly.", "grad / m where x == min",
              REDUCE_PLAIN, 2, {"x": "helpers.extremum_grad(grad, x, out, axis, keepdim)"}),
    reduction("prod", "multiply", "Product over axes.", "grad times the product of the others",
              REDUCE, 1, {"x": "helpers.prod_grad(grad, x, axis, keepdim)"}),
    reduction("any", "logical_or", "Whether any element is true.", "none", REDUCE_PLAIN, 0, None, dtypes="logical"),
    reduction("all", "logical_and", "Whether all elements are true.", "none", REDUCE_PLAIN, 1, None, dtypes="logical"),
    Op("unreduce", "unreduce", "x: tensor, layout: object, axis: axes = None, keepdim: bool = False", "Undo a reduction's change of shape: "
       "repeat along the reduced axes.", public=False, method=False, grad={"x": "helpers.sum_again(grad, axis, keepdim)"},
       formula="grad summed"),
    # ---- products -----------------------------------------------------------------------------------------------------------------------
    Op("matmul", "matmul", "x: tensor, y: tensor, transpose_x: bool = False @ trans_x, transpose_y: bool = False @ trans_y" + NAME,
       "Matrix product with NumPy's rules for vectors and stacks of matrices.", kernel="matmul", lowlevel="matmul_v2", inputs=("X", "Y"),
       grad="matmul_backward", saves=("x", "y"), formula="grad y^T; x^T grad"),
    # ---- along an axis ------------------------------------------------------------------------------------------------------------------
    Op("softmax", "rows", "x: tensor, axis: int = -1, dtype: ignored = None" + NAME, "exp(x) divided by its sum along an axis.",
       kernel="rows:SOFTMAX", inplace=True, grad={"x": "softmax_grad(out, grad, axis)"}, formula="(grad - sum(grad out)) out"),
    Op("log_softmax", "rows", "x: tensor, axis: int = -1, dtype: ignored = None" + NAME, "Logarithm of softmax, computed without overflow.",
       kernel="rows:LOG_SOFTMAX", grad={"x": "log_softmax_grad(out, grad, axis)"}, formula="grad - exp(out) sum(grad)"),
    Op("softmax_grad", "rows", "saved: tensor, grad: tensor, axis: int = -1", "Gradient of softmax.", kernel="rows:SOFTMAX_GRAD",
       inputs=("Out", "DOut"), public=False, method=False,
       grad={"saved": "helpers.softmax_grad_saved(gout, saved, grad, axis)", "grad": "softmax_grad(saved, gout, axis)"}),
    Op("log_softmax_grad", "rows", "saved: tensor, grad: tensor, axis: int = -1", "Gradient of log_softmax.", kernel="rows:LOG_SOFTMAX_GRAD",
       inputs=("Out", "DOut"), public=False, method=False,
       grad={"saved": "helpers.log_softmax_grad_saved(gout, saved, grad, axis)", "grad": "helpers.log_softmax_grad_grad(gout, saved, axis)"}),
    # ---- views --------------------------------------------------------------------------------------------------------------------------
    view("reshape", "RESHAPE", "x: tensor, shape: ints" + NAME, "The same elements in another shape; a view if memory allows, else a copy.",
         "reshape2", ("X", "Shape")),
    view("transpose", "TRANSPOSE", "x: tensor, perm: ints @ axis" + NAME, "Axes permuted.", "transpose2"),
    view("squeeze", "SQUEEZE", "x: tensor, axis: axes = None @ axes" + NAME, "Axes of length 1 removed.", "squeeze2"),
    view("unsqueeze", "UNSQUEEZE", "x: tensor, axis: ints @ axes" + NAME, "Axes of length 1 inserted.", "unsqueeze2"),
    view("flatten", "FLATTEN", "x: tensor, start_axis: int = 0, stop_axis: int = -1" + NAME, "Neighbouring axes merged.",
         "flatten_contiguous_range"),
    view("t", "SWAP_LAST", "x: tensor" + NAME, "A matrix transposed; fewer axes stay as they are.", "t", attributes=(("all_axes", 0),)),
    view("reverse_axes", "SWAP_LAST", "x: tensor", "All axes in reverse order: the property ``T``.", "reverse_axes", inplace=False,
         attributes=(("all_axes", 1),), public=False),
    # ---- joining and picking ------------------------------------------------------------------------------------------------------------
    Op("concat", "array", "x: tensors, axis: int = 0" + NAME, "Tensors joined along an axis they have.", kernel="concat", method=False,
       grad="concat_backward", attributes=(("shapes", 0.0),), formula="grad cut at the joints"),
    Op("stack", "array", "x: tensors, axis: int = 0" + NAME, "Tensors joined along a new axis.", kernel="stack", results=("Y",), method=False,
       grad="stack_backward", attributes=(("shapes", 0.0),), formula="grad taken apart"),
    Op("gather", "array", "x: tensor, index: tensor, axis: int = 0" + NAME, "Slices of x along an axis, picked by a 0-d or 1-d index.",
       kernel="gather", inputs=("X", "Index"), grad={"x": "helpers.pick_grad(grad, x.meta, index, axis)"}, formula="grad added where picked"),
    Op("index_select", "array", "x: tensor, index: tensor, axis: int = 0 @ dim" + NAME, "Slices of x along an axis, picked by a 1-d index.",
       kernel="index_select", inputs=("X", "Index"), grad={"x": "helpers.pick_grad(grad, x.meta, index, axis)"},
       formula="grad added where picked"),
    Op("take_along_axis", "array", "arr: tensor, indices: tensor, axis: int, broadcast: bool = True",
       "Elements of arr picked along an axis, one index per result.", kernel="take_along_axis", lowlevel="take_along_axis",
       inputs=("Input", "Index"), grad={"arr": "helpers.take_along_axis_grad(grad, arr.meta, indices, axis)"},
       formula="grad added where picked"),
    # ---- indexing -----------------------------------------------------------------------------------------------------------------------
    Op("getitem", "getitem", "x: tensor, index: object", "x[index] for ints, slices, None and ellipsis: a view.", grad="view",
       public=False, method=False, lowlevel="slice", formula="grad added into the region"),
    Op("pick", "array", "x: tensor, index: object", "x[index] for index arrays and masks: a copy.", kernel="pick", public=False, method=False,
       grad={"x": "helpers.pick_back(grad, x.meta, index)"}, formula="grad added where picked"),
    Op("scatter_sum", "array", "x: tensor, index: object, shape: ints", "Zeros with x added at an index: the gradient of picking.",
       kernel="scatter_sum", public=False, method=False, grad={"x": "helpers.pick_again(grad, index)"}, formula="grad picked"),
    Op("setitem", "setitem", "x: tensor, value: operand, index: object", "x[index] = value for ints, slices, None and ellipsis.",
       kernel="set:INDEX", inplace=True, functional=False, public=False, method=False, grad="native", lowlevel="set_value",
       inputs=("Input", "ValueTensor"), formula="grad outside; grad of the region"),
    Op("put", "array", "x: tensor, value: operand, index: object", "x[index] = value for index arrays and masks.", kernel="put", inplace=True,
       functional=False, public=False, method=False, grad={"x": "helpers.put_grad_x(grad, index)", "value":
                                                           "helpers.put_grad_value(grad, value.meta, index)"},
       inputs=("Input", "Value"), lowlevel="index_put", formula="grad outside; grad of the entries that stayed"),
    # ---- whole-tensor writes ------------------------------------------------------------------------------------------------------------
    Op("fill", "setitem", "x: tensor, value: operand", "Every element set to a number.", kernel="set:ALL", inplace=True, functional=False,
       grad="native", lowlevel="fill_any", inputs=("X", "Value"), formula="0; grad summed"),
    Op("zero", "setitem", "x: tensor", "Every element set to zero.", kernel="set:ALL", inplace=True, functional=False, grad="native",
       formula="0"),
    Op("copy", "setitem", "x: tensor, other: operand, blocking: ignored = True", "Every element taken from another tensor, which is broadcast.",
       kernel="set:ALL", inplace=True, functional=False, grad="native", inputs=("X", "Other"), formula="0; grad"),
    # ---- nodes that no row of their own makes -------------------------------------------------------------------------------------------
    Op("view", "node", "x: tensor", "A view under a later history of its root.", public=False, method=False, functional=False, grad="view"),
    Op("region_write", "node", "x: tensor, value: tensor", "A region of a tensor overwritten.", public=False, method=False, functional=False,
       grad="native"),
)
