"""The bus consumer: read, place and store customers' messages in batches. Begin with `batches.py`."""
