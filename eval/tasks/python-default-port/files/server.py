import os
from http.server import BaseHTTPRequestHandler, HTTPServer

HOST = "127.0.0.1"
FALLBACK_PORT = 8742
BACKLOG = 64


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        body = b"ok\n"
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def port():
    """The port from the environment, or the usual one."""
    text = os.environ.get("SERVICE_PORT", "")
    return int(text) if text.isdigit() else FALLBACK_PORT


def main():
    server = HTTPServer((HOST, port()), Handler)
    server.request_queue_size = BACKLOG
    print(f"listening on {HOST}:{server.server_port}")
    server.serve_forever()


if __name__ == "__main__":
    main()
