"""Calls to devices."""

import msgspec

from tripline.http.context.base import Call
from tripline.services.rpc.calls import Calls
from tripline.services.rpc.mounting import Mounter


class Rpc(msgspec.Struct, frozen=True, kw_only=True):
    """The parts that call devices."""

    calls: Calls
    mounter: Mounter


def rpc_of(request: Call) -> Rpc:
    """Return the parts that call devices."""
    rpc: Rpc = request.app.state["rpc"]
    return rpc
