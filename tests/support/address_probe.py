"""Run as `python -m tests.support.address_probe DATA HOST` inside a network namespace: starts a server on the address
and prints, as JSON, where it says REST is and what health answers on loopback and on that address.
"""

import json
import ssl
import sys
from pathlib import Path

import httpx

from tests.support import servers


def main(data: str, host: str) -> None:
    """One server, three questions."""
    with servers.serving(Path(data), f"--host={host}") as server:
        trusted = ssl.create_default_context(cafile=str(server.ca))
        port = server.api.rpartition(":")[2]
        with httpx.Client(verify=trusted, timeout=10) as http:
            answers = {
                "api": server.api.rpartition(":")[0],
                "here": http.get(f"https://127.0.0.1:{port}/health/ready").status_code,
                "there": http.get(f"{server.api}/health/ready").status_code,
            }
    print(json.dumps(answers))


if __name__ == "__main__":
    main(*sys.argv[1:])
