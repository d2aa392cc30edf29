"""Rows of sorting and searching."""
from __future__ import annotations

from ..model import Op
from .builders import NAME, PLACES, WITH_PLACES

EXTREME = "x: tensor, axis: object = None, keepdim: bool = False, dtype: dtype = None" + NAME
ORDER = "x: tensor, axis: int = -1, descending: bool = False, stable: bool = False" + NAME
SPREAD = {"x": "sorting.picked_grad(grad, x.meta, out_1, axis, keepdim)"}

OPS: tuple[Op, ...] = (
    Op("argmax", "array", EXTREME, "Where the largest element is along an axis (the first of equal ones), or among all.",
       result=PLACES, kernel="sorting.argmax",
       formula="none"),
    Op("argmin", "array", EXTREME, "Where the smallest element is along an axis (the first of equal ones), or among all.",
       result=PLACES, kernel="sorting.argmin", formula="none"),
    Op("argsort", "array", ORDER, "The order that sorts along an axis; equal elements keep theirs.",
       result=PLACES, kernel="sorting.argsort",
       formula="none"),
    # To find the order when backward asks for it costs a copy; to keep it, an argsort where sort is enough.
    Op("sort", "array", ORDER, "Sorted along an axis.", kernel="sorting.sort", grad={"x": "sorting.sort_grad(grad, x, axis, descending)"},
       copies=("x",), formula="grad back at the places the elements came from"),
    Op("topk", "array", "x: tensor, k: int, axis: object = -1, largest: bool = True, sorted: bool = True" + NAME,
       "The k largest or smallest elements along an axis, in order, and where they are.",
       result=WITH_PLACES, kernel="sorting.topk", lowlevel="top_k_v2",
       results=("Out", "Indices"), grad={"x": "sorting.topk_grad(grad, x.meta, out_1, axis)"}, formula="grad back at the places"),
    Op("kthvalue", "array", "x: tensor, k: int, axis: object = -1, keepdim: bool = False" + NAME,
       "The k-th smallest element along an axis, and where it is.",
       result=WITH_PLACES, kernel="sorting.kthvalue", results=("Out", "Indices"), grad=SPREAD,
       formula="grad back at the place"),
    Op("mode", "array", "x: tensor, axis: int = -1, keepdim: bool = False" + NAME,
       "The most frequent element along an axis (the smallest of those), and where it is last.", result=WITH_PLACES, kernel="sorting.mode",
       results=("Out", "Indices"), grad=SPREAD, formula="grad back at the place"),
    Op("searchsorted", "array", "sorted_sequence: tensor, values: tensor, out_int32: bool = False, right: bool = False" + NAME
       + ", side: object = None, sorter: optional = None",
       "Where values would go into a sorted sequence: before equal ones, or behind them. Rows are searched in their own row.",
       result="int64, or int32 if asked for", kernel="sorting.searchsorted", inputs=("SortedSequence", "Values"), method=False,
       formula="none"),
    Op("bucketize", "array", "x: tensor, sorted_sequence: tensor, out_int32: bool = False, right: bool = False" + NAME,
       "Where the elements of x would go into a sorted 1-d sequence.",
       result="int64, or int32 if asked for", kernel="sorting.bucketize", inputs=("X", "SortedSequence"),
       formula="none"),
    Op("isin", "array", "x: tensor, test_x: tensor, assume_unique: bool = False, invert: bool = False" + NAME,
       "Whether each element of x is one of test_x.", result="bool", kernel="sorting.isin", inputs=("X", "TestX"), formula="none"),
)
