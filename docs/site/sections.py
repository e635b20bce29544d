# Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
"""The headings of a page that Doxygen has made, and the text below each of them."""

import html
import re

# Doxygen's headings: of a section of Markdown, of a member in the reference, of a list of members.
section = re.compile(r'<h([1-5])[^>]*><a class="anchor" id="([^"]+)"[^>]*></a>\s*(.*?)</h\1>', re.DOTALL)
member = re.compile(
    r'<a id="([^"]+)" name="[^"]+"></a>\s*<h2 class="memtitle"><span class="permalink">.*?</span>(.*?)</h2>'
)
group = re.compile(r'<h2 class="groupheader">(?:<a id="([^"]+)" name="[^"]+"></a>)?\s*(.*?)</h2>', re.DOTALL)
title = re.compile(
    r'<div class="headertitle"><div class="title">(.*?)(<div class="ingroups">.*?</div>)?</div></div>', re.DOTALL
)
heading = re.compile(r'<h([2-4])(?: class="(\w+)")? id="([^"]+)">(.*?)</h\1>', re.DOTALL)


def with_headings(text):
    """The page with <h1> as its title, and <h2 id> to <h4 id> that can be linked to."""

    def link(anchor):
        return f'<a class="permalink" href="#{anchor}" aria-label="Link to this section">#</a>'

    def of_section(m):
        level = min(int(m.group(1)) + 1, 4)
        words = re.sub("&lt;tt&gt;(.*?)&lt;/tt&gt;", r"<code>\1</code>", m.group(3))
        return f'<h{level} id="{m.group(2)}">{words}{link(m.group(2))}</h{level}>'

    def of_group(m):
        return f'<h2 class="groupheader" id="{m.group(1)}">{m.group(2)}</h2>' if m.group(1) else m.group(0)

    text = title.sub(r'\2<h1 class="title">\1</h1>', text)
    text = section.sub(of_section, text)
    text = member.sub(lambda m: f'<h3 class="memtitle" id="{m.group(1)}">{m.group(2)}{link(m.group(1))}</h3>', text)
    return group.sub(of_group, text)


def plain(markup):
    """The words of a piece of a page."""
    markup = re.sub(r'<a class="permalink".*?</a>', "", markup)
    # Tags inside a word are removed; those that end a line or a cell leave a blank.
    markup = re.sub(r"</?(?:p|div|li|ul|ol|dl|dt|dd|td|th|tr|table|pre|br|h\d)\b[^>]*>", " ", markup)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", "", markup)).split())


def body_of(text):
    return text[text.index("<main>") : text.index("</main>")]


def title_of(text):
    return plain(re.search(r'<h1 class="title">(.*?)</h1>', text, re.DOTALL).group(1))


def sections_of(text):
    """(level, class, anchor, title, text below it) of each section; the first is what stands above all headings."""
    body = re.sub(r'^.*?<h1 class="title">.*?</h1>', "", body_of(text), count=1, flags=re.DOTALL)
    found = [[1, None, "", title_of(text), 0]]
    ends = []
    for m in heading.finditer(body):
        ends.append(m.start())
        words = re.sub(r' <span class="overload">.*?</span>', "", m.group(4))
        found.append([int(m.group(1)), m.group(2), m.group(3), plain(words), m.end()])
    ends.append(len(body))
    return [(*s[:4], plain(body[s[4] : end])) for s, end in zip(found, ends)]
