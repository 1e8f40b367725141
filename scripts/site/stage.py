"""Prepares the pages for Sphinx: those of docs/, as they are on GitHub, become those of the site.

    stage.py ROOT OUT [--front]

The index, docs/README.md, is the navigation: a section per heading, with the pages that are linked below it. Its sections become pages, and cards of
the home page. Links that leave docs/ lead to a page of the site where there is one, otherwise to the repository. --front leaves out the folders
studies, reproductions and design. Also writes OUT.json, the list of all
pages, and beside it scorer.js, which puts front pages first in what a search finds.
"""

import json
import posixpath
import re
import sys
from pathlib import Path

REPOSITORY = "https://github.com/yardmaster/yardmaster"
BESIDE = {"CONTRIBUTING.md": "contributing.md", "SECURITY.md": "security.md", "CHANGELOG.md": "changelog.md"}  # pages outside docs/
FOLDERS = ("studies/", "reproductions/", "design/")
LEFT_OUT = ("reproductions/data", "reproductions/former")
TRIED = ("examples/", "dashboards/")
UNSEARCHED = ("reproductions/", "design/")
DEEP = ("Reference", "Evidence")  # sections to look things up in; the pages of all others are front pages
BARE = "---\nhtml_theme.sidebar_secondary.remove: true\n---\n"  # a front page is too short for contents beside it
LINK = re.compile(r"(\]\()([^)\s]+)(\))")

wrong = []
written = set()


def fail(message):
    wrong.append(message)


def write(path, content):
    """Writes a file unless it has that content already: Sphinx reads what changed."""
    content = content.encode() if isinstance(content, str) else content
    written.add(path)
    if not path.exists() or path.read_bytes() != content:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def outside_blocks(text, change):
    """Applies change to every line outside fenced blocks."""
    fenced, lines = False, []
    for line in text.split("\n"):
        fence = line.lstrip().startswith("```")
        lines.append(line if fenced or fence else change(line))
        fenced ^= fence
    return "\n".join(lines)


def slug(heading):
    return re.sub(r"[^a-z0-9]+", "-", heading.lower()).strip("-")


def toctree(pages, folder=""):
    entries = "\n".join(posixpath.relpath(p, folder) if folder else p for p in pages)
    return f"\n```{{toctree}}\n:hidden:\n\n{entries}\n```\n" if pages else ""


class Stage:
    def __init__(self, root, front):
        self.root, self.docs = root, root / "docs"
        self.pages = {}  # by name on the site: the file
        for path in sorted(self.docs.rglob("*.md")):
            name = path.relative_to(self.docs).as_posix()
            if not name.startswith(LEFT_OUT) and not (front and name.startswith(FOLDERS)):
                self.pages[name] = path
        for name, page in BESIDE.items():
            self.pages[page] = root / name
        self.files = {}  # pictures, and what readers try
        for path in sorted(self.docs.rglob("*")):
            name = path.relative_to(self.docs).as_posix()
            if path.is_file() and not name.startswith(LEFT_OUT) and (path.suffix in (".png", ".svg") or name.startswith(TRIED)):
                self.files[name] = path
        self.index = self.pages.pop("README.md")
        self.sections = {}  # by page: its heading in the index
        self.children = {}  # by page that stands for a folder: the others in it

    def place(self, source, target):
        """Where a link in a file leads: a page of the site, or None; and its path in the repository."""
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        if path == "docs/README.md":
            return "index.md", path
        inside = path.removeprefix("docs/") if path.startswith("docs/") else "../" + path
        for page in (BESIDE.get(path), inside, inside + "/README.md"):
            if page in self.pages:
                return page, path
        return None, path

    def links(self, source, page, text):
        """The text of a file, with the links of the page that it becomes."""
        here = posixpath.dirname(page) or "."

        def resolve(match):
            target, hash, anchor = match[2].partition("#")
            if not target or re.match(r"[a-z]+:", target):
                return match[0]
            to, path = self.place(source, target)
            if not to and not (self.root / path).exists():
                fail(f"{source}: broken link to {target}")
            if not to and path.removeprefix("docs/") in self.files:
                to = path.removeprefix("docs/")
            if to:
                target = posixpath.relpath(to, here)
            else:
                target = f"{REPOSITORY}/{'tree' if (self.root / path).is_dir() else 'blob'}/main/{path}"
            return match[1] + target + hash + anchor + match[3]

        text = outside_blocks(text, lambda line: LINK.sub(resolve, line))
        # A block that is a file has its name as a caption.
        return re.sub(r"^```(\w+) ([\w./-]+)$", r"```{code-block} \1\n:caption: \2\n", text, flags=re.M)

    def claim(self, text, heading):
        """The pages that a part of the index names; no other part may."""
        pages = []
        for _, target, _ in LINK.findall(text):
            page, _ = self.place("docs/README.md", target.partition("#")[0])
            if page in self.sections:
                fail(f"docs/README.md names {page} twice")
            elif page in self.pages:
                self.sections[page] = heading
                pages.append(page)
        for page in pages:
            if folder := posixpath.dirname(page):
                self.children[page] = [p for p in self.pages if p.startswith(folder + "/") and p not in self.sections]
                self.sections.update(dict.fromkeys(self.children[page], heading))
        if heading == DEEP[-1]:  # the page that lists them stands for a path, not for the folder
            pages += [p for p in self.pages if p.startswith("reproductions/")]
            self.sections.update(dict.fromkeys(pages, heading))
        return pages

    def home(self, out):
        """Writes the home page and a page for each section of the index."""
        top, *parts = re.split(r"^## ", self.index.read_text(), flags=re.M)
        cards, entries = [], self.claim(top, "Home")
        for part in parts:
            heading, body = (text.strip() for text in part.split("\n", 1))
            name = slug(heading) + ".md"
            if name in self.pages:
                name = "on-" + name
            write(out / name, f"{BARE}# {heading}\n\n{self.links('docs/README.md', name, body)}\n{toctree(self.claim(body, heading))}")
            entries.append(f"{heading} <{name}>")
            says = self.links("docs/README.md", "index.md", body.split("\n\n")[0])
            cards.append(f"## [{heading}]({name})\n\n{says}\n")
        top = self.links("docs/README.md", "index.md", top)
        write(out / "index.md", BARE + "\n".join([top, *cards, toctree(entries)]))

    def run(self, out):
        self.home(out)
        rows = [{"file": "docs/README.md", "html": "index.html", "section": "Home", "front": True}]
        for page, file in self.pages.items():
            source, section = file.relative_to(self.root).as_posix(), self.sections.get(page)
            if not section:
                fail(f"docs/README.md does not name {source}")
            text = self.links(source, page, file.read_text())
            children = self.children.get(page, ())
            if section not in DEEP:
                text = BARE + text
            elif page.startswith(UNSEARCHED):  # tables of numbers, and history
                text = "---\nnosearch: true\n---\n" + text
            write(out / page, text + toctree(children, posixpath.dirname(page)))
            rows.append({"file": source, "html": page[:-2] + "html", "section": section, "front": section not in DEEP})
        for name, file in self.files.items():
            write(out / name, file.read_bytes())
        for row in rows:
            row["words"] = len((self.root / row["file"]).read_text().split())
        out.with_suffix(".json").write_text(json.dumps(rows, indent=1))
        front = json.dumps([row["html"].removesuffix(".html") for row in rows if row["front"]])
        (out.parent / "scorer.js").write_text((Path(__file__).parent / "scorer.js").read_text().replace("FRONT", front))
        for path in out.rglob("*"):
            if path.is_file() and path not in written:
                path.unlink()


def main():
    stage = Stage(Path(sys.argv[1]).resolve(), "--front" in sys.argv)
    stage.run(Path(sys.argv[2]).resolve())
    for message in wrong:
        print(message, file=sys.stderr)
    sys.exit(1 if wrong else 0)


main()
