"""Explains a device's answer to a call: acknowledgement or result, its code, the names it used (spec/rpc 4).

Not here: checking that the call exists (`services/rpc/answers.py`).
"""

from collections.abc import Iterator
from typing import Any

from tripline.wire import rpc
from tripline.wire.device import body as device_body
from tripline.wire.explanation import words
from tripline.wire.explanation.words import Finding, Sort
from tripline.wire.readings import RpcAnswer


def findings(answer: RpcAnswer) -> Iterator[Finding]:
    """Yield the findings about the answer."""
    said = rpc.said(answer.body)
    kind = "result" if answer.is_result else "acknowledgement"
    code = "no code" if said.code is None else f"code {said.code}, {_meaning(said.code)}"
    yield Finding(Sort.READ, "", f"{kind} of the call {answer.request_id}: {code}")
    decoded = device_body.decode("", answer.body)
    if isinstance(decoded, str):
        yield Finding(Sort.NOTE, "", f"the body is no JSON object: kept as sent; {_without_code(answer)}")
        return
    if said.code is None:
        yield Finding(Sort.DROPPED, "result", f"there is no whole number in `result`; {_without_code(answer)}")
    yield from _names(decoded.fields, said.code)


def _without_code(answer: RpcAnswer) -> str:
    if answer.is_result:
        return "without a code the call counts as failed: send 2000 in `result` for success"
    return "the call is acknowledged all the same"


def _meaning(code: int) -> str:
    if 2000 <= code < 3000:
        return "success"
    return "the device cannot do it" if 4000 <= code < 5000 else "no code of success"


def _names(fields: dict[str, Any], code: int | None) -> Iterator[Finding]:
    for key, documented in (("results", "result"), ("resultCode", "result"), ("additionalInfo", "addInfo")):
        if fields.get(key) is not None and fields.get(documented) is None:
            yield Finding(Sort.ALIAS, key, f"understood as `{documented}`, the documented name")
    sent = next((fields[key] for key in ("result", "results", "resultCode") if isinstance(fields.get(key), str)), None)
    if sent is not None and code is not None:
        yield Finding(Sort.COERCED, "result", f"{words.shown(sent)} read as the number {code}")
