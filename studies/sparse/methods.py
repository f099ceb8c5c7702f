"""The systems of the sparse-annotation study: those of Table 1 of A3VSE, and the ablations of its Table 5."""

from __future__ import annotations

from studies.method import Method

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
    "no-s": Method("no s", "a3vse", ("pseudo.weight=0",)),
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
