"""A page taken apart: elements, attributes and text, as a browser would see them."""

import html.parser
import re

VOID = {"meta", "br", "hr", "img", "link", "input"}
"""Elements that are never closed."""


class Page(html.parser.HTMLParser):
    """What is on a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.mistakes: list[str] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.mistakes.append(tag)

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "script"):
            self.texts.append(data)

    @property
    def text(self) -> str:
        """All text that is shown, with single blanks."""
        return " ".join(" ".join(self.texts).split())

    def count(self, tag: str) -> int:
        """Elements of this name."""
        return sum(each == tag for each, _ in self.elements)

    def ids(self) -> list[str]:
        """All ids, in order."""
        return [about["id"] for _, about in self.elements if about.get("id")]

    def section(self, name: str) -> str:
        """Text between this heading and the next."""
        found = re.search(rf"<h2>{name}</h2>(.*?)(<h2>|</main>)", self.rawdata_all, re.DOTALL)
        assert found, name
        return " ".join(re.sub(r"<[^>]+>", " ", found[1]).split())

    def feed(self, data):
        self.rawdata_all = data
        super().feed(data)


def outside_references(text: str) -> list[str]:
    """Whatever a browser would fetch: addresses in src, href and url() that are not in the page."""
    found = re.findall(r"(?:src|href|srcset|action|data|poster)\s*=\s*[\"']?([^\"'>\s]+)", text)
    found += re.findall(r"url\(\s*[\"']?([^)\"']+)", text)
    found += re.findall(r"@import[^;]*;", text)
    return [each for each in found if not each.startswith(("#", "data:image/png;base64,"))]
