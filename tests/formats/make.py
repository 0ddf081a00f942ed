"""Makes the files: LibreOffice (on the PATH), Pillow, zip, and a writer of Outlook's container for Node.

Run as `python -m tests.formats.make`, after `npm install --prefix FOLDER @kenjiuno/msgreader` with
NODE_PATH=FOLDER/node_modules. The files are kept, so that no test needs any of these programs; those that
are text are their own source.
"""

from __future__ import annotations

import base64
import json
import struct
import subprocess
import tempfile
from datetime import UTC, datetime
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
_OUTLOOK = """const {{burn}} = require("@kenjiuno/msgreader/lib/Burner"); const fs = require("fs");
const given = JSON.parse(fs.readFileSync(0)); const entries = given.entries.map((entry) => {{
  const data = entry.data === undefined ? undefined : Uint8Array.from(Buffer.from(entry.data, "base64"));
  return {{name: entry.name, type: entry.type, children: entry.children,
    binaryProvider: data && (() => data), length: data ? data.length : 0}}; }});
fs.writeFileSync(given.path, Buffer.from(burn(entries)));"""


def main() -> None:
    """Make anew all files that are not text."""
    with tempfile.TemporaryDirectory() as folder:
        for ending in ENDINGS:
            for number, (place, keeper, code) in enumerate(facts(ending), start=1):
                told = {"place": place, "keeper": keeper, "code": code}
                path = FILES / f"{number}.{ending}"
                if ending in _OFFICE:
                    _by_office(path, Path(folder), told)
                elif ending == "msg":
                    _by_node(path, told)
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
    command = [
        "soffice",
        "--headless",
        *options,
        "--convert-to",
        kind,
        "--outdir",
        str(path.parent),
        str(given),
    ]
    subprocess.run(command, check=True, capture_output=True)
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


def _by_node(path: Path, told: dict[str, str]) -> None:
    """A message with an attachment, as Outlook lays it out."""
    sent = (
        datetime(2024, 3, 5, 9, 41, tzinfo=UTC) - datetime(1601, 1, 1, tzinfo=UTC)
    ).total_seconds() * 10**7
    head = struct.pack("<32xHHIQ", 0x40, 0x0039, 6, int(sent))
    texts = {
        0x0037: f"The lamp of {told['place']}",
        0x0C1A: told["keeper"],
        0x5D01: f"keeper@{told['place'].lower()}.example",
        0x0E04: "Harbour Office",
        0x1000: f"The keeper at {told['place']} is {told['keeper']}.\r\nThe list is attached.\r\n",
    }
    listed = f"Lighthouse,Lamp code\n{told['place']},{told['code']}\nElsewhere,12\n".encode()
    inner = [
        ("__properties_version1.0", bytes(8)),
        ("__substg1.0_3707001F", f"lamps-{told['place']}.csv".encode("utf-16-le")),
        ("__substg1.0_37010102", listed),
    ]
    outer = [("__properties_version1.0", head)]
    outer += [(f"__substg1.0_{number:04X}001F", text.encode("utf-16-le")) for number, text in texts.items()]
    first = len(outer) + 2
    entries: list[dict[str, object]] = [{"name": "Root Entry", "type": 5, "children": [*range(1, first)]}]
    entries += [_stream(name, data) for name, data in outer]
    entries.append(
        {
            "name": "__attach_version1.0_#00000000",
            "type": 1,
            "children": [*range(first, first + len(inner))],
        }
    )
    entries += [_stream(name, data) for name, data in inner]
    given = json.dumps({"path": str(path), "entries": entries}).encode()
    subprocess.run(["node", "-e", _OUTLOOK.format()], input=given, check=True)


def _stream(name: str, data: bytes) -> dict[str, object]:
    return {"name": name, "type": 2, "data": base64.b64encode(data).decode()}


if __name__ == "__main__":
    main()
