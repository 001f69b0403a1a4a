import signal
import socket
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.server.run import address_of, hosts_of, open_socket
from bidaf_plugin.server.service import Service
from tests.server.helpers import running
from tests.server.slow_model import SlowModel

BODY = {"question": "a", "passage": "Ada."}


class TestRun:
    def test_sigterm_loses_no_request(self) -> None:
        model = SlowModel()
        with running(Service([model])) as (address, server), ThreadPoolExecutor() as pool:
            url = f"{address}/api/answer"
            # They have their connections before, as users have.
            clients = [httpx.Client() for _ in range(3)]
            for client in clients:
                client.get(f"{address}/api/health")
            accepted = [pool.submit(client.post, url, json=BODY) for client in clients[:2]]
            assert model.started.wait(10)
            while httpx.get(f"{address}/api/health").json()["queue"] < 2:
                pass
            server.handle_exit(signal.SIGTERM, None)
            # Whoever comes now is told so, on a connection from before or on a new one.
            assert clients[2].post(url, json=BODY).status_code == 503
            assert httpx.post(url, json=BODY).status_code == 503
            model.let_go.set()
            assert [job.result().json()["text"] for job in accepted] == ["a", "a"]
        with pytest.raises(httpx.ConnectError):
            httpx.get(address)

    def test_a_body_that_does_not_come(self) -> None:
        with running(Service([SlowModel()], timeout=0.3)) as (address, _):
            host, port = address.removeprefix("http://").split(":")
            with socket.create_connection((host, int(port)), timeout=10) as connection:
                connection.sendall(
                    b"POST /api/answer HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n"
                    b"Content-Type: application/json\r\n\r\n{"
                )
                assert connection.recv(1000).startswith(b"HTTP/1.1 408")

    def test_a_body_without_a_length_is_counted(self) -> None:
        with running(Service([SlowModel()])) as (address, _):
            chunks = (b" " * 100_000 for _ in range(30))
            headers = {"Content-Type": "application/json"}
            response = httpx.post(f"{address}/api/answer", content=chunks, headers=headers)
            assert response.status_code == 413

    def test_addresses(self) -> None:
        with open_socket("127.0.0.1", 0) as opened:
            port = opened.getsockname()[1]
            assert address_of("localhost", opened) == f"http://localhost:{port}"
            assert address_of("::1", opened) == f"http://[::1]:{port}"
            assert opened.proto == socket.IPPROTO_TCP
            opened.listen()
            with pytest.raises(DataError, match=f"port {port} .*in use"):
                open_socket("127.0.0.1", port)
        for host, port in (("no such host", 0), ("203.0.113.1", 0)):
            with pytest.raises(DataError, match="--host and --port"):
                open_socket(host, port)

    def test_names_of_the_host(self) -> None:
        assert hosts_of("0.0.0.0") is None
        assert hosts_of("Mill.example") == {"localhost", "127.0.0.1", "::1", "mill.example"}
