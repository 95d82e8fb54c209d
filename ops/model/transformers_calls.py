"""Calls of transformers: without its progress bars and reports, and with errors in one line that names the model."""

from collections.abc import Iterator
from contextlib import contextmanager

from ops.errors import InputError, one_line

HELP = "use a local directory with config.json, weights and tokenizer, or --model sample"


class ModelError(InputError):
    """Raised if a model is refused; the message has the reason, before which `naming` puts the model's name."""


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Name the model in each `ModelError` that is raised inside the `with`."""
    try:
        yield
    except ModelError as error:
        raise InputError(f"--model {name}: {error}") from error


@contextmanager
def refusing(what: str, advice: str = "") -> Iterator[None]:
    """Turn all errors inside the `with`, except those that are already meant for the user, into a `ModelError`.

    Args:
        what: what failed, such as `cannot be loaded`; the error's own message follows in parentheses.
        advice: what to do, at the end of the line.
    """
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        own_code = "it needs code of its own, which is never run (trust_remote_code is off)"
        why = own_code if "trust_remote_code" in str(error) else one_line(error)
        raise ModelError(f"{what} ({why})" + (f"; {advice}" if advice else "")) from error


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Keep transformers from printing progress bars and reports inside the `with`."""
    import transformers

    level = transformers.logging.get_verbosity()
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    try:
        yield
    finally:
        transformers.logging.set_verbosity(level)
