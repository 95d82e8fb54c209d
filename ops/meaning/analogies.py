"""Questions of the form a : b = c : ?, by category (Mikolov 2013), and their answers in a space by three rules."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ops.arrays import Bools, Float64s, Int64s
from ops.errors import InputError
from ops.meaning.spaces import Space
from ops.meaning.words import fold
from ops.storage.small_files import read_small_file

PACKAGED = Path(__file__).parent / "analogies.txt"
ALL = "all"  # the name of all categories together in the tables
_UNNAMED = "questions"
RULES = ("add", "mul", "nearest_c")
ANSWERS = tuple((rule, excluded) for rule in RULES for excluded in (False, True))  # in the order of the table
_EPSILON = 1e-3  # the epsilon of 3CosMul (Levy and Goldberg 2014)
_ROWS = 512  # number of questions answered at once

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


class Judged(NamedTuple):
    """The results of answering questions in one space.

    Attributes:
        known: for each category, whether all four words of each question have a vector, `[questions]`.
        right: for each category, whether each question is answered correctly, `[questions, answers]`, in the order of
            `ANSWERS`; false if the question is not known.
    """

    space: str
    known: dict[str, Bools]
    right: dict[str, Bools]


def answers(space: Space, questions: Int64s) -> Int64s:
    """Return the answers to questions by each rule, with and without the words a, b, c excluded.

    `add`: the x with the highest cos(x, b - a + c), all at length 1 (3CosAdd, Mikolov 2013). `mul`: the x with the
    highest cos(x, b) cos(x, c) / (cos(x, a) + 0.001), with cosines shifted to 0 to 1 (3CosMul, Levy and Goldberg 2014).
    `nearest_c`: the x with the highest cos(x, c), a baseline that ignores a and b.

    Args:
        space: the space.
        questions: the indices of the questions' words in the space, `[questions, 4]`; the fourth word is ignored.

    Returns:
        The indices of the answers in the order of `ANSWERS`, `[questions, answers]`.
    """
    units, parts = space.units, [np.zeros((0, len(ANSWERS)), np.int64)]
    for start in range(0, len(questions), _ROWS):
        given = questions[start : start + _ROWS, :3]
        columns = []
        for scores in _scores(units, given):
            columns.append(scores.argmax(1))
            np.put_along_axis(scores, given, -np.inf, 1)
            columns.append(scores.argmax(1))
        parts.append(np.stack(columns, 1))
    return np.concatenate(parts)


def _scores(units: Float64s, given: Int64s) -> Iterator[Float64s]:
    """Yield the score of each word under each of `RULES`, `[questions, words]`."""
    a, b, c = (units[given[:, i]] @ units.T for i in range(3))
    yield b - a + c  # the length of b - a + c is the same for every x
    yield (1 + b) / 2 * (1 + c) / 2 / ((1 + a) / 2 + _EPSILON)
    yield c


def judge(space: Space, analogies: Analogies, case: str) -> Judged:
    """Return which questions are known in a space, and which of them are answered correctly."""
    places = {word: i for i, word in enumerate(space.words)}
    known, right = {}, {}
    for category, questions in analogies.items():
        rows = [[places.get(fold(word, case), -1) for word in question] for question in questions]
        numbers = np.array(rows, np.int64).reshape(-1, 4)
        known[category] = np.asarray((numbers >= 0).all(1))
        asked = numbers[known[category]]
        right[category] = np.zeros((len(numbers), len(ANSWERS)), bool)
        right[category][known[category]] = answers(space, asked) == asked[:, 3:]
    return Judged(space.name, known, right)
