"""`deepthink ingest URL`: refused while the web is off, else read, here from a server on this machine."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from agent.web.fetch import Fetcher, Limits
from tests.agent.web.loopback import Answer, Site
from tests.agent.web.pages import FILING
from tests.tui.conftest import Run
from traces.library import Library
from tui.assemble import open_store
from tui.settings.settings import Settings


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A site that the command may fetch from, although it is on this machine."""
    forbids = Answer(b"User-agent: *\nDisallow: /", "text/plain")
    answers: dict[str, Answer | bytes] = {"/tlv-20241231.htm": FILING.encode(), "/robots.txt": forbids}
    with Site(answers) as made:

        def open_fetcher(settings: Settings, limits: Limits | None = None) -> Fetcher:
            return Fetcher(
                contact=settings.web_contact, limits=limits, allowed_hosts=frozenset({made.host})
            )

        monkeypatch.setattr("tui.assemble.open_fetcher", open_fetcher)
        yield made


def test_an_address_is_refused_while_the_web_is_off(site: Site, deepthink: Run) -> None:
    told = deepthink("ingest", f"{site.url}/tlv-20241231.htm").refused()
    assert "nothing is fetched while the web is off" in told
    assert "--web" in told
    assert "deepthink config set web true" in told
    assert site.asked == []


def test_with_the_web_on_it_is_read_and_known_again(site: Site, deepthink: Run) -> None:
    url = f"{site.url}/tlv-20241231.htm"
    ran = deepthink("ingest", url, "--web", "-c", "filings")
    assert (ran.code, ran.err) == (0, "")
    assert "1 added in " in ran.out
    (document,) = Library(open_store()).documents("filings")
    assert (document.source, document.date) == (url, "2024-12-31")
    assert site.asked == ["/tlv-20241231.htm"], "a person named it, so robots.txt is not asked"
    assert deepthink("config", "set", "web", "true").code == 0
    assert deepthink("ingest", url, "-c", "filings").out.startswith("1 unchanged in ")


def test_files_and_addresses_go_together_and_fail_apart(site: Site, folder: object, deepthink: Run) -> None:
    ran = deepthink("ingest", str(folder), f"{site.url}/gone.pdf", f"{site.url}/tlv-20241231.htm", "--web")
    assert ran.code == 4
    assert ran.out.splitlines()[-1].startswith("3 added, 1 failed in ")
    assert "answers 404 (Not Found)" in ran.err
    assert "Check the address." in ran.err


def test_the_web_is_opened_only_if_it_is_on() -> None:
    program = (
        "import sys; from tui.assemble import open_web; from tui.settings.settings import Settings; "
        "import tui.cli, agent.documents.ingest; assert open_web(Settings(), None, None) is None; "
        "print([m for m in sys.modules if m.startswith(('agent.web', 'ddgs', 'trafilatura'))])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
