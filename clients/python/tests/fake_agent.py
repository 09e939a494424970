"""An agent that does what the text of a prompt says: dies, lies, keeps quiet. It is as bad as agents get.

    python3 fake_agent.py [crash | quiet | stubborn]
"""

import json
import os
import signal
import sys

SESSION = "s1"
received: list = []
answers: dict = {}


def send(message) -> None:
    os.write(1, (json.dumps({"jsonrpc": "2.0", **message}) + "\n").encode())


def event(type, **fields) -> None:
    common = {"protocolVersion": 1, "sessionId": SESSION, "runId": "run_1", "timestamp": 1.5, "type": type}
    send({"method": f"_tiller/{type}", "params": {**common, **fields}})


def update(**fields) -> None:
    send({"method": "session/update", "params": {"sessionId": SESSION, "update": fields}})


def text(said):
    return {"type": "text", "text": said}


def lie() -> None:
    os.write(1, b"no JSON at all\n[1, 2]\n\n\xff\xfe\n")
    send({"id": 999, "result": {}})
    send({"id": "1", "result": {}})
    send({"id": True, "result": {}})
    send({"id": 1, "result": {"protocolVersion": 7}})
    send({"method": "no/such_thing", "params": None})
    send({"method": 7})
    send({"method": "_tiller/text_delta", "params": {"type": "text_delta", "sessionId": SESSION}})
    event("text_delta", delta=7, text="x")
    event("weather", degrees=20)
    event("tool_started", toolCallId="t", tool="x", name="x", title="x", kind="other", args={}, locations=[])
    event("tool_progress", toolCallId="t", tool="x", name="x", status="in_progress", message="half way")
    event("tool_progress", toolCallId="t", tool="x", name="x", status="in_progress")
    event("subagent_tree", tree=[{"id": 1}])
    event("subagent_spawned", entries=[{}])
    send({"method": "session/update", "params": 5})
    send({"method": "session/update", "params": {"sessionId": SESSION, "update": {"sessionUpdate": "plan"}}})
    update(sessionUpdate="weather_update", degrees=20)
    event("status_updated", message="still here")


def in_pieces(id) -> None:
    """An answer that comes byte by byte, after an event that ends in the same write as the answer begins."""
    message = {"jsonrpc": "2.0", "id": id, "result": {"stopReason": "end_turn", "_meta": {"said": "größer 🦀"}}}
    for byte in json.dumps(message, ensure_ascii=False).encode() + b"\r\n":
        os.write(1, bytes([byte]))


def prompt(id, params) -> None:
    word, _, rest = params["prompt"][0]["text"].partition(" ")
    done = {"stopReason": "end_turn"}
    if word == "die":
        event("session_update", status="started")
        event("tool_started", toolCallId="t1", tool="bash", name="bash", title="Run", kind="execute", args={}, locations=[])
        event("permission_requested", toolCallId="t1", tool="bash", name="bash", args={}, toolCall={}, options=[])
        print("the roof is on fire", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    elif word == "exit":
        sys.exit(int(rest))
    elif word == "never":
        event("status_updated", message="not answering")
    elif word == "lie":
        lie()
        send({"id": id, "result": done})
        send({"id": id, "result": {"stopReason": "refusal"}})
        send({"id": id, "error": {"code": 1, "message": "late"}})
    elif word == "split":
        in_pieces(id)
    elif word == "huge":
        send({"id": id, "result": {**done, "_meta": {"said": "x" * int(rest)}}})
    elif word == "error":
        send({"id": id, "error": {"code": -32000, "message": "no credentials", "data": {"code": "auth_required"}}})
    elif word == "raw":
        os.write(1, rest.replace("ID", str(id)).encode() + b"\n")
    elif word == "say":
        event("text_delta", delta=rest, text=rest)
        send({"id": id, "result": done})
    elif word == "ask":
        asked = json.loads(rest)
        send({"id": "ask", **asked})
        answers["ask"] = lambda answer: send({"id": id, "result": {**done, "_meta": {"answer": answer}}})
    elif word in ("unask", "unask-later"):
        send({"id": "ask", **json.loads(rest)})
        answers["ask"] = lambda answer: send({"id": id, "result": {**done, "_meta": {"answer": answer}}})
        answers["unask"] = lambda _: send({"method": "$/cancel_request", "params": {"requestId": "ask"}})
        if word == "unask":
            answers["unask"](None)
    elif word == "late":
        # Answered once it is taken back.
        answers[f"cancel {id}"] = lambda _: (send({"id": id, "result": done}), event("status_updated", message="answered late"))
        event("status_updated", message="waiting")
    elif word == "received":
        send({"id": id, "result": {**done, "_meta": {"received": received}}})
    elif word == "deaf":
        event("status_updated", message="deaf")
        os.close(0)
        # Ends by a signal alone.
        signal.pause()
    else:
        send({"id": id, "result": {**done, "_meta": {"blocks": params["prompt"]}}})


def load(id) -> None:
    update(sessionUpdate="user_message_chunk", content=text("look "), messageId="m1")
    update(sessionUpdate="user_message_chunk", content={"type": "image", "mimeType": "image/png", "data": ""}, messageId="m1")
    update(sessionUpdate="user_message_chunk", content=text("and again"), messageId="m2")
    update(sessionUpdate="agent_thought_chunk", content=text("hm"))
    update(sessionUpdate="agent_message_chunk", content=text("I "))
    update(sessionUpdate="agent_message_chunk", content=text("looked"))
    update(sessionUpdate="tool_call", toolCallId="t1", title="Read a", name="file_read", kind="read", rawInput={"path": "a"})
    content = [{"type": "content", "content": text("hello")}]
    update(sessionUpdate="tool_call_update", toolCallId="t1", status="completed", content=content)
    update(sessionUpdate="tool_call", toolCallId="t2", title="Run b", status="in_progress")
    modes = {"currentModeId": "plan", "availableModes": [{"id": "plan", "name": "Plan"}]}
    send({"id": id, "result": {"modes": modes}})
    update(sessionUpdate="agent_message_chunk", content=text("no part of the history"))


def serve() -> None:
    for line in iter(sys.stdin.readline, ""):
        message = json.loads(line)
        id, method, params = message.get("id"), message.get("method"), message.get("params")
        if method is None:
            answers.pop(id)({key: message[key] for key in ("result", "error") if key in message})
            continue
        received.append(method)
        if method == "initialize":
            send({"id": id, "result": {"protocolVersion": 1, "_meta": {"capabilities": params["clientCapabilities"]}}})
        elif method == "session/new":
            send({"id": id, "result": {"sessionId": SESSION} if params["cwd"] != "/bad" else {"sessionId": 7}})
        elif method == "session/load":
            if params["sessionId"] == "gone":
                send({"id": id, "error": {"code": -32002, "message": "resource not found: no session gone"}})
            else:
                load(id)
        elif method == "session/prompt":
            prompt(id, params)
        elif method == "unask":
            answers.pop("unask")(None)
        elif method == "$/cancel_request":
            answers.pop(f"cancel {params['requestId']}", lambda _: None)(None)
        elif method.startswith("_tiller/"):
            answers[f"cancel {id}"] = lambda _: None
        elif id is not None:
            send({"id": id, "result": None})


def main() -> None:
    way = sys.argv[1] if len(sys.argv) > 1 else ""
    if way == "crash":
        print("one", "two", "cannot read config.toml", sep="\n", file=sys.stderr, flush=True)
        sys.exit(3)
    if way == "quiet":
        sys.stdin.read()
        return
    if way == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        serve()
        while True:
            signal.pause()
    serve()


if __name__ == "__main__":
    main()
