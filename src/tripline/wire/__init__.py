"""Every byte format in or out; nothing else knows a wire key."""
