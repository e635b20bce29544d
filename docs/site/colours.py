# Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
"""Colours the blocks of code of a page that Doxygen has made.

Doxygen colours C++, and links it to the reference; that stays. Pygments colours every other language.
"""

import html
import re
import sys

import pages

try:
    import pygments
except ImportError:  # Debian's package is for Debian's python3; another python3 can import it, too.
    sys.path.append("/usr/lib/python3/dist-packages")
    try:
        import pygments
    except ImportError:
        sys.exit("Pygments is missing (Debian: python3-pygments)")
import pygments.formatters
import pygments.lexers
import pygments.util

fragment = re.compile(r'<div class="fragment">(.*?)</div><!-- fragment -->', re.DOTALL)
verbatim = re.compile(r'<pre class="fragment">(.*?)\s*</pre>', re.DOTALL)
coloured_by_doxygen = ("cpp", "c++")
formatter = pygments.formatters.HtmlFormatter(nowrap=True)


def squeeze(code):
    """What two copies of a block have in common: Doxygen changes the blanks."""
    return "".join(code.split())


def blocks_of(page):
    """The blocks of a page of Markdown: (squeezed code) -> (language, code)."""
    found, lines, language, indent = {}, [], "", 0
    for number, (line, kind) in enumerate(pages.lines_of(pages.read(page)), 1):
        if kind == "begin":
            language, lines, indent = line.strip().strip("`"), [], len(line) - len(line.lstrip())
            if not language:
                sys.exit(f"{page}:{number}: a block of code without its language; `text` has no colours")
            if language not in coloured_by_doxygen:
                lexer_of(language, f"{page}:{number}")
        elif kind == "code":
            lines.append(line[indent:] if not line[:indent].strip() else line)
        elif kind == "end":
            found[squeeze("".join(lines))] = language, "\n".join(lines)
    return found


def block_of_file(path, text):
    """The same for a page that shows a file."""
    try:
        language = pygments.lexers.get_lexer_for_filename(path.name, text).aliases[0]
    except (pygments.util.ClassNotFound, IndexError):
        language = "sh" if text.startswith("#!") and "sh\n" in text[:40] else "text"
    return {squeeze(text): (language, text)}


def lexer_of(language, where):
    try:
        return pygments.lexers.get_lexer_by_name(language, stripnl=False)
    except pygments.util.ClassNotFound:
        sys.exit(f"{where}: Pygments knows no language {language}")


def colour(text, blocks):
    """The page with each block as <pre data-language="...">. A block that is in none of `blocks` is C++ of a header."""

    def block(match):
        lines = [m.group(1) for m in re.finditer(r'<div class="line">(.*)</div>$', match.group(1), re.MULTILINE)]
        inner = "\n".join("" if line.strip() == "" else line for line in lines)
        plain = html.unescape(re.sub(r"<[^>]*>", "", inner))
        language, code = blocks.get(squeeze(plain), ("cpp", plain))
        if language not in coloured_by_doxygen:
            inner = pygments.highlight(code, lexer_of(language, "docs"), formatter).rstrip("\n")
            inner = re.sub(r'<span class="w">(\s*)</span>', r"\1", inner)
        name = "cpp" if language == "c++" else language
        return f'<pre class="code" data-language="{name}"><code>{inner}</code></pre>'

    text = fragment.sub(block, text)
    return verbatim.sub(r'<pre class="code" data-language="text"><code>\1</code></pre>', text)
