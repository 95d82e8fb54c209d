"""Questions of the form a : b = c : ?, by category, in the format of the questions-words file of Mikolov 2013."""

from pathlib import Path

from ops.errors import InputError
from ops.storage.small_files import read_small_file

PACKAGED = Path(__file__).parent / "analogies.txt"
ALL = "all"  # the name of all categories together in the tables
_UNNAMED = "questions"

# For each category, in the order of the file, its questions (a, b, c, d), where d is the answer.
Analogies = dict[str, list[tuple[str, str, str, str]]]


def read_analogies(path: str = "") -> Analogies:
    """Read questions from a file.

    A line `: NAME` begins a category, and every other line has the four words of a question. Empty lines are skipped.

    Args:
        path: a file in UTF-8; empty for the packaged questions.

    Raises:
        InputError: the file cannot be read, a line does not have four words, or there is no question.
    """
    lines = read_small_file("--analogies", path or str(PACKAGED), "cannot be read as UTF-8").splitlines()
    questions: Analogies = {}
    category = _UNNAMED
    for number, line in enumerate(lines, 1):
        words = line.split()
        if line.lstrip().startswith(":"):
            category = line.strip()[1:].strip()
            if not category or category == ALL:
                raise InputError(f"--analogies {path}: line {number}: {category!r} is not the name of a category")
        elif words:
            if len(words) != 4:
                raise InputError(
                    f"--analogies {path}: line {number} has {len(words)} word{'s' if len(words) > 1 else ''}, "
                    f"a question needs four: {line.strip()[:60]!r}"
                )
            a, b, c, d = words
            questions.setdefault(category, []).append((a, b, c, d))
    if not questions:
        raise InputError(f"--analogies {path}: holds no question")
    return questions
