# Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
"""What the search knows: title, place, link and text of each section, class and function."""

import re

import navigation
import sections


def page_records(file, found):
    """Title, place, link and text of each section of a page, for the search."""
    page = found[0][3]
    for _, _, anchor, title, text in found:
        yield title, page if anchor else "", f"{file}#{anchor}" if anchor else file, text


def reference_records(tags, texts, found):
    """The same for the reference: of subjects, classes, and their members with all overloads."""
    details = {anchor: text for all_sections in found.values() for _, _, anchor, _, text in all_sections if anchor}
    # A member with one sentence about it has no section, but a row in a table.
    row = re.compile(
        r'<tr class="memdesc:(\w+)">.*?<td class="mdescRight">(.*?)</td>'
        r'|<td class="fieldname"><a id="(\w+)".*?<td class="fielddoc">(.*?)</td>', re.DOTALL)  # fmt: skip
    rows = [m.groups() for text in texts for m in row.finditer(text)]
    briefs = {anchor or of_value: sections.plain(text or about) for anchor, text, of_value, about in rows}
    seen = set()
    for compound in [*navigation.compounds(tags, "group"), *navigation.compounds(tags)]:
        file = compound.findtext("filename")
        whole = compound.findtext("name")
        name = compound.findtext("title") or whole.removeprefix("leasehold::")
        yield name, "Reference", file, found[file][0][4]
        of_class = "" if compound.get("kind") == "group" else whole.split("::")[-1] + "::"
        members = [(of_class + m.findtext("name") + ("()" if m.get("kind") == "function" else ""), m)
                   for m in compound.findall("member")]  # fmt: skip
        members += [(f"{m.findtext('name')}::{v.text}", v) for _, m in members for v in m.findall("enumvalue")]
        overloads = {}
        for title, m in members:
            at, anchor = m.findtext("anchorfile") or m.get("file"), m.findtext("anchor") or m.get("anchor")
            text = details.get(anchor) or briefs.get(anchor, "")
            # Also: what a kind of lock has from basic_lock.
            if anchor in seen or title.split("::")[-1] == whole.split("::")[-1] + "()":
                continue
            seen.add(anchor)
            # A page explains a word better than a data member of that name.
            weight = [0.5] if m.get("kind") == "variable" else []
            entry = overloads.setdefault(title, [title, name, f"{at}#{anchor}", text, *weight])
            if entry[3] != text and not text.startswith("The same with other arguments"):
                entry[3] += " " + text
        yield from overloads.values()
