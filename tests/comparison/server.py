"""One model server on loopback that speaks four wires, answers as a script says and keeps every request.

The wires: Chat Completions, Responses (codex), Messages (claude), generateContent (gemini). What a request says is brought
into one form (`Request`), so that a row's script is the same for every agent.
"""

import http.server
import json
import re
import socket
import threading
import time

COMMAND_TOOLS = ["bash", "Bash", "run_shell_command", "exec_command", "shell_command", "shell", "Shell"]


class Request:
    """What one request says, on any wire."""

    def __init__(self, wire, body, size):
        self.wire, self.body, self.size, self.time = wire, body, size, time.monotonic()
        self.tools = {}  # name → schema of its arguments
        self.users = []  # texts of the person
        self.results = []  # texts of tool results
        self.assistants = []  # texts of the model
        self.last = None  # the role of the last message: "user" or "tool"
        getattr(self, "_" + wire)(body)

    @property
    def main(self):
        """Whether it belongs to the conversation: titles and summaries are asked without tools."""
        return bool(self.tools)

    def everything(self):
        """All of its text, as one string, without JSON's escapes."""
        found = []

        def walk(value):
            if isinstance(value, str):
                found.append(value)
            elif isinstance(value, dict):
                [walk(each) for each in value.values()]
            elif isinstance(value, list):
                [walk(each) for each in value]

        walk(self.body)
        return "\n".join(found)

    def _add(self, role, text):
        texts = {"user": self.users, "tool": self.results, "assistant": self.assistants}.get(role)
        if texts is not None:
            texts.append(text)
            self.last = role

    def _chat(self, body):
        for tool in body.get("tools") or []:
            self.tools[tool["function"]["name"]] = tool["function"].get("parameters", {})
        for message in body.get("messages", []):
            role = message["role"]
            if role in ("user", "tool", "assistant"):
                self._add(role, flat(message.get("content")))

    def _responses(self, body):
        for tool in body.get("tools") or []:
            self.tools[tool.get("name", tool["type"])] = tool.get("parameters", {})
        for item in body.get("input") or []:
            if item.get("type") in ("function_call_output", "custom_tool_call_output"):
                self._add("tool", flat(item.get("output")))
            elif item.get("role") in ("user", "assistant"):
                self._add(item["role"], flat(item.get("content")))

    def _messages(self, body):
        for tool in body.get("tools") or []:
            self.tools[tool["name"]] = tool.get("input_schema", {})
        for message in body.get("messages", []):
            content = message["content"]
            if isinstance(content, str):
                content = [{"type": "text", "text": content}]
            for block in content:
                if block["type"] == "tool_result":
                    self._add("tool", flat(block.get("content")))
                elif block["type"] == "text":
                    self._add(message["role"], block["text"])

    def _gemini(self, body):
        for group in body.get("tools") or []:
            for tool in group.get("functionDeclarations", []):
                self.tools[tool["name"]] = tool.get("parametersJsonSchema") or tool.get("parameters", {})
        for content in body.get("contents", []):
            for part in content.get("parts", []):
                if "functionResponse" in part:
                    self._add("tool", json.dumps(part["functionResponse"].get("response", {}), ensure_ascii=False))
                elif "text" in part:
                    self._add("user" if content.get("role", "user") == "user" else "assistant", part["text"])


def flat(content):
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") if isinstance(part, dict) else str(part) for part in content)


def command(line):
    """A call of whatever the agent calls its tool for commands."""
    return ("command", line)


def asks(line):
    """The same, as one that the person is asked about: codex asks where the call itself demands it."""
    return ("ask", line)


def say(text, size=None):
    """Text in pieces of `size` characters, or word by word."""
    pieces = re.findall(r"\S*\s*", text) if size is None else [text[at:at + size] for at in range(0, len(text), size)]
    return [("text", piece) for piece in pieces if piece]


def arguments_for(request, line, ask):
    """The tool for commands and its arguments, by the schema that the request itself has."""
    name = next((name for name in COMMAND_TOOLS if name in request.tools), None)
    if name is None:
        raise LookupError(f"no tool for commands among {sorted(request.tools)}")
    properties = request.tools[name].get("properties", {})
    key = next((key for key in ("command", "cmd") if key in properties), "command")
    value = ["bash", "-lc", line] if properties.get(key, {}).get("type") == "array" else line
    arguments = {key: value}
    if "description" in properties:
        arguments["description"] = "does what was asked"
    if ask and "sandbox_permissions" in properties:
        arguments |= {"sandbox_permissions": "require_escalated", "justification": "May it do what was asked?"}
    return name, arguments


class Server:
    """`play(request)` returns the parts of an answer: ("text", t), ("command" or "ask", line), ("wait", event), ("pause", seconds)."""

    def __init__(self):
        self.requests, self.lock, self.fail = [], threading.Lock(), None
        self.play = lambda request: say("Ready.")
        self.others = []
        owner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                owner.others.append(self.path)
                models = [{"id": "large", "object": "model", "display_name": "large", "type": "model"}]
                self.plain({"object": "list", "data": models, "models": []} if "models" in self.path else {})

            do_HEAD = do_GET

            def plain(self, value, status=200):
                data = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def do_POST(self):
                length = self.headers.get("content-length")
                raw = self.rfile.read(int(length)) if length else self.chunked()
                if self.headers.get("content-encoding") not in (None, "identity"):
                    owner.others.append("encoded " + self.headers["content-encoding"])
                try:
                    owner.post(self, json.loads(raw or b"{}"), len(raw))
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

            def chunked(self):
                data = b""
                while size := int(self.rfile.readline().split(b";")[0] or b"0", 16):
                    data += self.rfile.read(size)
                    self.rfile.readline()
                self.rfile.readline()
                return data

            def begin(self):
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.send_header("connection", "close")
                self.end_headers()
                self.close_connection = True
                self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

            def event(self, value, name=None):
                head = f"event: {name}\n" if name else ""
                self.wfile.write(f"{head}data: {json.dumps(value)}\n\n".encode())

        class Quiet(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass

        self.server = Quiet(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        self.origin = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def post(self, handler, body, size):
        path = handler.path.split("?")[0]
        if path.endswith("/chat/completions"):
            wire = "chat"
        elif path.endswith("/responses"):
            wire = "responses"
        elif path.endswith("/messages"):
            wire = "messages"
        elif path.endswith("enerateContent"):
            wire = "gemini"
        elif "count" in path.lower():
            return handler.plain({"input_tokens": 10, "totalTokens": 10})
        else:
            self.others.append(path)
            return handler.plain({})
        request = Request(wire, body, size)
        with self.lock:
            self.requests.append(request)
        if self.fail:
            return handler.plain({"type": "error", "error": {"type": "api_error", "message": self.fail, "code": 400}}, 400)
        if request.main:
            try:
                parts = self.play(request)
            except Exception as error:  # the agent shows it, and the row's check fails
                parts = say(f"the script failed: {error!r}")
        else:
            parts = say("{}" if "responseSchema" in json.dumps(body) or "responseJsonSchema" in json.dumps(body) else "A title")
        streams = body.get("stream", path.endswith("streamGenerateContent"))
        WIRES[wire](handler, request, self.perform(request, parts), streams)

    def perform(self, request, parts):
        """Pauses and waits happen here; the wires see texts and calls."""
        for kind, value in parts:
            if kind == "wait":
                value.wait(60)
            elif kind == "pause":
                time.sleep(value)
            elif kind in ("command", "ask"):
                yield ("call", arguments_for(request, value, kind == "ask"))
            else:
                yield (kind, value)

    def main_requests(self):
        with self.lock:
            return [request for request in self.requests if request.main]


def identifier(start):
    return f"{start}{time.monotonic_ns()}"


def chat(handler, request, parts, streams):
    head = {"id": identifier("c"), "object": "chat.completion.chunk", "created": int(time.time()), "model": "large"}
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    if not streams:
        text = "".join(value for kind, value in parts if kind == "text")
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return handler.plain({**head, "object": "chat.completion", "choices": [choice], "usage": usage})
    handler.begin()
    reason, calls = "stop", 0
    handler.event({**head, "choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}]})
    for kind, value in parts:
        delta = {"content": value}
        if kind == "call":
            function = {"name": value[0], "arguments": json.dumps(value[1])}
            delta = {"tool_calls": [{"index": calls, "id": identifier("call"), "type": "function", "function": function}]}
            reason, calls = "tool_calls", calls + 1
        handler.event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    handler.event({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage})
    handler.wfile.write(b"data: [DONE]\n\n")


def responses(handler, request, parts, streams):
    usage = {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 10,
             "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 110}
    response = {"id": identifier("resp_"), "object": "response", "status": "in_progress", "model": "large", "output": []}
    output, text, item = [], "", None

    def close():
        nonlocal item, text
        if item:
            done = {**item, "status": "completed", "content": [{"type": "output_text", "text": text, "annotations": []}]}
            output.append(done)
            handler.event({"type": "response.output_item.done", "output_index": len(output) - 1, "item": done},
                          "response.output_item.done")
            item, text = None, ""

    handler.begin()
    handler.event({"type": "response.created", "response": response}, "response.created")
    for kind, value in parts:
        if kind == "text":
            if item is None:
                item = {"type": "message", "id": identifier("msg_"), "role": "assistant", "status": "in_progress", "content": []}
                handler.event({"type": "response.output_item.added", "output_index": len(output), "item": item},
                              "response.output_item.added")
            text += value
            handler.event({"type": "response.output_text.delta", "item_id": item["id"], "output_index": len(output),
                           "content_index": 0, "delta": value}, "response.output_text.delta")
        elif kind == "call":
            close()
            call = {"type": "function_call", "id": identifier("fc_"), "call_id": identifier("call_"), "name": value[0],
                    "arguments": json.dumps(value[1]), "status": "completed"}
            output.append(call)
            handler.event({"type": "response.output_item.added", "output_index": len(output) - 1, "item": call},
                          "response.output_item.added")
            handler.event({"type": "response.output_item.done", "output_index": len(output) - 1, "item": call},
                          "response.output_item.done")
    close()
    response = {**response, "status": "completed", "output": output, "usage": usage}
    handler.event({"type": "response.completed", "response": response}, "response.completed")


def messages(handler, request, parts, streams):
    usage = {"input_tokens": 100, "output_tokens": 1, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    model = request.body.get("model", "large")
    message = {"id": identifier("msg_"), "type": "message", "role": "assistant", "model": model, "content": [],
               "stop_reason": None, "stop_sequence": None, "usage": usage}
    if not streams:
        text = "".join(value for kind, value in parts if kind == "text")
        return handler.plain({**message, "content": [{"type": "text", "text": text}], "stop_reason": "end_turn"})
    index, is_open, reason = -1, False, "end_turn"

    def send(kind, **fields):
        handler.event({"type": kind, **fields}, kind)

    def close():
        nonlocal is_open
        if is_open:
            send("content_block_stop", index=index)
            is_open = False

    handler.begin()
    send("message_start", message=message)
    for kind, value in parts:
        if kind == "text":
            if not is_open:
                index, is_open = index + 1, True
                send("content_block_start", index=index, content_block={"type": "text", "text": ""})
            send("content_block_delta", index=index, delta={"type": "text_delta", "text": value})
        elif kind == "call":
            close()
            index, reason = index + 1, "tool_use"
            block = {"type": "tool_use", "id": identifier("toolu_"), "name": value[0], "input": {}}
            send("content_block_start", index=index, content_block=block)
            send("content_block_delta", index=index, delta={"type": "input_json_delta", "partial_json": json.dumps(value[1])})
            send("content_block_stop", index=index)
    close()
    send("message_delta", delta={"stop_reason": reason, "stop_sequence": None}, usage={"output_tokens": 10})
    send("message_stop")


def gemini(handler, request, parts, streams):
    usage = {"promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110}

    def candidate(part, reason=None):
        value = {"content": {"role": "model", "parts": [part]}, "index": 0}
        if reason:
            value["finishReason"] = reason
        return {"candidates": [value], "usageMetadata": usage, "modelVersion": "large", "responseId": identifier("r")}

    if not streams:
        return handler.plain(candidate({"text": "".join(value for kind, value in parts if kind == "text")}, "STOP"))
    handler.begin()
    for kind, value in parts:
        part = {"text": value}
        if kind == "call":
            part = {"functionCall": {"id": identifier("call"), "name": value[0], "args": value[1]}}
        handler.event(candidate(part))
    handler.event(candidate({"text": ""}, "STOP"))


WIRES = {"chat": chat, "responses": responses, "messages": messages, "gemini": gemini}
