"""Rows of operators that write at indices."""
from __future__ import annotations

from ..model import Op
from .builders import NAME

PUT_ALONG = ("arr: tensor, indices: tensor, values: operand, axis: int, reduce: str = 'assign', include_self: bool = True, "
             "broadcast: object = True")

OPS: tuple[Op, ...] = (
    Op("scatter", "array", "x: tensor, index: tensor, updates: tensor, overwrite: bool = True" + NAME,
       "Rows of x replaced by updates at an index, the last one winning; without overwrite, rows that occur become the sum of their "
       "updates.",
       kernel="scattering.scatter", inputs=("X", "Ids", "Updates"), inplace=True,
       grad={"x": "scattering.scatter_grad_x(grad, index)",
             "updates": "scattering.scatter_grad_updates(grad, updates.meta, index, overwrite)"},
       formula="grad in rows that stay; grad of the updates that stayed"),
    Op("scatter_nd_add", "array", "x: tensor, index: tensor, updates: tensor" + NAME,
       "x with updates added where the rows of an index point; several for one place are all added.", kernel="scattering.scatter_nd_add",
       inputs=("X", "Index", "Updates"), grad={"x": "grad", "updates": "scattering.gather_nd_again(grad, index)"},
       formula="grad; grad picked"),
    Op("index_add", "array", "x: tensor, index: tensor, axis: int, value: tensor, alpha: object = 1" + NAME,
       "alpha * value added to slices of x along an axis; several for one place are all added.", kernel="scattering.index_add",
       inputs=("X", "Index", "AddValue"), inplace=True,
       grad={"x": "grad", "value": "scattering.index_add_grad(grad, value.meta, index, axis, alpha)"}, formula="grad; alpha grad picked"),
    Op("index_fill", "array", "x: tensor, index: tensor, axis: int, value: operand" + NAME, "Slices of x along an axis set to one value.",
       kernel="scattering.index_fill", inputs=("X", "Index", "Value"), inplace=True,
       grad={"x": "scattering.index_fill_grad_x(grad, index, axis)",
             "value": "scattering.index_fill_grad_value(grad, value.meta, index, axis)"},
       formula="grad outside; grad summed inside"),
    Op("index_put", "array", "x: tensor, indices: object, value: operand, accumulate: bool = False" + NAME,
       "x[indices] = value for a tuple of index tensors or a mask, the last one winning; with accumulate, all are added.",
       kernel="scattering.index_put", lowlevel="index_put", inputs=("X", "Value"), inplace=True,
       grad={"x": "scattering.index_put_grad_x(grad, indices, accumulate)",
             "value": "scattering.index_put_grad_value(grad, value.meta, indices, accumulate)"},
       formula="grad of the elements that stay; grad of the values that stayed"),
    Op("masked_fill", "array", "x: tensor, mask: tensor, value: operand" + NAME, "x with one value where a mask holds.",
       kernel="scattering.masked_fill", inputs=("X", "Mask", "Value"), inplace=True,
       grad={"x": "scattering.masked_fill_grad_x(grad, x.meta, mask)",
             "value": "scattering.masked_fill_grad_value(grad, value.meta, mask)"},
       formula="grad where not mask; grad summed where mask"),
    Op("masked_scatter", "array", "x: tensor, mask: tensor, value: tensor" + NAME,
       "x with the elements of value, in order, where a mask holds.",
       kernel="scattering.masked_scatter", inputs=("X", "Mask", "Value"), inplace=True,
       grad={"x": "scattering.masked_fill_grad_x(grad, x.meta, mask)", "value": "scattering.masked_scatter_grad(grad, value.meta, mask)"},
       formula="grad where not mask; grad taken where mask"),
    Op("put_along_axis", "array", PUT_ALONG,
       "values written into arr along an axis, one index per value, the last one winning; or added (reduce: "
       "assign, add).", kernel="scattering.put_or_add_along_axis", inputs=("Input", "Index", "Value"), inplace=True,
       grad={"arr": "scattering.put_along_axis_grad_arr(grad, indices, axis, reduce, include_self, broadcast)",
             "values": "scattering.put_along_axis_grad_values(grad, indices, values.meta, axis, reduce, broadcast)"},
       formula="grad of the elements that stay; grad of the values that stayed"),
    Op("reduce_along_axis", "array", PUT_ALONG,
       "put_along_axis for those ways to combine whose gradient needs the values: mul, mean, amin, amax.",
       kernel="scattering.put_along_axis", inputs=("Input", "Index", "Value"), inplace=True, public=False, method=False,
       grad={"arr": "scattering.reduce_along_axis_grad_arr(grad, arr, indices, values, axis, reduce, include_self, broadcast)",
             "values": "scattering.reduce_along_axis_grad_values(grad, arr, indices, values, axis, reduce, include_self, broadcast)"},
       formula="by the rule of reduce"),
)
