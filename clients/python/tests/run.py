"""Builds the wheel, installs it into an environment of its own, checks its types, and runs the tests there.

    CLIENTS=clients python3 tests/run.py path/to/tiller

`tools`, beside the tests' folder, is an environment with what requirements.txt names.
"""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
SCRATCH = HERE / "scratch"
TOOLS, CLEAN = HERE / "tools/bin/python", SCRATCH / "environment/bin/python"


def run(*command: object, **options) -> None:
    done = subprocess.run([str(part) for part in command], cwd=SCRATCH, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} ended with {done.returncode}")


def pip(python: Path, *args: object) -> None:
    quiet = ("--quiet", "--disable-pip-version-check")
    run(sys.executable, "-m", "pip", "--python", python, args[0], *quiet, "--no-deps", "--no-index", *args[1:])


def main() -> None:
    tiller = Path(sys.argv[1]).resolve()
    shutil.rmtree(SCRATCH, ignore_errors=True)
    source = SCRATCH / "source"
    for name in ("tiller_native", "pyproject.toml", "README.md"):
        copy = shutil.copytree if (HERE / name).is_dir() else shutil.copy
        source.mkdir(parents=True, exist_ok=True)
        copy(HERE / name, source / name)
    pip(TOOLS, "wheel", "--no-build-isolation", "--wheel-dir", SCRATCH, source)
    (wheel,) = SCRATCH.glob("*.whl")
    packed = set(zipfile.ZipFile(wheel).namelist())
    for wanted in ("tiller_native/__init__.py", "tiller_native/py.typed", "tiller_native/types.py"):
        if wanted not in packed:
            sys.exit(f"{wanted} is not in {wheel.name}: {sorted(packed)}")
    shutil.rmtree(source)
    run(sys.executable, "-m", "venv", "--without-pip", SCRATCH / "environment")
    pip(CLEAN, "install", wheel)
    for name in ("test_agents.py", "test_swarm.py", "test_tiller.py", "fake_agent.py", "model_server.py"):
        shutil.copy(HERE / "tests" / name, SCRATCH / name)
    shutil.copy(HERE / "examples/dashboard.py", SCRATCH / "dashboard.py")
    types = ("--strict", "--python-version", "3.10", "--python-executable", CLEAN, "--no-error-summary")
    run(TOOLS, "-m", "mypy", *types, "--package", "tiller_native")
    run(TOOLS, "-m", "mypy", *types, "dashboard.py")
    environment = {**os.environ, "TILLER": str(tiller)}
    warnings = ("-W", "error::ResourceWarning", "-W", "error::DeprecationWarning")
    run(CLEAN, "-B", *warnings, "-m", "unittest", "test_agents", "test_swarm", "test_tiller", env=environment)
    print(f"native python client: {wheel.name} is right")


if __name__ == "__main__":
    main()
