# SPDX-License-Identifier: Apache-2.0
"""Workbooks for tests: reading cells, changing inputs, computing anew in LibreOffice."""
import pathlib
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
import zipfile

MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
# Other programs believe the results that stand in a file; this setting makes them compute anew.
SETTINGS = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">
<item oor:path="/org.openoffice.Office.Calc/Formula/Load">
<prop oor:name="OOXMLRecalcMode" oor:op="fuse"><value>0</value></prop></item>
</oor:items>
"""


class Workbook:
    """The parts of an .xlsx file, its sheets by name and its defined names."""

    def __init__(self, path):
        with zipfile.ZipFile(path) as archive:
            self.parts = {name: archive.read(name) for name in archive.namelist()}
        self.strings = []
        if "xl/sharedStrings.xml" in self.parts:
            for item in ET.fromstring(self.parts["xl/sharedStrings.xml"]):
                self.strings.append("".join(text.text or "" for text in item.iter(MAIN + "t")))
        book = ET.fromstring(self.parts["xl/workbook.xml"])
        relations = ET.fromstring(self.parts["xl/_rels/workbook.xml.rels"])
        target = {r.get("Id"): r.get("Target") for r in relations}
        self.files = {
            sheet.get("name"): "xl/" + target[sheet.get(RELATION + "id")].removeprefix("/xl/")
            for sheet in book.iter(MAIN + "sheet")
        }
        self.names = {name.get("name"): name.text for name in book.iter(MAIN + "definedName")}

    def cells(self, sheet):
        """{"B7": (value, formula or None)}; numbers as floats, everything else as text."""
        found = {}
        for cell in ET.fromstring(self.parts[self.files[sheet]]).iter(MAIN + "c"):
            formula = cell.find(MAIN + "f")
            value = cell.find(MAIN + "v")
            kind = cell.get("t", "n")
            text = value.text if value is not None else None
            if kind == "s":
                text = self.strings[int(text)]
            elif kind == "inlineStr":
                text = "".join(part.text or "" for part in cell.iter(MAIN + "t"))
            elif kind == "b":
                text = "yes" if text == "1" else "no"
            elif kind == "n" and text is not None:
                text = float(text)
            found[cell.get("r")] = (text, formula.text if formula is not None else None)
        return found

    def rows(self, sheet):
        """Rows as {column letter: value}, in order."""
        rows = {}
        for place, (value, _) in self.cells(sheet).items():
            column, row = re.fullmatch(r"([A-Z]+)(\d+)", place).groups()
            rows.setdefault(int(row), {})[column] = value
        return rows

    def table(self, sheet, column):
        """{text in column A: value in `column`} of a sheet."""
        return {row["A"]: row.get(column) for row in self.rows(sheet).values() if "A" in row}

    def change(self, sheet, place, value):
        """Puts a number or a text into a cell that has no formula."""
        file = self.files[sheet]
        content = f"<v>{value!r}</v>"
        kind = ""
        if isinstance(value, str):
            kind = ' t="inlineStr"'
            content = f"<is><t>{value}</t></is>"
        text = self.parts[file].decode()
        text, count = re.subn(
            rf'<c r="{place}"((?: s="\d+")?)(?:/>|(?: t="\w+")?><v>[^<]*</v></c>)',
            lambda match: f'<c r="{place}"{match[1]}{kind}>{content}</c>',
            text,
        )
        assert count == 1, f"no cell {place} on {sheet}"
        self.parts[file] = text.encode()

    def forget_results(self):
        """Spoils what stands beside the formulas, so that only a computation gives the results."""
        for file in self.files.values():
            text = self.parts[file].decode()
            text = re.sub(r'(<c r="\w+"(?: s="\d+")?) t="str">(<f>)', r"\1>\2", text)
            text = re.sub(r"</f><v>[^<]*</v>", "</f><v>-987654.25</v>", text)
            self.parts[file] = text.encode()

    def write(self, path):
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in self.parts.items():
                archive.writestr(name, data)


def find_office():
    return shutil.which("soffice") or shutil.which("libreoffice")


def compute_anew(paths, folder):
    """Opens workbooks in LibreOffice, computes them and returns what it saved."""
    profile = folder / "profile"
    (profile / "user").mkdir(parents=True, exist_ok=True)
    (profile / "user" / "registrymodifications.xcu").write_text(SETTINGS)
    out = folder / "computed"
    command = [find_office(), f"-env:UserInstallation={profile.as_uri()}", "--headless"]
    command += ["--convert-to", "xlsx:Calc MS Excel 2007 XML", "--outdir", str(out)]
    done = subprocess.run(command + [str(path) for path in paths], capture_output=True, timeout=280)
    computed = [out / pathlib.Path(path).name for path in paths]
    missing = [str(path) for path in computed if not path.exists()]
    if missing:
        raise RuntimeError(f"LibreOffice made no {missing}: {done.stderr.decode()}")
    return [Workbook(path) for path in computed]
