"""The carrier of the devices' lines."""
