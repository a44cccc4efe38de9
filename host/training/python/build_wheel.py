# SPDX-License-Identifier: Apache-2.0
"""Builds the wheel: setuptools, the library beside the package, and the tag py3-none-<platform>.

The package is pure Python round one shared library, so one wheel serves every Python 3 and every PyTorch. In Tandem's
tree the library is built with CMake when it is not there; a staged package (build/release/python) has it.
"""

import os
import pathlib
import shutil
import subprocess
import sysconfig
import tempfile

from setuptools import build_meta

HERE = pathlib.Path(__file__).resolve().parent
LIBRARY = HERE / "tandem" / "libtandem_training.so"


def get_requires_for_build_wheel(config_settings=None):
    return []


prepare_metadata_for_build_wheel = build_meta.prepare_metadata_for_build_wheel
build_sdist = build_meta.build_sdist


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    target = pathlib.Path(wheel_directory).resolve()
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    settings = dict(config_settings or {})
    settings["--build-option"] = ["--python-tag", "py3", "--plat-name", platform]
    with tempfile.TemporaryDirectory() as folder:  # the tree's folder stays as it is
        copy = pathlib.Path(folder) / "package"
        shutil.copytree(HERE, copy, ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info"))
        shutil.copy2(_library(), copy / "tandem" / LIBRARY.name)
        os.chdir(copy)
        try:
            name = build_meta.build_wheel(str(target), settings, metadata_directory)
        finally:
            os.chdir(HERE)
    return _tagged(target / name, platform)


def _tagged(wheel, platform):
    """setuptools says "any" where no module is compiled; this one has a library."""
    tag = f"py3-none-{platform}"
    if wheel.name.endswith(f"-{tag}.whl"):
        return wheel.name
    raise SystemExit(f"the wheel is named {wheel.name} and must end with {tag}.whl: report this with setuptools' version")


def _library():
    given = os.environ.get("TANDEM_TRAINING_LIBRARY")
    if given or LIBRARY.is_file():
        return pathlib.Path(given) if given else LIBRARY
    tree = HERE.parents[2]
    if not (tree / "CMakePresets.json").is_file():
        raise SystemExit(f"{LIBRARY} is missing and {HERE} is not in Tandem's tree: copy the library there, or name it in "
                         "TANDEM_TRAINING_LIBRARY")
    built = tree / "build" / "release" / "python" / "tandem" / LIBRARY.name
    if built.is_file():
        return built
    if shutil.which("cmake") is None:
        raise SystemExit("cmake is missing, which builds libtandem_training.so: run scripts/test.sh --quick of Tandem's tree "
                         "once, which installs what a build needs, or install build/release/python of a built tree")
    subprocess.run(["cmake", "--preset", "demo"], cwd=tree, check=True)
    subprocess.run(["cmake", "--build", "--preset", "demo", "--target", "tandem_training_c"], cwd=tree, check=True)
    built = tree / "build" / "demo" / "python" / "tandem" / LIBRARY.name
    if not built.is_file():
        raise SystemExit(f"the build made no {built}: look at its output above")
    return built
