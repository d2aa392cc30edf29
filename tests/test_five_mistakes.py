"""docs/errors.md: the line that has to be changed stands in the error that each mistake prints. That the page says what is printed is
checked by test_docs.
"""
import re
import traceback
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "errors.md"
LINES = {
    "Writing to a leaf": "weight -= 0.1",
    "Overwriting a saved input": "y += 1.0",
    "Overwriting a saved output": "state.multiply_(paddle.to_tensor(0.5))",
    "Updating weights between forward and backward": "w -= 0.1 * w.grad",
    "Changing an exported array": "with y.detach().writable_array() as array:",
}
pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="no docs beside this package")


def section(title):
    """The first program under a heading, and what the page says that it prints."""
    text = PAGE.read_text("utf-8").split(f"## {title}\n")[1]
    return re.search(r"```python\n(.*?)```\n```text\n(.*?)```", text, re.DOTALL).groups()


@pytest.mark.parametrize("title", LINES)
def test_the_error_shows_the_line_to_change(title):
    program, printed = section(title)
    if title == "Writing to a leaf":                       # raised where the mistake is made
        body = program[:program.index("try:")] + "weight -= 0.1\n"
        with pytest.raises(ValueError, match="Leaf Var") as caught:
            exec(compile(body, "program.py", "exec"), {})
        (line,) = [frame.lineno for frame in traceback.extract_tb(caught.tb) if frame.filename == "program.py"]
        program = body
    else:
        line = int(re.search(r'Overwritten by [^\n]*\n +File "program.py", line (\d+)', printed)[1])
        assert LINES[title] in printed[printed.index("Overwritten by"):]
    assert program.splitlines()[line - 1].strip() == LINES[title]


def test_the_page_has_all_five():
    text = PAGE.read_text("utf-8")
    assert re.findall(r"^## (.*)$", text, re.MULTILINE)[:5] == list(LINES)
    assert "writable_array()" in section("Changing an exported array")[0]
