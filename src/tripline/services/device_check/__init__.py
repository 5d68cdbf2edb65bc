"""Live reports on one device for its maker: `tripline device check`."""
