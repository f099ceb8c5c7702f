"""Parts of the map as people write them, for filters."""

from __future__ import annotations

Area = tuple[float, float, float, float]


def parse_area(text: str) -> Area:
    """Parse SOUTH,WEST,NORTH,EAST in degrees; raises ValueError."""
    try:
        south, west, north, east = (float(part) for part in text.split(","))
    except ValueError as error:
        raise ValueError("write four numbers, SOUTH,WEST,NORTH,EAST, such as 47,5,55,15") from error
    if not (-90 <= south <= north <= 90 and -180 <= west <= east <= 180):
        raise ValueError(
            "use degrees from -90 to 90 and -180 to 180, south before north and west before east"
        )
    return south, west, north, east
