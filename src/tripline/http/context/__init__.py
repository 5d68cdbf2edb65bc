"""The contexts of handlers: the parts of the program that each family may use."""
