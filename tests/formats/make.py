"""Makes the files: LibreOffice (on the PATH), Pillow and zip. Run as `python -m tests.formats.make`.

The files are kept, so that no test needs any of these programs; those that are text are their own source.
The messages of Outlook were written by the Node package @kenjiuno/msgreader, and are only kept.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from tests.formats import ENDINGS, FILES, SCANS, facts

_HTML = """<html><head><meta charset="utf-8"><title>{place}</title></head><body>
<h1>The lighthouse of {place}</h1>
<p>It stands on the cliff above the old harbour, and its light is seen for nineteen miles.</p>
<h2>Who looks after it</h2><p>The keeper at {place} is {keeper}.</p>
<table border="1"><tr><th>Part</th><th>Code</th></tr><tr><td>Lamp of {place}</td><td>{code}</td></tr>
<tr><td>Door</td><td>3</td></tr></table></body></html>"""
_ROWS = "Lighthouses,,\n\nLighthouse,Keeper,Lamp code\n{place},{keeper},{code}\nElsewhere,Nobody,12\n"
_MARKDOWN = """# The lighthouse of {place}

It stands on the cliff above the old harbour.

The keeper at {place} is {keeper}.

| Part | Code |
| --- | --- |
| Lamp of {place} | {code} |
"""
_SLIDES = """<?xml version="1.0" encoding="UTF-8"?><office:document
 xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"
 xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"
 xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0"
 xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0"
 xmlns:presentation="urn:oasis:names:tc:opendocument:xmlns:presentation:1.0" office:version="1.2"
 office:mimetype="application/vnd.oasis.opendocument.presentation"><office:body><office:presentation>
<draw:page draw:name="p1"><draw:frame presentation:class="title" svg:x="1cm" svg:y="1cm" svg:width="20cm"
 svg:height="3cm"><draw:text-box><text:p>The lighthouse of {place}</text:p></draw:text-box></draw:frame>
<draw:frame svg:x="1cm" svg:y="5cm" svg:width="20cm" svg:height="3cm"><draw:text-box>
<text:p>The keeper at {place} is {keeper}.</text:p></draw:text-box></draw:frame>
<presentation:notes><draw:frame presentation:class="notes" svg:x="1cm" svg:y="9cm" svg:width="15cm"
 svg:height="5cm"><draw:text-box><text:p>The lamp of {place} has the code {code}.</text:p></draw:text-box>
</draw:frame></presentation:notes></draw:page></office:presentation></office:body></office:document>"""


def main() -> None:
    """Make anew all files that are not text, but for Outlook's."""
    with tempfile.TemporaryDirectory() as folder:
        for ending in ENDINGS:
            for number, (place, keeper, code) in enumerate(facts(ending), start=1):
                told = {"place": place, "keeper": keeper, "code": code}
                path = FILES / f"{number}.{ending}"
                if ending in _OFFICE:
                    _by_office(path, Path(folder), told)
                elif ending == "zip":
                    inner = Path(folder, f"{place}.md")
                    inner.write_text(_MARKDOWN.format(**told), encoding="utf-8")
                    path.unlink(missing_ok=True)
                    subprocess.run(["zip", "-j", "-q", str(path), str(inner)], check=True)
                elif ending in SCANS:
                    _by_camera(path, Path(folder), told)


_AS_TEXT = ["--infilter=HTML (StarWriter)"]
_OFFICE = {
    **dict.fromkeys(("pdf", "docx", "odt", "rtf", "epub"), (".html", _HTML, _AS_TEXT)),
    **dict.fromkeys(("xlsx", "xls", "ods"), (".csv", _ROWS, [])),
    **dict.fromkeys(("pptx", "odp"), (".fodp", _SLIDES, [])),
}


def _by_office(path: Path, folder: Path, told: dict[str, str]) -> Path:
    """Have LibreOffice save a source as what the path's ending says."""
    ending = path.name.partition(".")[2]
    suffix, source, options = _OFFICE[ending]
    given = folder / f"{path.stem}{suffix}"
    given.write_text(source.format(**told), encoding="utf-8")
    kind = "odt:writer8" if ending == "odt" else "docx:Office Open XML Text" if ending == "docx" else ending
    target = ("--convert-to", kind, "--outdir", str(path.parent))
    subprocess.run(
        ["soffice", "--headless", *options, *target, str(given)], check=True, capture_output=True
    )
    return path


def _by_camera(path: Path, folder: Path, told: dict[str, str]) -> None:
    """A page of LibreOffice's, as a scanner or a telephone sees it: askew, with noise."""
    import numpy as np
    import pypdfium2
    from PIL import Image

    page = pypdfium2.PdfDocument(_by_office(folder / "page.pdf", folder, told))[0]
    sheet = page.render(scale=150 / 72).to_pil().convert("L").crop((0, 0, 1240, 700))
    askew = sheet.rotate(2, resample=Image.Resampling.BICUBIC, fillcolor=255)
    noise = np.random.default_rng(7).normal(0, 10, (700, 1240))
    seen = Image.fromarray(np.clip(np.asarray(askew) + noise, 0, 255).astype(np.uint8))
    if path.suffix == ".tiff":
        seen.convert("1").save(path, compression="group4")
    elif path.suffix == ".png":
        seen.quantize(8).save(path)
    else:
        seen.save(path, quality=60)


if __name__ == "__main__":
    main()
