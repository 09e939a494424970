"""Drives the real `tiller acp` with harbor's runner, the script that harbor copies into a task's environment and starts beside an agent.

    python3 drive.py path/to/tiller

Ends with 1 and a message at the first wrong thing.
"""

import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FILE = "src/greet.sh"
PROMPT = 'replace "Helo" with "Hello" in src/greet.sh then run sh test.sh'
SAVED = 'greet() {\n    echo "Helo, $1!"\n}\n'
PASSED = "passed in the project"
# Seconds for a whole run; longer than it takes on a busy machine.
PATIENCE = 60


class Wrong(Exception):
    """The first thing that is not as it should be."""


def expect(holds, message: str) -> None:
    if not holds:
        raise Wrong(message)


def runner() -> Path:
    """The runner's path. Harbor itself is not imported: its packages are not installed."""
    files = importlib.metadata.files("harbor") or []
    found = [file for file in files if file.name == "acp_runner.py"]
    expect(len(found) == 1, f"harbor has {len(found)} runners")
    return Path(found[0].locate())


class Trial:
    """A project, a home and the runner's logs in a temporary folder."""

    def __init__(self, tiller: str, folder: Path) -> None:
        self.home, self.root, self.logs = folder / "home", folder / "project", folder / "logs"
        self.home.mkdir()
        (self.home / "config.toml").write_text("[providers.local]\ndiscover = false\n")
        (self.root / "src").mkdir(parents=True)
        (self.root / FILE).write_text(SAVED)
        test = f'. ./src/greet.sh\ntest "$(greet editor)" = "Hello, editor!" && echo {PASSED}\n'
        (self.root / "test.sh").write_text(test)
        # Alone, as where harbor copies it: beside its siblings one of them would hide the SDK.
        self.runner = folder / "acp_runner.py"
        shutil.copy(runner(), self.runner)
        # Harbor starts a launcher of its own making, without arguments.
        self.launcher = folder / "launcher"
        self.launcher.write_text(f"#!/bin/sh\nexec '{Path(tiller).resolve()}' acp --permission-mode argus\n")
        self.launcher.chmod(0o755)

    def run(self, instruction: str, **environment: str) -> str:
        """Plays one instruction; returns what the runner printed."""
        words = ["--instruction", instruction, "--logs-dir", str(self.logs), "--launcher", str(self.launcher)]
        done = subprocess.run(
            [sys.executable, "-B", str(self.runner), *words], cwd=self.root, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=PATIENCE, env={"PATH": os.environ["PATH"], "HOME": str(self.home), "TILLER_HOME": str(self.home), **environment},
        )
        expect(done.returncode == 0, f"the runner ended with {done.returncode}: {done.stderr} {done.stdout}")
        return done.stdout

    def summary(self) -> dict:
        return json.loads((self.logs / "acp-summary.json").read_text())

    def events(self) -> list[str]:
        lines = (self.logs / "acp-events.jsonl").read_text().splitlines()
        return [json.loads(line)["event_type"] for line in lines]


def allowed(trial: Trial) -> None:
    printed = trial.run(PROMPT, HARBOR_ACP_REQUESTED_MODEL="offline/pilot")
    expect((trial.root / FILE).read_text() == SAVED.replace("Helo", "Hello"), "allowed, yet the file has not changed")
    expect(PASSED in printed, f"the command's output is not printed: {printed}")
    summary = trial.summary()
    expect(summary["permissions_requested"] == 2, f"asked {summary['permissions_requested']} times, not for edit and command")
    expect(summary["prompt_response"]["stopReason"] == "end_turn", f"the turn ended with {summary['prompt_response']}")
    expect(summary["resolved_session_model_id"] == "offline/pilot", f"the model was not set: {summary}")
    expect(summary["latest_usage_update"], "no usage was told")
    events = trial.events()
    for event in ["read_text_file", "write_text_file", "create_terminal", "wait_for_terminal_exit", "release_terminal"]:
        expect(event in events, f"no {event} among {events}")


def refused(trial: Trial) -> None:
    printed = trial.run(PROMPT, HARBOR_ACP_PERMISSION_MODE="deny")
    expect((trial.root / FILE).read_text() == SAVED, "refused, yet the file has changed")
    expect(PASSED not in printed, "refused, yet the command ran")
    expect("create_terminal" not in trial.events(), "refused, yet a terminal was made")


def planned(trial: Trial) -> None:
    printed = trial.run("with a plan: show src/greet.sh then show test.sh")
    expect("[plan update]" in printed, f"no plan is printed: {printed}")
    if path := os.environ.get("TILLER_SHOWN"):
        with open(path, "a") as shown:
            shown.write("plan\n")


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    for story in [allowed, refused, planned]:
        with tempfile.TemporaryDirectory() as folder:
            try:
                story(Trial(sys.argv[1], Path(folder).resolve()))
            except Exception as error:
                print(f"harbor's runner: {story.__name__}: {type(error).__name__}: {error}", file=sys.stderr)
                return 1
        print(f"harbor's runner: {story.__name__}: all as it should be")
    return 0


if __name__ == "__main__":
    sys.exit(main())
