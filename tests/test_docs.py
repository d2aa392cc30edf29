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


OUTPUTS = [pytest.param(program, output, id=f"{page.name}-{number}") for page in sorted((ROOT / "docs").glob("*.md"))
           for number, (program, output) in enumerate(re.findall(r"^```python\n(.*?)^```\n```text\n(.*?)^```", page.read_text("utf-8"),
                                                                 re.MULTILINE | re.DOTALL))]


@pytest.mark.parametrize(("program", "output"), OUTPUTS)
def test_output(program, output, tmp_path):
    """What a page says that a program prints; long lines are wrapped there."""
    (tmp_path / "program.py").write_text(program, "utf-8")
    command = [sys.executable, "-P", str(tmp_path / "program.py")]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.replace(f"{tmp_path}/", "").split() == output.split()
