"""Build of the compiled core; plain metadata stands in pyproject.toml.

Every ``eager_core/**/*.pyx`` is an extension of its own, so that an edit rebuilds one module. The generator runs first and
writes ``eager_core/_generated``. The kernels are compiled once, into a static library from which each extension links the
functions it calls; that is sound because kernels keep no state (state would exist once per extension).

EAGER_BUILD chooses the build: ``release`` (default), ``debug`` (bounds checks, asserts), ``sanitize`` (addresses and undefined
behaviour), ``coverage`` (line tracing), ``profile`` (every function visible to cProfile) or ``symbols`` (the release with names for
perf, gdb and ``py-spy --native``). All but the first belong in a directory of their own, as the Makefile has it.
"""

from __future__ import annotations

import errno
import importlib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, NamedTuple

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.modified import newer_group

CORE = Path("eager_core")
GENERATED = CORE / "_generated"
KERNELS = "eager_kernels"

DIRECTIVES: dict[str, Any] = {
    "language_level": 3,
    "binding": False,
    "embedsignature": True,
    "embedsignature.format": "clinic",
    "auto_pickle": False,
    "autotestdict": False,
    "boundscheck": False,
    "wraparound": False,
    "cdivision": True,
    "initializedcheck": False,
}
CHECKED = {"boundscheck": True, "initializedcheck": True, "nonecheck": True}


class Build(NamedTuple):
    """What one value of EAGER_BUILD adds to the common settings."""

    compile: Sequence[str]
    link: Sequence[str] = ()
    directives: Mapping[str, Any] = MappingProxyType({})
    macros: Mapping[str, str] = MappingProxyType({})


OPTIMISED = ["-O3", "-fno-math-errno", "-ffp-contract=off", "-g0"]
if sys.platform == "linux":
    OPTIMISED.append("-fno-plt")         # calls of Python's functions without a second jump each: 3 % of a small operator's time
CAREFUL = ["-O1", "-ffp-contract=off", "-g", "-UNDEBUG", "-fno-omit-frame-pointer"]
STRIPPED = ["-Wl,-S,-x"] if sys.platform == "darwin" else ["-s"]
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
BUILDS = {
    "release": Build(OPTIMISED, STRIPPED, macros={"CYTHON_WITHOUT_ASSERTIONS": "1"}),
    "debug": Build(CAREFUL, directives=CHECKED),
    "sanitize": Build(CAREFUL + SANITIZERS, SANITIZERS, CHECKED),
    "coverage": Build(["-O1", "-g0"], directives={"linetrace": True}, macros={"CYTHON_TRACE_NOGIL": "1", "CYTHON_USE_SYS_MONITORING": "0"}),
    "profile": Build(OPTIMISED, STRIPPED, {"profile": True}, {"CYTHON_PROFILE": "1"}),
    "symbols": Build([*OPTIMISED, "-g1", "-fno-optimize-sibling-calls"], macros={"CYTHON_WITHOUT_ASSERTIONS": "1"}),
}

# -Wextra minus what the output of every Cython module trips over.
WARNINGS = ["-Wall", "-Wextra", "-Wno-unused-parameter", "-Wno-missing-field-initializers", "-Wno-cast-function-type"]

HIDDEN = ["-fvisibility=hidden"]  # kernels are nobody else's; a module's init function is exported by Python's own header

# NumPy's C API: nothing deprecated, and binaries that run with every NumPy from 2.0 on.
NUMPY_MACROS = dict.fromkeys(("NPY_NO_DEPRECATED_API", "NPY_TARGET_VERSION"), "NPY_2_0_API_VERSION")


def generate() -> None:
    """Write the generated modules; a tree that cannot be written to makes do with those it has."""
    if not (CORE / "codegen" / "gen.py").exists():
        return
    # The generator is imported beside the package it builds, whose __init__ needs the extensions that are not there yet.
    package = ModuleType("eager_codegen")
    package.__path__ = [str(CORE / "codegen")]
    sys.modules[package.__name__] = package
    try:
        GENERATED.mkdir(exist_ok=True)
        (GENERATED / "__init__.py").touch()
        importlib.import_module("eager_codegen.gen").generate(GENERATED)
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS) or not any(GENERATED.glob("*.pyx")):
            raise
        print(f"{error}: building with the generated modules already there", file=sys.stderr)


def files(pattern: str) -> list[str]:
    return sorted(path.as_posix() for path in CORE.rglob(pattern))


class BuildExtensions(build_ext):
    """Cythonize, archive the kernels, compile in parallel; everything again when a setting changed."""

    def finalize_options(self) -> None:
        if self.editable_mode:  # else in a temporary directory, and each install would start from nothing
            self.build_lib = str(Path("build", "editable", "lib"))
            self.build_temp = str(Path("build", "editable", "temp"))
        super().finalize_options()
        self.parallel = self.parallel or os.cpu_count()

    def run(self) -> None:
        import numpy
        from Cython.Build import cythonize

        name = os.environ.get("EAGER_BUILD") or "release"
        if name not in BUILDS:
            raise SystemExit(f"EAGER_BUILD={name}: must be one of {', '.join(BUILDS)}")
        build = BUILDS[name]
        macros = {**NUMPY_MACROS, **build.macros}
        directives = {**DIRECTIVES, **build.directives}
        flags: list[str]
        link: list[str]
        flags, link = ([], []) if os.name == "nt" else ([*WARNINGS, *HIDDEN, *build.compile], [*build.link])

        settings = json.dumps([name, sys.version, version('Cython'), version('numpy'), directives, macros, flags, link])
        stamp = Path(self.build_temp, "settings.json")
        self.force = self.force or not stamp.exists() or stamp.read_text() != settings
        stamp.unlink(missing_ok=True)  # an interrupted build has no settings

        translated = cythonize(
            self.extensions,
            build_dir=None if name == "coverage" else str(Path(self.build_temp, "cython")),  # its plugin looks beside the .pyx
            compiler_directives=directives,
            nthreads=self.parallel,
            force=self.force,
        )
        for extension, new in zip(self.extensions, translated, strict=True):
            extension.sources = new.sources
            extension.depends = [*new.depends, *files("*.h"), *files("kernels/*.c")]
            extension.include_dirs = [str(CORE), numpy.get_include()]
            extension.libraries = [KERNELS]
            extension.library_dirs = [self.build_temp]
            extension.define_macros = list(macros.items())
            extension.extra_compile_args = flags
            extension.extra_link_args = link
        self.kernel_flags = flags
        super().run()
        stamp.parent.mkdir(parents=True, exist_ok=True)
        stamp.write_text(settings)

    def build_extensions(self) -> None:
        archive = self.compiler.library_filename(KERNELS, output_dir=self.build_temp)
        sources = files("kernels/*.c")
        if self.force or newer_group(sources + files("*.h"), archive):
            objects = self.compiler.compile(sources, self.build_temp, include_dirs=[str(CORE)], extra_postargs=self.kernel_flags)
            Path(archive).unlink(missing_ok=True)  # ar would keep the members of files that are gone
            self.compiler.create_static_lib(objects, KERNELS, output_dir=self.build_temp)
        super().build_extensions()


if __name__ == "__main__":  # Cython's worker processes import this file again where they are not forked
    generate()
    setup(
        ext_modules=[Extension(path.removesuffix(".pyx").replace("/", "."), [path]) for path in files("*.pyx")],
        cmdclass={"build_ext": BuildExtensions},
    )
