"""The bus consumer: customers' messages are read, placed and kept in batches. `batches.py` is its list of contents."""
