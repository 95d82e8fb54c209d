"""What holds for the records of all formats together."""

import subprocess
import sys
from collections import Counter

from ops.sources.formats import FORMATS, format_of
from tests.conftest import ROOT


def test_a_kind_and_a_suffix_belong_to_one_format() -> None:
    assert [format_of(one.kind) for one in FORMATS] == list(FORMATS)
    named = Counter(suffix for one in FORMATS for suffix in one.suffixes)
    assert set(named.values()) == {1}
    assert all(suffix.startswith(".") and suffix == suffix.lower() for suffix in named)
    assert all(one.told_by for one in FORMATS)


def test_listing_the_formats_imports_nothing_heavy() -> None:
    program = "import sys; from ops.sources.formats import FORMATS; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not {"numpy", "pyarrow", "datasets", "huggingface_hub"} & set(loaded.stdout.split())
