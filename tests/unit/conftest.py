"""What tests of several folders share."""

from tests.unit.hub import running_hub

__all__ = ["running_hub"]
