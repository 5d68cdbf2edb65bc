"""Listening to one device on behalf of its maker: `tripline device check`."""
