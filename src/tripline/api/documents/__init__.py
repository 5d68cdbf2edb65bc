"""The published documents, OpenAPI and AsyncAPI, made from the declarations."""
