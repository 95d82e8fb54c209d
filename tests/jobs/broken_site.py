"""Faults put into the production engine from outside: a sitecustomize.py that changes what the system calls answer."""

import os
from pathlib import Path

# Counts commits of files over all processes of a run, and makes each take a while; the fault comes once, at the one
# that FAULT_AT names.
SITE = """
import errno, os, signal, time
_replace = os.replace
def replace(source, target, **options):
    if os.environ["FAULT_MATCH"] not in str(target):
        return _replace(source, target, **options)
    time.sleep(float(os.environ["FAULT_PAUSE"]))
    with open(os.environ["FAULT_COUNT"], "ab") as counter:
        counter.write(b".")
        at = counter.tell()
    fault = os.environ["FAULT"] if at == int(os.environ["FAULT_AT"]) else ""
    if fault == "full":
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(target))
    if fault == "killed before":
        os.kill(os.getpid(), 9)
    _replace(source, target, **options)
    if fault == "killed after":
        os.kill(os.getpid(), 9)
os.replace = replace
"""
SHARDS = "_partials/topk/shard-"


def broken_site(folder: Path, fault: str = "", at: int = 0, match: str = SHARDS, pause: float = 0.15) -> dict[str, str]:
    """Return the environment of a run whose `at`-th commit of a file meets a fault.

    Args:
        folder: where sitecustomize.py is put, and the commits are counted.
        fault: `full`, `killed before` or `killed after`; empty for none.
        at: number of the commit, from 1.
        match: what a file's path has in it, to be counted.
        pause: seconds that each of these commits takes, so that there is time for what comes between two.
    """
    (folder / "sitecustomize.py").write_text(SITE)
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    env = {"PYTHONPATH": path, "FAULT": fault, "FAULT_AT": str(at), "FAULT_COUNT": str(folder / "count")}
    return {**env, "FAULT_MATCH": match, "FAULT_PAUSE": str(pause)}
