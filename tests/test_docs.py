"""The programs in the README and in docs/ run as they stand."""
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROGRAMS = [pytest.param(program, id=f"{page.name}-{number}")
            for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
            for number, program in enumerate(re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL))]


@pytest.mark.parametrize("program", PROGRAMS)
def test_program(program, tmp_path):
    """In a process of its own: a program may set the default dtype."""
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert done.returncode == 0, done.stderr
