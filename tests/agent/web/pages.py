"""Pages as sites have them: an article among navigation and footer, and the beginning of a filing."""

from __future__ import annotations

_ARTICLE = """<!doctype html>
<html lang="en"><head><title>{title} | The Daily Bearing</title>{meta}</head><body>
<nav><ul><li><a href="/">Home</a></li><li><a href="/markets">Markets</a></li><li>Subscribe</li></ul></nav>
<main><article><h1>{title}</h1>{paragraphs}
<h2>Figures</h2><table><tr><th>Year</th><th>Units</th></tr><tr><td>2023</td><td>4,120</td></tr>
<tr><td>2024</td><td>5,310</td></tr></table></article></main>
<aside><h3>Most read</h3><p>Ten ways to grease a bearing.</p></aside>
<footer>Copyright 2019 The Daily Bearing. We use cookies.</footer></body></html>"""

FILING = """<?xml version="1.0" encoding="UTF-8"?>
<html xmlns:ix="http://www.xbrl.org/2013/inlineXBRL"><head><title>tlv-20241231</title></head><body>
<div>FORM 10-K</div><div>For the fiscal year ended December 31, 2024</div><div>Tolvang Corp</div>
<div>(Exact name of registrant as specified in its charter)</div>
<div><b>Item 8. Financial Statements</b></div>
<table><tr><td></td><td>2024</td><td>2023</td></tr><tr><td>Revenue</td><td>$812</td><td>$640</td></tr>
<tr><td>Net income</td><td>$95</td><td>$71</td></tr></table></body></html>"""


def article(title: str, *paragraphs: str, date: str = "") -> bytes:
    meta = f'<meta property="article:published_time" content="{date}T08:00:00Z">' if date else ""
    text = "".join(f"<p>{paragraph}</p>" for paragraph in paragraphs)
    return _ARTICLE.format(title=title, meta=meta, paragraphs=text).encode()
