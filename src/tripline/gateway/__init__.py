"""The device listener: connections between the network, MQTT and the pipeline."""
