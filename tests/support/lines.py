"""A carrier and the lines of one company's devices, over REST."""

from dataclasses import dataclass, field
from itertools import count
from typing import Any

from sqlalchemy import select

from tests.support.rest import Login, Rest
from tripline.domain.access import Authority
from tripline.store.tables import push_outbox

MDN = "01012345678"
IMEI = "356938035643809"
ACTIONS = "/api/carrier/v1/actions"
UNPAUSE = "/api/tre/v1_4/carrier/unpause"


@dataclass
class Scene:
    """A carrier's account, an operator that wants class 600, and its administrator."""

    app: Rest
    carrier: Login
    admin: Login
    _numbers: Any = field(default_factory=lambda: count(1))

    def action(self, type_: str, **said: Any) -> dict[str, Any]:
        """An action of the line `MDN` with a number of its own."""
        return {"actionId": f"action-{next(self._numbers)}", "type": type_, "mdn": MDN, **said}

    async def act(self, type_: str, **said: Any) -> dict[str, Any]:
        """The outcome of an action that must be done, without its number."""
        answer = await self.app.post(self.carrier, ACTIONS, self.action(type_, **said))
        (outcome,) = answer["outcomes"]
        assert outcome.pop("outcome") == "DONE"
        del outcome["actionId"]
        return {"sensor": outcome["sensorId"]["id"], "nwStatus": outcome["nwStatus"]}

    async def refused(self, type_: str, **said: Any) -> tuple[int, int, str]:
        """HTTP status, errorCode and message of an action that must be refused."""
        status, code, message = await self.app.refused(self.carrier, "POST", ACTIONS, self.action(type_, **said))
        return status, code, message

    async def opened(self, **said: Any) -> str:
        """The sensor of a new line."""
        opening = {"imei": IMEI, "companyId": self.admin.company_id, "imsi": "450081", "iccid": "8982", **said}
        return (await self.act("OPENING", subscription="PLAN", **opening))["sensor"]

    async def sensor(self, sensor_id: str) -> dict[str, Any]:
        """The record as its company reads it."""
        return await self.app.get(self.admin, f"/sensor/{sensor_id}")

    async def unpause(self, login: Login | None = None, mdn: str = MDN) -> Any:
        """The answer to a request to lift the pause of the line."""
        return await self.app.call(login or self.admin, "POST", UNPAUSE, {"mdn": mdn})

    async def pushed(self) -> list[tuple[str, str, bytes]]:
        """Receiver, sensor and body of the messages in the outbox, oldest first."""
        columns = (push_outbox.c.company_id, push_outbox.c.sensor_id, push_outbox.c.body)
        rows = await self.app.store.read(lambda tx: tx.all(select(*columns).order_by(push_outbox.c.no)))
        return [tuple(row) for row in rows]


async def scene(app: Rest, **fields: Any) -> Scene:
    """A carrier and an operator company."""
    carrier, admin = await (_logins(app, **fields) if fields else app.staged(_logins))
    return Scene(app, carrier, admin)


async def _logins(app: Rest, **fields: Any) -> tuple[Login, Login]:
    _, admin = await app.operator("ace", **{"notifyHost": "http://n.example/", "notifyMsgType": "600", **fields})
    return await app.account("net@carrier.example", Authority.CARRIER), admin
