import io
import shutil
import threading
import time
from pathlib import Path
from typing import Any, Iterator, List, Optional

import pytest
import uvicorn
from playwright.sync_api import Browser, sync_playwright

from bidaf_plugin.server.application import create_application
from bidaf_plugin.server.models import ServedModel
from bidaf_plugin.server.run import open_socket
from bidaf_plugin.server.service import Service
from tests.server.page.visit import Visit

_PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def find_browser(playwright: Any) -> Optional[str]:
    """The program of a Chromium, or None if there is none."""
    found = [path for name in _PROGRAMS if (path := shutil.which(name))]
    own = playwright.chromium.executable_path
    return found[0] if found else own if Path(own).is_file() else None


@pytest.fixture(scope="package")
def address(served_models: List[ServedModel]) -> Iterator[str]:
    """Of a server that runs meanwhile."""
    app = create_application(Service(served_models), log_stream=io.StringIO())
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False))
    with open_socket("127.0.0.1", 0) as opened:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [opened]}, daemon=True)
        thread.start()
        while not server.started and thread.is_alive():
            time.sleep(0.01)
        yield f"http://127.0.0.1:{opened.getsockname()[1]}/"
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        program = find_browser(playwright)
        if program is None:
            pytest.skip("needs a Chromium: install one, or `playwright install chromium`")
        # Root, which tests in containers are, may not use the sandbox.
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def only_visit(browser: Browser, address: str) -> Visit:
    return Visit(browser.new_page(), address)


@pytest.fixture
def visit(only_visit: Visit) -> Iterator[Visit]:
    """The page as it is at first. It must neither complain nor ask other hosts."""
    only_visit.page.set_viewport_size({"width": 1280, "height": 900})
    only_visit.page.emulate_media(color_scheme="light")
    only_visit.open().problems.clear()
    yield only_visit
    only_visit.page.unroute_all()
    only_visit.page.evaluate("localStorage.clear()")
    assert only_visit.problems == []
