"""A model server on loopback for tests of subagents. It speaks chat completions, and answers as it was told for each agent, when it is told.

Which agent asks is seen by its first message: the session's is PROMPT, an agent's its task.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PROMPT = "Send them out"


class ModelServer:
    """`answers` has a list of answers by the text of an agent's first message: a text, a list of subagents to request, a status of HTTP.

    Each answer waits until its agent was released once more: `release`. The session's own need no release.
    """

    def __init__(self, answers: dict) -> None:
        self.answers = {first: list(those) for first, those in answers.items()}
        self.released = {first: threading.Semaphore(0) for first in answers}
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
                answer = server.answer(asked)
                if answer is None:
                    self.close_connection = True
                elif isinstance(answer, int):
                    self.reply(answer, "application/json", json.dumps({"error": {"message": "no such luck", "code": "test"}}))
                else:
                    self.reply(200, "text/event-stream", stream(answer))

            def do_GET(self) -> None:
                self.reply(404, "application/json", "{}")

            def reply(self, status: int, kind: str, body: str) -> None:
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body.encode())))
                self.end_headers()
                try:
                    self.wfile.write(body.encode())
                except OSError:
                    # The agent was cancelled, and nobody waits for the answer.
                    self.close_connection = True

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.thread = threading.Thread(target=self.http.serve_forever, daemon=True)
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.http.server_port}/v1"

    def answer(self, asked: dict):
        texts = [str(one["content"]) for one in asked["messages"] if one["role"] == "user"]
        first = next((first for first in self.answers if any(first in text for text in texts)), None)
        if first is None:
            return 400
        if first != PROMPT:
            self.released[first].acquire()
        return self.answers[first].pop(0) if self.answers[first] else None

    def release(self, first: str) -> None:
        """Sends the next answer of an agent, now or when it asks."""
        self.released[first].release()

    def close(self) -> None:
        for released in self.released.values():
            released.release(100)
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()


def stream(answer) -> str:
    """An answer as server-sent events."""
    if isinstance(answer, list):
        call = {"index": 0, "id": "call_1", "type": "function"}
        delta = {"tool_calls": [{**call, "function": {"name": "subagent", "arguments": json.dumps({"agents": answer})}}]}
    else:
        delta = {"content": answer}
    end = "tool_calls" if isinstance(answer, list) else "stop"
    chunks = [{"delta": {"role": "assistant", **delta}, "finish_reason": None}, {"delta": {}, "finish_reason": end}]
    lines = [{"id": "c", "object": "chat.completion.chunk", "choices": [{"index": 0, **chunk}]} for chunk in chunks]
    lines.append({"id": "c", "object": "chat.completion.chunk", "choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 20}})
    return "".join(f"data: {json.dumps(one)}\n\n" for one in lines) + "data: [DONE]\n\n"
