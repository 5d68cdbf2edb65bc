"""All contexts of an application; a handler takes the one of its family."""

import msgspec

from tripline.http.context.accounts import Accounts
from tripline.http.context.base import Context
from tripline.http.context.fleet import Fleet
from tripline.http.context.lines import Lines
from tripline.http.context.maps import Maps
from tripline.http.context.process import Process
from tripline.http.context.rpc import Rpc
from tripline.http.context.scores import Scores
from tripline.services.imports.limits import ImportLimits
from tripline.services.push.trials import Trials


class Contexts(msgspec.Struct, frozen=True, kw_only=True):
    """Attributes of the application's state that the functions of this folder read."""

    context: Context
    process: Process
    accounts: Accounts
    fleet: Fleet
    rpc: Rpc
    lines: Lines
    scores: Scores
    maps: Maps
    imports: ImportLimits
    trials: Trials
