#!/usr/bin/env python3
"""Runs the rows of docs/comparison.md: `python3 tests/comparison/run.py [--only ROW] [--agent NAME]`. See README.md."""

import argparse
import json
import pathlib
import sys
import time
import traceback

import agents
import screens
import shell
import turns
from stage import Stage

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROWS = {**screens.ROWS, **turns.ROWS, **shell.ROWS}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    names = [agent.name for agent in agents.ALL + agents.VARIANTS]
    parser.add_argument("--only", action="append", choices=[*ROWS, *turns.SEVERAL], help="a row; may be repeated")
    parser.add_argument("--agent", action="append", choices=names, help="an agent; may be repeated")
    parser.add_argument("--tiller", type=pathlib.Path, default=ROOT / "target/release/tiller")
    parser.add_argument("--npm", type=pathlib.Path, default=ROOT / "target/comparison/npm", help="where the agents are installed")
    parser.add_argument("--base", type=pathlib.Path, default=pathlib.Path("/var/tmp/comparison"), help="homes and projects")
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "target/comparison/results")
    given = parser.parse_args()
    given.base.mkdir(parents=True, exist_ok=True)
    given.results.mkdir(parents=True, exist_ok=True)
    for kind in agents.ALL + agents.VARIANTS:
        if kind.name not in (given.agent or [agent.name for agent in agents.ALL]):
            continue
        agent = kind(given.npm.resolve(), given.tiller.resolve())
        agent.install()
        for row in given.only or [*ROWS, *turns.SEVERAL]:
            play(row, agent, given)


def play(row, agent, given):
    """Plays a row; the facts and the screens behind them become files of the results' folder."""
    seen = []

    def note(name, text):
        seen.append(f"===== {name}\n{text.rstrip()}\n")

    began = time.monotonic()
    try:
        if row in turns.SEVERAL:
            facts = turns.SEVERAL[row](lambda mode: Stage(agent, given.base, mode), note)
        else:
            with Stage(agent, given.base, {"image": "images"}.get(row, "auto")) as stage:
                facts = ROWS[row](stage, note)
    except Exception as error:  # one agent's trouble must not end the others' rows
        facts = {"failed": str(error)[:2000]}
        note("failed", traceback.format_exc())
    record = {"row": row, "agent": agent.name, "version": agent.version(), "seconds": round(time.monotonic() - began, 1), "facts": facts}
    print(json.dumps(record, ensure_ascii=False), flush=True)
    (given.results / f"{row}-{agent.name}.json").write_text(json.dumps(record, ensure_ascii=False, indent=1) + "\n")
    (given.results / f"{row}-{agent.name}.txt").write_text("\n".join(seen))


if __name__ == "__main__":
    sys.exit(main())
