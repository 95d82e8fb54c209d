"""The errors that name a user's mistake, and their form: one line."""


class InputError(ValueError):
    """The user's input is wrong: one line that names the thing, what was found and what to do (status 2)."""


def one_line(error: BaseException | str, limit: int = 300) -> str:
    """Give an error's message as one line of at most `limit` characters."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= limit else text[: limit - 3] + "..."
