import pytest

from ops.sources.docstrings.prose import docstring_prose

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
            "Sends a message to the server.\n\nThis is a note of the server. It goes on in the next line.\n\n"
            "The connection is closed at the end.",
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


def test_a_definition_goes_with_its_term_alone() -> None:
    term = "The first line is here.\n\nterm\n    This is a definition of the term."
    assert docstring_prose(term) == "The first line is here.\n\nThis is a definition of the term."


MARKUP = {
    "Uses the :class:`~a.b.Reader` of :meth:`x.read`.": "Uses the Reader of x.read.",
    "See :ref:`the guide <guide>` and `the site <http://x.y>`_.": "See the guide and the site.",
    "The ``name`` is *always* a **string** with `text`.": "The name is always a string with text.",
    "See the [guide](https://x.y/z) for [`~a.Model.load`].": "See the guide for load.",
    "It is <b>bold</b> and cited [1]_ in the text.": "It is bold and cited in the text.",
    "It takes a torch.nn.Linear or an nn.Module.": "It takes a Linear or an Module.",
    "If `member' is a file of it, the data go.  __": "If member is a file of it, the data go.",
    "Warning: This is not a safe function.": "This is not a safe function.",
    "It has two modes:\n\n- The first one is\n  fast.\n* The second is slow.": (
        "The first one is fast.\n\nThe second is slow."
    ),
    "It is kept.  It ends with a list e.g. the following: a": "It is kept.",
    "": "",
    "\n\n": "",
}


def test_markup_gives_way_to_its_text() -> None:
    assert {docstring: docstring_prose(docstring) for docstring in MARKUP} == MARKUP
