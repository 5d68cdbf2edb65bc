"""The HTTP listeners, by uvicorn over httptools, with bounds for their peers."""
