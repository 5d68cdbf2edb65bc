"""A device's publish explained to the device's maker."""
