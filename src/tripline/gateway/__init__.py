"""The device door: connections between the network, MQTT and the pipeline."""
