# Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
"""What the site's builder, its filter and the check of the links know in common about the pages, which are Markdown."""

import os
import pathlib
import re

top = pathlib.Path(__file__).resolve().parents[2]

link = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^()\s]+)\)")
code_span = re.compile(r"(?<!`)(`+)(?!`)([^`](?:.(?!\n\n))*?)(?<!`)\1(?!`)", re.DOTALL)
source_mark = re.compile(r"<!-- (\S+) (\S+) -->")


def all_pages():
    """README.md, the other pages of the top level and those of docs/, as paths from the top."""
    others = sorted(p.relative_to(top) for p in (*top.glob("*.md"), *(top / "docs").rglob("*.md")))
    return [pathlib.PurePath("README.md")] + [pathlib.PurePath(p) for p in others if str(p) != "README.md"]


def read(page):
    return (top / page).read_text(encoding="utf-8")


def label_of(page):
    """The name of a page on the site: docs/guide.md is `guide`, docs/recipes/draw.md `recipes-draw`, SECURITY.md
    `security`."""
    if page == pathlib.PurePath("README.md"):
        return "index"
    parts = page.with_suffix("").parts
    return "-".join(parts[1:] if parts[0] == "docs" else parts).lower()


def source_label(path):
    """The name of the page that shows a file or a folder of the repository."""
    return "source-" + re.sub(r"[^A-Za-z0-9]", "-", str(path))


def slug_of(heading):
    """The anchor that code hosts give a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower().replace("`", "")).replace(" ", "-")


def lines_of(text):
    """Each line, and what it is: "text", "begin" and "end" of a block of code, or "code" inside."""
    inside = False
    for line in text.split("\n"):
        if line.lstrip().startswith("```"):
            yield line, "end" if inside else "begin"
            inside = not inside
        else:
            yield line, "code" if inside else "text"


def blank(code):
    return re.sub(r"[^\n]", "`", code)


def without_blocks(text):
    """The same text, as long as before, with every block of code blanked out."""
    return "\n".join(line if kind == "text" else blank(line) for line, kind in lines_of(text))


def without_code(text):
    """The same text, as long as before, with every block and every `piece` of code blanked out."""
    return code_span.sub(lambda m: blank(m.group(0)), without_blocks(text))


def anchors_of(text):
    """The anchors of a page. A heading that is there twice gets a number, as on a code host."""
    found = []
    for line, kind in lines_of(text):
        if kind == "text" and (heading := re.match(r"#+ (.*)", line)):
            slug = slug_of(heading.group(1))
            number = sum(1 for s in found if s == slug or re.fullmatch(re.escape(slug) + r"-\d+", s))
            found.append(slug if number == 0 else f"{slug}-{number}")
    return found


def links_of(text):
    """A match of `link` for each link: whether it is a picture ("!"), its text, its target."""
    return [link.match(text, m.start()) for m in link.finditer(without_code(text))]


def target_of(page, target):
    """Where a relative link of a page leads: a path from the top, and the anchor or ""."""
    path, _, anchor = target.partition("#")
    if not path:
        return page, anchor
    return pathlib.PurePath(os.path.normpath(page.parent / path)), anchor


def is_external(target):
    return re.match(r"[a-z]+:", target) is not None


def address_for_browsers(remote):
    """The https address of a git remote, without user, password and port; "" if a browser cannot open the remote."""
    url = re.fullmatch(r"(?:https|ssh)://(?:[^@/]*@)?([\w.-]+)(?::\d+)?/(.+)", remote)
    parts = url or re.fullmatch(r"(?:[\w.-]+@)?([\w-]+(?:\.[\w-]+)+):([^/].*)", remote)
    return f"https://{parts.group(1)}/{parts.group(2).rstrip('/').removesuffix('.git')}" if parts else ""


def files_of(folder):
    """The files of a folder of the repository, but for what programs leave behind there."""
    found = sorted(p.relative_to(top) for p in (top / folder).rglob("*") if p.is_file())
    return [pathlib.PurePath(p) for p in found if not any(s[0] in "._" or s == "node_modules" for s in p.parts)]
