"""MQTT 3.1.1, the server's side, without I/O: bytes in, events out. Standard library and msgspec records only."""
