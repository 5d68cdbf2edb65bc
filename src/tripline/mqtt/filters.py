"""Topic filters: their validity, and the topic names they match (standard, 4.7)."""


def fault(wanted: str) -> tuple[str, str] | None:
    """The filter's fault and the statement it breaks; None if it is well-formed."""
    if not wanted:
        return "is empty", "MQTT-4.7.3-1"
    *above, last = wanted.split("/")
    if any("#" in level for level in above) or ("#" in last and last != "#"):
        return "has a # that is not the whole of its last level", "MQTT-4.7.1-2"
    if any("+" in level and level != "+" for level in (*above, last)):
        return "has a + beside other characters in a level", "MQTT-4.7.1-3"
    return None


def matches(wanted: str, topic: str) -> bool:
    """True if the filter matches the topic name."""
    # [MQTT-4.7.3-4] no normalisation: levels are compared as they are.
    parts, levels = wanted.split("/"), topic.split("/")
    if topic.startswith("$") and parts[0] in ("+", "#"):
        return False  # [MQTT-4.7.2-1]
    if parts[-1] == "#":
        parts.pop()
        levels = levels[: len(parts)]
    return len(parts) == len(levels) and all(part in ("+", level) for part, level in zip(parts, levels, strict=True))
