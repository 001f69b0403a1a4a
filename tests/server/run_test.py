import json
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from threading import Thread
from typing import Callable, Iterator, List, Tuple

import httpx
import pytest

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.server import run
from bidaf_plugin.server.run import GracefulServer, address_of, hosts_of, open_socket
from bidaf_plugin.server.service import Service
from tests.helpers import ROOT
from tests.server.helpers import SlowModel, running

BODY = {"question": "a", "passage": "Ada."}

HALF_A_HEADER = b"GET /api/health HTTP/1.1\r\nHost: localhost\r\nX: "
# The first is sent piece by piece, so that its request stays open; the second at once.
LARGE_FILES = ["/docs/swagger/swagger-ui-bundle.js", "/openapi.json"]


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


def wait_until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.1)


def connect(address: str) -> socket.socket:
    opened = socket.socket()
    opened.settimeout(10)
    # So that little of a response that nobody reads is on its way.
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    host, port = address.removeprefix("http://").split(":")
    opened.connect((host, int(port)))
    return opened


def read_all(opened: socket.socket) -> Tuple[bytes, bytes]:
    """The first line of a response and its body, after which the connection ends."""
    content = b""
    while data := opened.recv(1_000):
        content += data
    head, _, body = content.partition(b"\r\n\r\n")
    return head.partition(b"\r\n")[0], body


def leave_unread(
    server: GracefulServer, address: str, path: str, stack: ExitStack
) -> socket.socket:
    """Asks for a file, and reads no more of it than the beginning; the server is stuck then."""
    server.servers[0].sockets[0].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4_096)
    opened = stack.enter_context(connect(address))
    opened.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    assert opened.recv(15) == b"HTTP/1.1 200 OK"
    sizes: List[int] = []

    def is_stuck() -> bool:
        (only,) = server._connections()
        sizes.append(only.transport.get_write_buffer_size())
        return sizes[-1] > 0 and sizes[-2:] == [sizes[-1]] * 2

    wait_until(is_stuck)
    return opened


@pytest.fixture
def server() -> Iterator[Tuple[str, GracefulServer]]:
    with running(Service([SlowModel()])) as found:
        yield found


class TestConnection:
    def test_headers_must_come_in_time(
        self, server: Tuple[str, GracefulServer], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(run, "HEADER_SECONDS", 1.0)
        with connect(server[0]) as silent, connect(server[0]) as slow:
            slow.sendall(HALF_A_HEADER)
            for _ in range(2):
                time.sleep(0.15)
                # A little now and then does not help.
                slow.sendall(b"x")
            line, body = read_all(slow)
            assert line == b"HTTP/1.1 408 Request Timeout"
            assert json.loads(body) == {"error": "the headers have not come within 1 seconds"}
            assert silent.recv(1) == b""

    def test_headers_of_a_second_request_must_come_in_time(
        self, server: Tuple[str, GracefulServer], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(run, "HEADER_SECONDS", 1.0)
        with connect(server[0]) as opened:
            opened.sendall(HALF_A_HEADER + b"x\r\n\r\n" + HALF_A_HEADER)
            line, body = read_all(opened)
            assert line == b"HTTP/1.1 200 OK"
            assert b"HTTP/1.1 408 Request Timeout" in body

    def test_a_model_may_take_longer(self, monkeypatch: pytest.MonkeyPatch) -> None:
        model = SlowModel()
        with running(Service([model])) as (address, _):
            answers = []
            question = {"question": "a", "passage": "Ada."}
            url = f"{address}/api/answer"
            client = Thread(target=lambda: answers.append(httpx.post(url, json=question).json()))
            client.start()
            assert model.started.wait(10)
            monkeypatch.setattr(run, "HEADER_SECONDS", 0.1)
            time.sleep(0.5)
            model.let_go.set()
            client.join(10)
            assert answers == [{"model": "slow", "text": "a"}]

    @pytest.mark.parametrize("path", LARGE_FILES)
    def test_a_response_must_be_read_in_time(
        self, server: Tuple[str, GracefulServer], monkeypatch: pytest.MonkeyPatch, path: str
    ) -> None:
        with ExitStack() as stack:
            opened = leave_unread(server[1], server[0], path, stack)
            monkeypatch.setattr(run, "READING_SECONDS", 0.1)
            wait_until(lambda: not server[1].server_state.connections)
            assert len(read_all(opened)[1]) < len(httpx.get(f"{server[0]}{path}").content)

    def test_too_many_connections_are_told_so(
        self, server: Tuple[str, GracefulServer], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(run, "MAX_CONNECTIONS", 3)
        url = f"{server[0]}/api/health"
        with ExitStack() as stack:
            for _ in range(3):
                stack.enter_context(connect(server[0]))
            with connect(server[0]) as opened:
                line, body = read_all(opened)
            assert line == b"HTTP/1.1 503 Service Unavailable"
            assert "too many connections" in json.loads(body)["error"]
            assert len(server[1].server_state.connections) == 3
        wait_until(lambda: len(server[1].server_state.connections) < 3)
        assert httpx.get(url).status_code == 200

    def test_what_is_not_http_gets_a_sentence(self, server: Tuple[str, GracefulServer]) -> None:
        for content in (b"\x16\x03\x01\r\n\r\n", b"GET / HTTP/1.1\r\nx: " + b"x" * 70_000):
            with connect(server[0]) as opened:
                opened.sendall(content)
                line, body = read_all(opened)
            assert line == b"HTTP/1.1 400 Bad Request"
            assert json.loads(body) == {"error": "this is not an HTTP request"}


class TestEnd:
    @pytest.mark.parametrize("path", LARGE_FILES)
    def test_a_client_that_does_not_read_does_not_keep_the_server(
        self, monkeypatch: pytest.MonkeyPatch, path: str
    ) -> None:
        monkeypatch.setattr(run, "LAST_SECONDS", 0.5)
        with ExitStack() as stack:
            with running(Service([SlowModel()])) as (address, server):
                leave_unread(server, address, path, stack)
                told = time.monotonic()
            # `running` has told it to stop, and has seen it end.
            assert time.monotonic() - told < 20

    def test_clients_that_never_stop_asking_do_not_keep_the_server(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(run, "LAST_SECONDS", 0.5)
        service = Service([SlowModel()], timeout=0.5)
        with running(service) as (_, server):
            # As if there were an open request whenever somebody looks.
            service.num_open_requests += 1
            server.handle_exit(signal.SIGTERM, None)
            wait_until(lambda: not server.servers[0].is_serving())


PROGRAM = """
import resource
from bidaf_plugin.server.run import address_of, make_server, open_socket
from bidaf_plugin.server.service import Service
from tests.server.helpers import SlowModel
opened = open_socket("127.0.0.1", 0)
opened.listen()
server = make_server(Service([SlowModel()]), "127.0.0.1")
resource.setrlimit(resource.RLIMIT_NOFILE, (30, 30))
print(address_of("127.0.0.1", opened), flush=True)
server.run(sockets=[opened])
"""


def test_without_files_left_the_server_waits_and_says_so_once() -> None:
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", PROGRAM],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        with ExitStack() as stack:
            for _ in range(60):
                stack.enter_context(connect(address))
            time.sleep(2.5)
        assert httpx.get(f"{address}/api/health", timeout=30).status_code == 200
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0, errors
    complaints = [line for line in errors.splitlines() if "/api/health" not in line]
    assert len(complaints) == 1, errors
    assert "cannot accept more connections (Too many open files)" in complaints[0]
