"""A proxy on loopback that answers for an official host itself, so that tools can be given their own addresses."""

from __future__ import annotations

import ssl
import subprocess
import threading
from http.server import ThreadingHTTPServer
from pathlib import Path
from types import TracebackType

from loopback_index import IndexHandler, LoopbackIndex


class OfficialProxy:
    """``variables`` lead a tool's requests for ``host`` here; a certificate for it is made by openssl in ``folder``."""

    def __init__(self, index: LoopbackIndex, host: str, folder: Path) -> None:
        self.index, self.certificate = index, folder / "certificate.pem"
        key = folder / "key.pem"
        command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=loopback"
        extensions = [f"subjectAltName=DNS:{host}", "basicConstraints=critical,CA:FALSE"]
        words = [*command.split(), *(word for extension in extensions for word in ("-addext", extension))]
        subprocess.run([*words, "-keyout", key, "-out", self.certificate], check=True, capture_output=True)
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(self.certificate, key)

    @property
    def variables(self) -> dict[str, str]:
        """Everything goes through the proxy but loopback, and its certificate is trusted."""
        return {
            "HTTPS_PROXY": self.url,
            "NO_PROXY": "127.0.0.1",
            "SSL_CERT_FILE": str(self.certificate),
            "PIP_CERT": str(self.certificate),
        }

    def __enter__(self) -> OfficialProxy:  # noqa: PYI034 - typing.Self is newer than Python 3.10
        handler = type("Handler", (_TunnelHandler,), {"index": self.index, "context": self._context})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()


class _TunnelHandler(IndexHandler):
    context: ssl.SSLContext

    def do_CONNECT(self) -> None:  # noqa: N802 - as http.server calls it
        """Agree to the tunnel, and be its other end; tools open more of them than they use."""
        self.send_response_only(200)
        self.end_headers()
        try:
            self.connection = self.context.wrap_socket(self.connection, server_side=True)
        except OSError:
            self.close_connection = True
            return
        self.rfile = self.connection.makefile("rb", -1)
        self.wfile = self.connection.makefile("wb", 0)
        self.close_connection = False

    def finish(self) -> None:
        """Close the tunnel as well: the server knows only of the connection that it was made from."""
        super().finish()
        self.connection.close()
