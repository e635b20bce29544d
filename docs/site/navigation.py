# Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
"""The navigation of the site, and what each page has of it."""

import html
import pathlib
import re
import sys

import pages


def compounds(tags, kind=r"(class|struct)"):
    """The classes of the library, or its groups of Doxygen, as Doxygen's tag file has them."""
    return [c for c in tags.findall("compound")
            if re.fullmatch(kind, c.get("kind")) and re.match(r"leasehold(::|$)|ref_", c.findtext("name"))]  # fmt: skip


def reference(tags):
    """Name and file of each subject of the reference, and of what belongs to it: functions first, then classes."""
    files = {c.findtext("name"): c.findtext("filename") for c in compounds(tags)}
    subjects = []
    for subject in compounds(tags, "group"):
        members = {}
        for m in subject.findall("member"):
            name = m.findtext("name") + ("()" if m.get("kind") == "function" else "")
            members.setdefault(name, f"{m.findtext('anchorfile')}#{m.findtext('anchor')}")
        for c in subject.findall("class"):
            members[c.text.split("::")[-1]] = files.pop(c.text)
        by_name = sorted(members.items(), key=lambda m: (not m[0].endswith("()"), m[0]))
        subjects.append((subject.findtext("title"), subject.findtext("filename"), by_name))
    missing = [name for name in files if name.rpartition("::")[0] in ("leasehold", "leasehold::testing")]
    for namespace in compounds(tags, "namespace"):
        own = [m for m in namespace.findall("member") if m.findtext("anchorfile") == namespace.findtext("filename")]
        missing += [m.findtext("name") for m in own]
    if missing:
        sys.exit("no @ingroup says to which subject of the reference this belongs: " + ", ".join(missing))
    return subjects


def entries(page, begin, end):
    """The pages that a list links to, and the headings between them: words, and the page or None."""
    for line in pages.read(page).partition(begin)[2].partition(end)[0].split("\n"):
        if m := re.match(r"\* \[([^\]]+)\]\(([^)#]+\.md)\)", line):
            yield m.group(1), pages.target_of(page, m.group(2))[0]
        elif m := re.match("### (.*)", line):
            yield m.group(1), None


def navigation(tags):
    """Sections of the navigation: a title and its entries, which have a name, a file, and entries below them. A page of
    docs/ that is in no list is an error."""

    def entry(words, page, below=()):
        listed.add(page)
        return words, f"{pages.label_of(page)}.html", list(below)

    listed = set()
    readme, recipes = pages.all_pages()[0], pathlib.PurePath("docs/recipes.md")
    documentation = list(entries(readme, "\n## Documentation\n", "\n## "))
    found = [("", [entry("Overview", readme)])]
    for words, page in documentation:
        if page is None:
            found.append((words, []))
        else:
            below = entries(recipes, "# ", "\n## ") if page == recipes else ()
            below = [entry(*e) for e in below if e[1] not in [listed_page for _, listed_page in documentation]]
            found[-1][1].append(entry(words, page, below))
    missing = set(pages.all_pages()) - listed
    if missing:
        lists = f'"Documentation" of README.md, or {recipes}'
        sys.exit("in no list of pages (%s): %s" % (lists, ", ".join(map(str, sorted(missing)))))
    everything = ("All names", "namespaceleasehold.html", [])
    subjects = [(name, file, [(n, f, []) for n, f in below]) for name, file, below in reference(tags)]
    return [*found, ("Reference", [everything, *subjects])]


def in_order(found):
    """Name and file of each page, in the order of the navigation."""
    for words, file, below in found:
        if "#" not in file:
            yield words, file
        yield from in_order(below)


def navigation_of(file, found):
    """The navigation in a page, in which the page itself is marked."""

    def list_of(links):
        items = []
        for words, target, below in links:
            here = ' aria-current="page"' if target == file else ""
            inner = list_of(below) if below else ""
            items.append(f'<li><a href="{target}"{here}>{html.escape(words)}</a>{inner}</li>')
        return "<ul>\n" + "\n".join(items) + "\n</ul>"

    return "\n".join((f"<h2>{html.escape(title)}</h2>\n" if title else "") + list_of(links) for title, links in found)


def contents_of(found):
    """The contents of a page; none where that is a line."""
    links, seen = [], set()
    has_members = any(kind == "memtitle" for _, kind, *_ in found)
    for level, kind, anchor, title, _ in found[1:]:
        # One entry for all overloads.
        if level < 4 and (kind, title) not in seen and not (has_members and kind == "groupheader"):
            if kind == "memtitle":
                seen.add((kind, title))
            links.append(f'<li class="level{2 if kind else level}"><a href="#{anchor}">{html.escape(title)}</a></li>')
    if len(links) < 2:
        return ""
    return ('<details class="on-this-page"><summary>On this page</summary>\n<ul>\n' + "\n".join(links)
            + "\n</ul></details>")  # fmt: skip


def sequence_of(file, order):
    """The links to the pages before and after this one."""
    at = next((i for i, (_, target) in enumerate(order) if target == file), None)
    if at is None:
        return ""
    links = []
    for rel, word, i in (("prev", "Previous", at - 1), ("next", "Next", at + 1)):
        if 0 <= i < len(order):
            words, target = order[i]
            links.append(f'<a rel="{rel}" href="{target}"><small>{word}</small>{html.escape(words)}</a>')
    return '<div class="sequence" role="navigation" aria-label="Previous and next page">' + "".join(links) + "</div>"
