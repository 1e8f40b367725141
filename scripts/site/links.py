"""Checks the built site: links.py SITE

Every link leads to a page, file or anchor of the site or to another site; nothing that a browser loads by itself comes from another site; no Markdown
was left as it was written; every page is reached from the first.
"""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"link", "script", "img", "source", "iframe", "video", "audio", "embed", "object", "input", "track"}  # what a browser loads by itself
RAW = re.compile(r"\]\([^)]*\)|\*\*|^\s*\|.*\|$", re.M)


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.loads, self.raw, self.code, self.article = set(), [], [], [], 0, 0
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if "id" in attrs:
            self.ids.add(attrs["id"])
        for name in ("href", "src", "srcset", "data", "poster"):
            if attrs.get(name):
                loads = tag in LOADED and not (tag == "link" and attrs.get("rel") in ("canonical", "search", "index", "next", "prev"))
                (self.loads if loads else self.links).append(attrs[name])
        self.code += tag in ("pre", "code", "script", "style")
        self.article += tag == "article"

    def handle_endtag(self, tag):
        self.code -= tag in ("pre", "code", "script", "style")
        self.article -= tag == "article"

    def handle_data(self, data):
        if self.article and not self.code:
            self.raw += RAW.findall(data)


def main():
    site = Path(sys.argv[1]).resolve()
    pages = {path: Page(path.read_text()) for path in sorted(site.rglob("*.html"))}
    wrong, seen, count = [], set(), 0
    for path, page in pages.items():
        name = path.relative_to(site)
        wrong += [f"{name}: Markdown in the text: {raw.strip()}" for raw in page.raw]
        for link in page.links + page.loads:
            parts = urlsplit(link)
            if parts.scheme in ("http", "https", "mailto", "data") or parts.netloc:
                if link in page.loads and parts.scheme != "data":
                    wrong.append(f"{name}: loads {link}")
                continue
            count += 1
            to = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not to.is_file():
                wrong.append(f"{name}: broken link to {link}")
            elif to != path:
                seen.add(to)
            if parts.fragment and to in pages and unquote(parts.fragment) not in pages[to].ids:
                wrong.append(f"{name}: no anchor {link}")
    wrong += [f"{path.relative_to(site)}: nothing leads to it" for path in pages if path not in seen and path.name not in ("index.html", "genindex.html")]
    for path in site.rglob("*.css"):
        for url in re.findall(r"(?:url\(|@import\s+)[\"']?((?:https?:)?//[^\"')]+)", path.read_text()):
            wrong.append(f"{path.relative_to(site)}: loads {url}")
    for line in dict.fromkeys(wrong):
        print(line, file=sys.stderr)
    print(f"{len(pages)} pages, {count} links between them")
    sys.exit(1 if wrong else 0)


main()
