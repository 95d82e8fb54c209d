"""The errors that name a user's mistake."""


class InputError(ValueError):
    """The user's input is wrong: one line that names the thing, what was found and what to do (status 2)."""
