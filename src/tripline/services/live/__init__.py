"""Live positions of vehicles: kept by whoever takes data in, read by everybody who may see the vehicle."""
