#!/usr/bin/env python3
"""Writes `hot.ld`: which functions a start and a first turn run, as patterns of the names of their sections in each crate.

Usage: generate.py BINARY MAP, where BINARY has symbols and was linked without `hot.ld`, and MAP is its linker's map:

    TILLER_LAYOUT=off cargo rustc --release --features full -p tiller --bin tiller -- -C strip=none -C link-arg=-Wl,-Map=MAP

Runs it once under valgrind, with an editor and a model server of its own. Needs valgrind, and a map as lld writes it.
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


def sizes(map_):
    """The size of every function, by the crate that has it: the same generic function is in many, and run in few."""
    section = re.compile(r"\s*[0-9a-f]+\s+[0-9a-f]+\s+([0-9a-f]+)\s+\d+\s+(\S+):\(\.text\.(\S+)\)$")
    crate = re.compile(r".*/lib(\w+)-[0-9a-f]+\.rlib\(|.*/(tiller)-[0-9a-f]+\.\S*$")
    found = {}
    with open(map_) as lines:
        for line in filter(None, map(section.match, lines)):
            if (file := crate.match(line[2])) is not None:
                found.setdefault(file[1] or file[2], {})[line[3]] = int(line[1], 16)
    return found


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
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    crates = sizes(sys.argv[2])
    if "tiller" not in crates:
        raise SystemExit(f"{sys.argv[2]} is no map of tiller")
    hot = run(sys.argv[1])
    parts, count = [], 0
    for crate, size in sorted(crates.items()):
        found = patterns(size, hot)
        count += len(found)
        if found:
            file = "*/deps/tiller-*" if crate == "tiller" else f"*/lib{crate}-*"
            parts.append(f"    {file}(\n" + "".join(f"      .text.{pattern}\n" for pattern in found) + "    )\n")
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "hot.ld"), "w") as script:
        script.write("/* Written by generate.py: what a start and a first turn run, side by side. What is not named, or named and gone, stands with\n")
        script.write("   the rest: a stale list costs memory and nothing else. */\n")
        script.write("SECTIONS {\n  .text.hot : {\n" + "".join(parts) + "  }\n} INSERT BEFORE .text\n")
    print(f"{count} patterns in {len(parts)} crates")


main()
