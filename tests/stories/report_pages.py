"""Pages of runs, read as a browser would: which elements and attributes there are; and a run full of hostile text."""

from __future__ import annotations

from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

from stories.project import Project

ELEMENTS = {
    "html", "head", "meta", "title", "style", "script", "body", "header", "main", "footer", "section", "article",
    "h1", "h2", "h3", "h4", "p", "a", "b", "small", "span", "div", "code", "pre", "time", "ul", "ol", "li", "dl", "dt",
    "dd", "table", "thead", "tbody", "tr", "th", "td", "details", "summary", "button", "input",
    "svg", "defs", "marker", "pattern", "g", "path", "rect", "line", "text",
}  # fmt: skip
ATTRIBUTES = {
    "charset", "http-equiv", "content", "name", "lang", "class", "id", "href", "role", "hidden", "title", "type",
    "tabindex", "scope", "colspan", "datetime", "placeholder", "width", "height", "viewbox", "x", "y", "x1", "x2",
    "y1", "y2", "rx", "d", "fill", "fill-opacity", "stroke", "stroke-dasharray", "font-family", "font-size",
    "font-weight", "text-anchor", "marker-end", "markerwidth", "markerheight", "orient", "refx", "refy", "xmlns",
    "patternunits", "patterntransform", "data-s", "data-v", "data-n", "aria-label", "aria-labelledby", "aria-hidden",
    "aria-pressed",
}  # fmt: skip
_VOID = {"meta", "input"}


class Page(HTMLParser):
    """What is on a page. `text` is that of the body without the script."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.source = source
        self.elements: Counter[str] = Counter()
        self.attributes: list[tuple[str, str, str]] = []
        self.scripts: list[str] = []
        self.unbalanced: list[str] = []
        self._open: list[str] = []
        self._text: list[str] = []
        self.feed(source)
        self.close()
        self.unbalanced += self._open

    @property
    def text(self) -> str:
        return " ".join("".join(self._text).split())

    @property
    def ids(self) -> list[str]:
        return [value for _, name, value in self.attributes if name == "id"]

    @property
    def links(self) -> list[str]:
        return [value for _, name, value in self.attributes if name == "href"]

    def meta(self, name: str) -> str:
        """The content of the `meta` that has this name."""
        at = self.attributes.index(("meta", "http-equiv", name))
        return self.attributes[at + 1][2]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements[tag] += 1
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag == "script":
            self.scripts.append("")
        if tag not in _VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open.pop() != tag:
            self.unbalanced.append(f"/{tag}")

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] == "script":
            self.scripts[-1] += data
        elif self._open and self._open[-1] != "style":
            self._text.append(data)

    def check(self) -> Page:
        """Fail where the page has more than this project writes into one."""
        assert self.unbalanced == []
        assert set(self.elements) <= ELEMENTS, set(self.elements) - ELEMENTS
        names = {name for _, name, _ in self.attributes}
        assert names <= ATTRIBUTES, names - ATTRIBUTES
        assert self.elements["script"] == 2
        assert [link for link in self.links if not link.startswith("#")] == []
        assert len(self.ids) == len(set(self.ids))
        missing = [link for link in self.links if link[1:] not in self.ids]
        assert missing == []
        return self


def page_of(file: Path) -> Page:
    return Page(file.read_text("utf-8")).check()


PAYLOAD = "</script></pre></title><script>window.owned=1</script><img src=http://127.0.0.1:9/x onerror=window.owned=2>"
"""what would run, or ask for something, if it became an element"""
IN_A_QUOTE = "\" onmouseover=window.owned=3 autofocus onfocus='window.owned=4' x=\""
UNSEEN = "\x1b]0;stolen\x07\x1b[31mred\x1b[0m\u202egnp.exe\u2066\u2069 ]]> --> <!-- \U000e0041"


def hostile_run(project: Project) -> str:
    """A run whose titles, items, output, results, artifacts, notes, reasons and variables all try; returns its id."""
    project.write("hostile.txt", PAYLOAD + IN_A_QUOTE)
    (project.root / "bytes.bin").write_bytes(PAYLOAD.encode() + b"\0\xff\xfe\x80\r\n" + UNSEEN.encode() + b"\n")
    artifact = "<img src=x onerror=owned=5>.txt"
    project.workflow(f"""
        name: hostile
        title: {_quoted(PAYLOAD + UNSEEN)}
        variables: {{v: {_quoted(PAYLOAD + IN_A_QUOTE)}}}
        task:
          - said:
              title: {_quoted(PAYLOAD + IN_A_QUOTE)}
              run: |
                cat bytes.bin; cat bytes.bin >&2
                cat hostile.txt > "$ONWARD_OUT/found"
                touch {_shell(artifact)}
              outputs: {{found: text}}
              artifacts: [{_quoted(artifact.replace("[", "").replace("]", ""))}]
          - each:
              loop: {{as: item, for-each: [{_quoted(PAYLOAD)}, {_quoted(IN_A_QUOTE)}, "a<b>/c"]}}
              run: 'echo "$item"'
          - asked: {{approve: {_quoted(PAYLOAD + IN_A_QUOTE)}, fields: {{remark: text}}}}
          - failed: {{run: "cat bytes.bin >&2; exit 3"}}
    """)
    project.onward("run", "w.yaml", "--id", "h1").check(3)
    note = ("--note", PAYLOAD + IN_A_QUOTE, "--field", f"remark={PAYLOAD}", "--by", PAYLOAD)
    project.onward("approve", "h1", "asked", *note).check()
    project.onward("resume", "h1", "--yes").check(1)
    return "h1"


def _quoted(text: str) -> str:
    """A YAML scalar in double quotes; YAML itself allows few of the unseen characters as they are."""
    return '"' + "".join(_escaped(character) for character in text) + '"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    return character if character.isprintable() else f"\\U{ord(character):08x}"


def _shell(text: str) -> str:
    return "'" + text + "'"
