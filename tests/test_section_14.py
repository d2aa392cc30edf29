"""Each of the 55 items in section 14 of the semantics, programs for which the references return a wrong number without a word, has a test
by its number: `test_item_07_...`, `test_items_51_to_54_...`, `test_14_38_and_47_...`.
"""
import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
ITEMS = 55


def items_of(name):
    """The items that a test's name says it is about."""
    found = re.match(r"test_(?:items?|14)_(\d\d)(?:_(to|and)_(\d\d))?(?:_|$)", name)
    if found is None:
        return set()
    first, how, last = found.groups()
    return set(range(int(first), int(last) + 1)) if how == "to" else {int(first), int(last or first)}


def asserts_something(node):
    """Itself, or by way of one of the files' helpers."""
    helpers = ("agrees", "close", "refuses", "refused", "same", "second_order", "assert_array_equal", "assert_allclose", "raises")
    return any(isinstance(inner, ast.Assert) or (isinstance(inner, ast.Call) and ast.unparse(inner.func).split(".")[-1] in helpers)
               for inner in ast.walk(node))


def found_items():
    found = {}
    for path in sorted(TESTS.glob("test_*.py")):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.FunctionDef):
                for item in items_of(node.name):
                    found.setdefault(item, []).append((path.name, node))
    return found


FOUND = found_items()


@pytest.mark.parametrize("item", range(1, ITEMS + 1))
def test_the_item_has_a_test(item):
    assert FOUND.get(item), f"no test named by item {item}"
    assert all(asserts_something(node) for _, node in FOUND[item])
    marks = [ast.unparse(mark) for _, node in FOUND[item] for mark in node.decorator_list]
    assert not [mark for mark in marks if "skip" in mark or "xfail" in mark]


def test_there_are_no_other_items():
    assert set(FOUND) == set(range(1, ITEMS + 1))


def test_names_are_read_rightly():
    assert items_of("test_item_02_rows") == {2}
    assert items_of("test_items_51_to_54_x") == {51, 52, 53, 54}
    assert items_of("test_14_38_and_47_x") == {38, 47}
    assert items_of("test_an_item_43") == items_of("test_item_5_x") == set()
