"""Servers that tests start by forking: signals to one that has ended."""

import os
import signal
import subprocess
import sys

from tests.support.launcher import Process


def test_signal_to_a_process_that_has_ended_and_of_which_nobody_has_told_yet_is_lost() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    assert ended.wait() == 0
    told, tells = os.pipe()
    process = Process([], ended.pid, told, None)

    process.send_signal(signal.SIGTERM)
    process.kill()

    assert process.returncode is None
    os.write(tells, (0).to_bytes(4))
    os.close(tells)
    assert process.wait(1) == 0
