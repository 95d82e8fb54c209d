import pytest

from ops.sources.docstrings import docstring_prose, is_prose

NUMPY = """
    Return the sum of an array.

    The sum is taken over the given axis.
    It may overflow.

    Parameters
    ----------
    a : array_like
        This is the array to be summed.
    axis : int, optional
        This is the axis of the sum.

        This is the second paragraph of a field.

    Returns
    -------
    This is what comes out of it.

    Notes
    -----
    This is a note about the method.

    Examples
    --------
    This is an example of a sum.

    >>> sum([1])
    1
    """

GOOGLE = """Loads the rows of a table.

    Note:
        This is a note of the author.

    Args:
        path (str): This is the path of the file.
        mode: This is the mode in which
            the file is opened.

            It has a second paragraph here.

    Raises: ValueError: This is raised if the file is empty.

    Example::

        table = load("x")

    It is closed after the last row.
    """

REST = """Sends a message to the server.

    :param name: This is the name of the server
        that gets the message.
    :type name: str
    @param other: This is in the style of Epytext.

    .. note:: This is a note of the server.
       It goes on in the next line.

    .. code-block:: python

       This is code and not a sentence.

    .. This is a comment in the source.

    For example, this is how it is called::

        This is code as well.

    The connection is closed at the end.
    """


@pytest.mark.parametrize(
    ("docstring", "prose"),
    [
        (
            NUMPY,
            "Return the sum of an array.\n\nThe sum is taken over the given axis. It may overflow.\n\n"
            "This is a note about the method.",
        ),
        (GOOGLE, "Loads the rows of a table.\n\nThis is a note of the author.\n\nIt is closed after the last row."),
        (
            REST,
            "Sends a message to the server.\n\nThe connection is closed at the end.",
        ),
    ],
    ids=["numpy", "google", "restructured text"],
)
def test_sections_of_prose_stay(docstring: str, prose: str) -> None:
    assert docstring_prose(docstring) == prose


NO_PROSE = [
    ">>> This is a doctest in the text.\nThis is what it prints to the screen.",
    "```python\nThis is code in a fence.\n```",
    "~~~\n\nThis is code in a fence.\n\n~~~",
    "+------+------+\n| This is a table in the text. | x |\n+------+------+",
    "==== ====\nThis is.\n==== ====",
    "This | is a row | of a table.",
    "This is a heading\n=================",
    "frobnicate(This, is, a) -> signature.",
    "https://example.org/this/is/a/link.",
    "$ This is a shell command in the text.",
    "x: This is the definition of a name.",
    "The value is x[0] = f(3).",
    "This sentence has no end",
    "this is the rest of a sentence.",
    "No words.",
    "See (this is the rest.",
    "```\nThis is code in a fence that is not closed.\n\nThis is code as well.",
]


def test_what_is_no_prose_goes() -> None:
    for block in NO_PROSE:
        rest = "" if "not closed" in block else "\n\nThis is the last line."
        prose = docstring_prose(f"This is the first line.\n\n{block}\n\nThis is the last line.")
        assert prose == f"This is the first line.{rest}", block


def test_paragraphs_with_indented_lines_are_left_out() -> None:
    for block in (
        "term\n    This is a definition of it.",
        "- This is an item.\n  It has two lines.",
        "    This is code.",
    ):
        assert docstring_prose(f"The first line is here.\n\n{block}\n\n.") == "The first line is here."


MARKUP = {
    "Uses the :class:`~a.b.Reader` of :meth:`x.read`.": "Uses the Reader of x.read.",
    "See :ref:`the guide <guide>` and `the site <http://x.y>`_.": "See the guide and the site.",
    "The ``name`` is *always* a **string** with `text`.": "The name is always a string with text.",
    "See the [guide](https://x.y/z) for [`~a.Model.load`].": "See the guide for Model.load.",
    "It is cited [1]_ in the text. It has <b>bold</b> words.": "It is cited in the text.",
    "It takes a torch.nn.Linear or an nn.Module.": "It takes a Linear or an Module.",
    "If `member' is a file of it, the data go.": "If member is a file of it, the data go.",
    "Warning: This is not a safe function.": "This is not a safe function.",
    "It is kept.  It ends with a list e.g. the following: a": "It is kept.",
    "": "",
    "\n\n": "",
}


def test_markup_gives_way_to_its_text() -> None:
    assert {docstring: docstring_prose(docstring) for docstring in MARKUP} == MARKUP


PROSE = [
    "Return the sum.",
    "It isn't a file-like object (see above).",
    '"Why" is not an answer!',
    "Does it return two values?",
    "Reads up to 10 lines of the file at once.",
]
CODE_OR_LISTS = [
    "return the sum.",
    "Return the sum",
    "The sum.",
    "It holds {a} of it.",
    "It is true if a == b.",
    "It is called as f(a, b) in it.",
    "It runs with --verbose on it.",
    "Tensor shape batch heads length dimension.",
    "See https://example.org for the rest.",
    "It ends with an abbreviation e.g.",
    "It has an unclosed (parenthesis in it.",
    "The x_1 y_2 z_3 q_4 of it.",
    "Name: the name of the thing.",
    "It is ``code`` that was left.",
    "It is " + "very " * 120 + "long.",
]


def test_prose_is_told_from_the_rest() -> None:
    assert [sentence for sentence in (*PROSE, *CODE_OR_LISTS) if is_prose(sentence)] == PROSE


def test_sentences_are_judged_one_by_one() -> None:
    paragraph = "Note: It is i.e. The one. See a == b. It works, e.g. When it rains. The rest is cut: x"
    assert docstring_prose(paragraph) == "It is i.e. The one. It works, e.g. When it rains."
