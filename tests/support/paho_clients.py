"""paho-mqtt's network thread, ended whole."""

import paho.mqtt.client as paho


def stop(client: paho.Client) -> None:
    """End its thread, and close the sockets that paho leaves to whoever collects it: some time, or with a warning."""
    client.loop_stop()
    client._reset_sockets()
