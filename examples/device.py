"""A device in forty lines: answers calls, sends a drive second by second, the trip that it was, and an event.

It needs Python 3.11 and aiomqtt; docs/devices.md says what everything means.

    DEVICE_TOKEN=... python3 device.py localhost 9900 tripline-data/tls/ca.crt 60
"""

import asyncio
import json
import os
import random
import sys
import time

import aiomqtt

ME = "v1/sensors/me/"
HOST, PORT, CA, SECONDS = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])


def now_ms():
    return time.time_ns() // 1_000_000


async def send(client, topic, body):
    await client.publish(ME + topic, json.dumps(body), qos=1)  # returns when the platform has kept it


async def drive(client):
    began, tid = now_ms(), int(time.time()) % 100_000
    for second in range(SECONDS):
        here = {"lat": 35.1577 + second * 0.0001, "lon": 129.0591, "alt": 12.5, "sp": 40, "clt": now_ms()}
        await send(client, "tre", {"ty": 2, "ts": now_ms(), "pld": {"tid": tid, **here}})
        await asyncio.sleep(1)
    await send(client, "tre", {"ty": 1, "ts": now_ms(), "pld": {"tid": tid, "stt": began, "edt": now_ms()}})
    await send(client, "tre", {"ty": 104, "ts": now_ms(), "pld": {"tid": tid, "wbv": 11.9}})
    print("drive sent and kept", flush=True)


async def answer(client):
    async for request in client.messages:
        request_id, call = request.topic.value.rpartition("/")[2], json.loads(request.payload)
        await send(client, f"rpc/response/{request_id}", {"result": 2000})
        info = {"vid": call["params"]["vid"]} if call["method"] == "activationReq" else {"sn": "EXAMPLE-1"}
        known = call["method"] in ("activationReq", "serial")
        done = {"result": 2000, "addInfo": info} if known else {"result": 4000}
        await send(client, f"rpc/result/{request_id}", done)


async def main(pause_s=1):
    while True:
        try:
            tls = aiomqtt.TLSParameters(ca_certs=CA)
            async with aiomqtt.Client(HOST, PORT, username=os.environ["DEVICE_TOKEN"], tls_params=tls) as client:
                await client.subscribe(ME + "rpc/request/+", qos=1)
                print("connected", flush=True)
                pause_s = 1
                await asyncio.gather(drive(client), answer(client))
        except aiomqtt.MqttError as error:
            print(f"{error}; connecting again", flush=True)
            await asyncio.sleep(pause_s * random.uniform(0.5, 1))
            pause_s = min(60, pause_s * 2)


asyncio.run(main())
