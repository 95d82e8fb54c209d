"""An error is printed as one line with its values truncated, but its advice and its command complete."""

import pickle
import subprocess

import pytest

from ops.errors import LINE_LENGTH, InputError, error_line, shell_word

LONG = "x" * 5_000


def test_a_long_value_is_cut_and_the_advice_is_kept() -> None:
    found = error_line(f"--label {LONG}: the corpus has no such column; it has topic")
    assert len(found) <= LINE_LENGTH + 5
    assert found.startswith("--label xxx")
    assert found.endswith("it has topic")


def test_what_is_of_usual_length_stays() -> None:
    said = f"--label {'x' * 200}: the corpus's documents' labels " + "have words " * 50 + "and 'that' isn't 'this'"
    assert error_line(said) == said


def test_a_line_of_many_values_is_cut_in_the_middle_and_an_error_that_says_nothing_is_named() -> None:
    found = error_line("--label a: " + ", ".join(map(str, range(10_000))) + "; give another")
    assert len(found) <= LINE_LENGTH + 5
    assert (found[:10], found[-14:]) == ("--label a:", "; give another")
    assert error_line(KeyError()) == "KeyError"


def test_a_command_is_never_cut() -> None:
    error = InputError(f"--out {LONG}: is damaged; run", f"atlas topk --out '{LONG}  {LONG}'")
    assert error_line(error).endswith(f" is damaged; run {error.args[1]}")
    assert str(pickle.loads(pickle.dumps(error))) == str(error) == " ".join(error.args)


def test_a_long_word_does_not_push_the_advice_out_of_the_line() -> None:
    advice = "the corpus has no such column; it has " + ", ".join(f"key{number}" for number in range(60))
    assert error_line(f"--label {'x' * 5_000}: {advice}").endswith(advice)


@pytest.mark.parametrize("text", ["plain", "two words", "it's", "tab\there", "a\\tb", "line\nend's \\ \u2028"])
def test_a_quoted_word_is_the_same_word_for_a_shell(text: str) -> None:
    command = ["bash", "-c", f"printf %s {shell_word(text)}"]
    assert subprocess.run(command, capture_output=True, check=True, env={"LC_ALL": "C.UTF-8"}).stdout.decode() == text
