"""The table of licences: packages that are not permissive, and the extras that install them."""

from __future__ import annotations

from studies.licences import ALWAYS, EXEMPTIONS, PERMISSIVE
from studies.tables.markdown import table


def licence_table() -> str:
    """Every exemption with its extras and its reason, then the licences that are accepted everywhere."""
    rows = [
        [
            f"`{exemption.package}`",
            exemption.licence,
            ", ".join("any" if extra == ALWAYS else f"`{extra}`" for extra in exemption.extras),
            exemption.reason,
        ]
        for exemption in EXEMPTIONS
    ]
    accepted = ", ".join(sorted(PERMISSIVE, key=str.lower))
    return (
        table(["package", "licence", "extras", "remark"], rows, left=4)
        + f"\n\nAccepted everywhere: {accepted}."
    )
