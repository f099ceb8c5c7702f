"""A small reverse proxy as a process: `python proxy.py PORT PREFIX keep|strip`; it prints its own port."""

from __future__ import annotations

import http.client
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

BACKEND, PREFIX, STRIP = int(sys.argv[1]), sys.argv[2], sys.argv[3] == "strip"
HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding"}


class Proxy(BaseHTTPRequestHandler):
    """Forwards what is below PREFIX to the backend, as nginx does."""

    protocol_version = "HTTP/1.1"

    def forward(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if not self.path.startswith(PREFIX):
            self.send_error(404, "not below the prefix")
            return
        path = self.path.removeprefix(PREFIX) if STRIP else self.path
        headers = {name: value for name, value in self.headers.items() if name.lower() not in HOP_BY_HOP}
        headers |= {"Host": f"127.0.0.1:{BACKEND}", "X-Forwarded-Host": self.headers["host"]}
        backend = http.client.HTTPConnection("127.0.0.1", BACKEND, timeout=30)
        backend.request(self.command, path or "/", body, headers)
        answer = backend.getresponse()
        content = answer.read()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in HOP_BY_HOP | {"content-length"}:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content if self.command != "HEAD" else b"")
        backend.close()

    do_GET = do_HEAD = do_POST = do_DELETE = forward  # noqa: N815

    def log_message(self, *_: object) -> None:
        """Stay silent."""


server = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
print(server.server_address[1], flush=True)
server.serve_forever()
