"""The two engines behind one protocol, and what they say when they cannot answer."""

from __future__ import annotations

from unittest.mock import Mock

import ddgs
import pytest
from ddgs.exceptions import DDGSException, RatelimitException, TimeoutException

from agent.web.search import Ddgs, SearchEngine, Searxng, WebUnreachable
from tests.agent.web.loopback import Answer, SearxngServer

_JSON = "application/json"


def test_ddgs_is_asked_with_a_time_out_and_named_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [
        {"title": "One", "href": "https://a.example/1", "body": "first"},
        {"title": "One again", "href": "https://a.example/1", "body": "first"},
        {"title": "Mail", "href": "mailto:me@a.example", "body": ""},
        {"title": "Two", "href": "https://b.example/2", "body": "second"},
        {"title": "Three", "href": "https://c.example/3", "body": "third"},
    ]
    double = Mock()
    text = double.return_value.text
    text.return_value = found
    monkeypatch.setattr(ddgs, "DDGS", double)
    engine: SearchEngine = Ddgs()
    assert engine.search("who makes it?", 2) == ["https://a.example/1", "https://b.example/2"]
    assert text.call_args.args == ("who makes it?",)
    assert double.call_args.kwargs["timeout"] > 0
    assert text.call_args.kwargs["backend"] == "duckduckgo,brave,mojeek"
    text.side_effect = DDGSException("No results found.")
    assert engine.search("who?", 2) == []


def test_the_engines_that_ddgs_is_asked_for_exist() -> None:
    from ddgs.engines import ENGINES

    assert set(Ddgs._ENGINES.split(",")) <= set(ENGINES["text"])


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (RatelimitException("202"), "accept no more"),
        (TimeoutException("timed out"), "in time"),
        (DDGSException("ConnectError: dns error"), "No search engine can be reached"),
    ],
)
def test_errors_of_ddgs_are_sentences(
    error: Exception, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ddgs, "DDGS", Mock(**{"return_value.text.side_effect": error}))
    with pytest.raises(WebUnreachable, match=words) as caught:
        Ddgs().search("x", 3)
    assert caught.value.way_out


def test_searxng_is_asked_for_json() -> None:
    with SearxngServer({"https://a.example/1": "One", "ftp://a.example/2": "Two"}) as server:
        engine: SearchEngine = Searxng(f"{server.url}/")
        (found,) = engine.search("größte & beste?", 5)
    assert found == "https://a.example/1"
    assert server.queries == ["größte & beste?"]
    assert engine.name == f"SearXNG at {server.host}"


@pytest.mark.parametrize(
    ("fault", "words", "way_out"),
    [
        (Answer(b"Forbidden", status=403), "does not give its results to programs", "formats"),
        (Answer(b"Too many", status=429), "accepts no more searches", "Wait"),
        (Answer(b"", status=502), "answers 502", "web_search"),
        (Answer(b"<html>the page for people</html>"), "is not a SearXNG server", "web_search"),
        (Answer(b'{"answer": 42}', _JSON), "is not a SearXNG server", "web_search"),
        (Answer(b'{"results": [{"title": "no url"}]}', _JSON), "is not a SearXNG server", "web_search"),
        (Answer(b'{"results": []', _JSON), "is not a SearXNG server", "web_search"),
    ],
)
def test_what_goes_wrong_with_searxng_is_a_sentence(fault: Answer, words: str, way_out: str) -> None:
    with SearxngServer({}, fault) as server, pytest.raises(WebUnreachable, match=words) as caught:
        Searxng(server.url).search("x", 3)
    assert way_out in caught.value.way_out
