"""CPU seconds that a run tells of: those of the processes that tests start count, too."""

import os
import subprocess
import sys

from tests.support import spent

BURN = "import time\nwhile time.process_time() < 0.2: pass\nprint(flush=True)\ninput()"


def test_seconds_are_those_of_whatever_a_process_started_while_it_runs_and_after_it():
    before = spent.seconds(os.getpid())
    with subprocess.Popen([sys.executable, "-c", BURN], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdout.readline()
        while_it_runs = spent.seconds(os.getpid())
        process.stdin.write(b"\n")

    # System and user time are each rounded down to ticks of 10 ms.
    assert while_it_runs - before >= 0.17
    assert spent.seconds(os.getpid()) >= while_it_runs
