#!/usr/bin/env python3
"""Writes `hot.ld`: which functions a start and a first turn run, as patterns of the names of their sections.

Usage: generate.py BINARY, where BINARY has symbols and was linked without `hot.ld`:

    TILLER_LAYOUT=off cargo rustc --release -p tiller --bin tiller -- -C strip=none

Runs it once under valgrind, with an editor and a model server of its own. Needs valgrind and nm.
"""

import bisect
import http.server
import json
import os
import re
import subprocess
import sys
import tempfile
import threading

# What of a pattern's sections may be never run: a share of what is run, or so many bytes.
SPARE_SHARE, SPARE_BYTES = 0.5, 200
# Instances of one generic function cannot be told apart; all of them are taken up to so many bytes for each that is run.
INSTANCE_BYTES = 32 * 1024


class Model(http.server.BaseHTTPRequestHandler):
    """A model that says one word."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        chunk = {"id": "layout", "object": "chat.completion.chunk", "created": 0, "model": "layout"}
        choices = [({"role": "assistant", "content": "done"}, None), ({}, "stop")]
        events = [
            json.dumps(chunk | {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})
            for delta, reason in choices
        ]
        body = "".join(f"data: {event}\n\n" for event in [*events, "[DONE]"]).encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def run(binary):
    """The names of the functions that a start and a turn run."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as home:
        project, counts = f"{home}/project", f"{home}/counts"
        os.mkdir(project)
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": home,
            "TILLER_HOME": f"{home}/tiller",
            "OPENAI_BASE_URL": f"http://127.0.0.1:{server.server_port}/v1",
            "OPENAI_API_KEY": "none",
            "TILLER_MODEL": "openai/layout",
        }
        # A database is made once in a life, not once a start.
        subprocess.run([binary, "sessions", "list"], env=environment, cwd=project, capture_output=True, check=True)
        valgrind = ["valgrind", "--quiet", "--tool=callgrind", "--demangle=no", f"--callgrind-out-file={counts}"]
        agent = subprocess.Popen(
            [*valgrind, binary, "acp", "--model", "openai/layout"], env=environment, cwd=project, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

        def ask(number, method, params):
            agent.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n")
            agent.stdin.flush()
            for line in agent.stdout:
                answer = json.loads(line)
                if answer.get("id") == number and "method" not in answer:
                    return answer["result"]
            raise SystemExit(f"no answer to {method}")

        files = {"readTextFile": True, "writeTextFile": True}
        ask(1, "initialize", {"protocolVersion": 1, "clientCapabilities": {"fs": files, "terminal": True}})
        session = ask(2, "session/new", {"cwd": project, "mcpServers": []})["sessionId"]
        ask(3, "session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": "hello"}]})
        agent.stdin.close()
        agent.wait(60)
        with open(counts) as lines:
            named = (re.match(r"c?fn=\(\d+\) (\S+)", line) for line in lines)
            return {re.sub(r"'\d+$", "", name[1]) for name in named if name}


def sizes(binary):
    """The size of every function."""
    lines = subprocess.run(["nm", "-S", "--defined-only", binary], capture_output=True, text=True, check=True).stdout
    fields = (line.split() for line in lines.splitlines())
    return {of[3]: int(of[1], 16) for of in fields if len(of) == 4 and of[2] in "tTwW"}


def stable(name):
    """A name without what changes from build to build."""
    name = re.sub(r"17h[0-9a-f]{16}E.*", "17h", name)
    return re.sub(r"Cs[0-9A-Za-z]+_(?=\d)", "Cs*_", name)


def patterns(size, hot):
    """Beginnings of names, each as short as it can be without taking in too much that is never run."""
    bytes_of = {}
    for name, bytes_ in size.items():
        of = bytes_of.setdefault(stable(name), [0, 0, 0])
        of[0] += bytes_ if name in hot else 0
        of[1] += bytes_
        of[2] += name in hot
    names = sorted(bytes_of)
    sums = [(0, 0)]
    for name in names:
        sums.append((sums[-1][0] + bytes_of[name][0], sums[-1][1] + bytes_of[name][1]))
    found, pending = [], [(0, len(names), 0)]
    while pending:
        first, end, length = pending.pop()
        is_run, all_ = (sums[end][part] - sums[first][part] for part in (0, 1))
        if is_run == 0:
            continue
        if length > 4 and all_ <= is_run + max(is_run * SPARE_SHARE, SPARE_BYTES):
            found.append(names[first][:length] + "*")
            continue
        if len(names[first]) == length:
            if bytes_of[names[first]][2] * INSTANCE_BYTES > bytes_of[names[first]][1]:
                found.append(names[first] + ("*" if names[first].endswith("17h") else ""))
            first += 1
        while first < end:
            after = names[first][:length] + chr(ord(names[first][length]) + 1)
            same = bisect.bisect_left(names, after, first, end)
            pending.append((first, same, length + 1))
            first = same
    return sorted(found)


def main():
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    size = sizes(sys.argv[1])
    if not size:
        raise SystemExit(f"{sys.argv[1]} has no symbols")
    found = patterns(size, run(sys.argv[1]))
    lines = "\n".join(f"    .text.{pattern}" for pattern in found)
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "hot.ld"), "w") as script:
        script.write("/* Written by generate.py: what a start and a first turn run, side by side. What is not named, or named and gone, stands with\n")
        script.write("   the rest: a stale list costs memory and nothing else. */\n")
        script.write("SECTIONS {\n  .text.hot : { *(\n" + lines + "\n  ) }\n} INSERT BEFORE .text\n")
    print(f"{len(found)} patterns")


main()
