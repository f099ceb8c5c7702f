"""The systems of the sparse-annotation study: those of Table 1 of A3VSE, and the ablations of its Table 5."""

from __future__ import annotations

import json
from collections.abc import Sequence

from studies.method import NO_PSEUDO_CAPTIONS, Method

TAGS = "s_g"
SWAPPED = "swap-s_g"
ABLATED = (0.1, 5)  # ablations learn from this share of the images, with this number of captions each


METHODS = {
    "a3vse": Method("A3VSE", "a3vse"),
    "vsepp": Method("VSE++", "vsepp"),
    "vse_infinity_region": Method("VSE-infinity", "vse_infinity_region"),
    "scan_t2i": Method("SCAN t2i", "scan_t2i"),
    TAGS: Method("s_g", ""),
}
ABLATIONS = {
    "no-s": Method("no s", "a3vse", NO_PSEUDO_CAPTIONS),
    SWAPPED: Method("swap s with s_g", "a3vse", ("pseudo.detections={tags}",)),
    "no-attention": Method(
        "without attention", "a3vse", ("image.pooling.name=mean", "text.pooling.name=mean")
    ),
    "no-adversaries": Method("without adversaries", "a3vse", ("terms.domains.weight=0",)),
    "no-intra": Method("without intra", "a3vse", ("terms.domains.intra=[0.0, 0.0]",)),
    "no-cross": Method("without cross", "a3vse", ("terms.domains.cross=[0.0, 0.0]",)),
    "no-transitive": Method("without transitive", "a3vse", ("terms.domains.transitive=[0.0, 0.0]",)),
}
ALL = {**METHODS, **ABLATIONS}


def method_overrides(method: str, shared: Sequence[str], *, tags: str, share: float = 0.0) -> list[str]:
    """The values that the recipe of a method is trained with: the shared ones, then its own.

    A3VSE has no pseudo captions if all pictures are annotated (share 1). Values of pseudo captions are left out for
    methods without them.
    """
    own = [value.format(tags=json.dumps(tags)) for value in ALL[method].overrides]
    if ALL[method].recipe != "a3vse":
        return [*_without_pseudo(shared), *own]
    if share == 1 or set(NO_PSEUDO_CAPTIONS) <= set(own):
        return [*_without_pseudo([*shared, *own]), *NO_PSEUDO_CAPTIONS]
    return [*shared, *own]


def _without_pseudo(values: Sequence[str]) -> list[str]:
    return [value for value in values if not value.startswith("pseudo.")]
