"""The systems of the sparse-annotation study: those of Tables 1 and 2 of A3VSE, and the ablations of its Table 5."""

from __future__ import annotations

import json
from collections.abc import Sequence

from studies.method import NO_PSEUDO_CAPTIONS, Method
from studies.sparse.forms import FORMS, NO_ADVERSARIES

TAGS = "s_g"
SWAPPED = "swap-s_g"
REGIONS = "regions"
ABLATED = (0.1, 5)  # ablations learn from this share of the images, with this number of captions each
WHOLE = (1.0, 5)  # all annotations
PATIENT = ("training.patience=6",)  # cost the baselines nothing where it was tried; A3VSE has none
# A training before A3VSE's own, whose weights it starts from, as in FORMS; empty: it starts at random.
FIRST: tuple[str, ...] = ()

METHODS = {
    "a3vse": Method("A3VSE", "a3vse", first=FIRST),
    "vsepp": Method("VSE++", "vsepp", PATIENT),
    "vse_infinity_region": Method("VSE-infinity", "vse_infinity_region", PATIENT),
    "scan_t2i": Method("SCAN t2i", "scan_t2i", PATIENT),
    "dpc": Method("DPC", "dpc", PATIENT),
    "dan": Method("DAN", "dan", PATIENT),
    TAGS: Method("s_g", ""),
}
ABLATIONS = {
    name: Method(label, "a3vse", overrides, FIRST)
    for name, (label, overrides) in {
        "no-s": ("no s", NO_PSEUDO_CAPTIONS),
        SWAPPED: ("swap s with s_g", ("pseudo.detections={tags}",)),
        REGIONS: ("s of the regions alone", ('pseudo.detections=""',)),
        "no-attention": ("without attention", ("image.pooling.name=mean", "text.pooling.name=mean")),
        "no-adversaries": ("without adversaries", (NO_ADVERSARIES,)),
        "no-intra": ("without intra", ("terms.domains.intra=[0.0, 0.0]",)),
        "no-cross": ("without cross", ("terms.domains.cross=[0.0, 0.0]",)),
        "no-transitive": ("without transitive", ("terms.domains.transitive=[0.0, 0.0]",)),
    }.items()
}
ALL = {**METHODS, **ABLATIONS}
SYSTEMS = {**ALL, **FORMS}


def ablations_of(shared: Sequence[str]) -> list[str]:
    """The ablations that differ from A3VSE: without other detections, its pseudo captions are of the regions alone."""
    other = any(value.startswith("pseudo.detections=") for value in shared)
    return [method for method in ABLATIONS if other or method != REGIONS]


def starts_from_another(method: str, *, share: float) -> bool:
    """Whether a training comes before; without pseudo captions there are no adversaries to be spared first."""
    return bool(SYSTEMS[method].first) and not _without_captions(method, share)


def method_overrides(method: str, shared: Sequence[str], *, tags: str, share: float = 0.0) -> list[str]:
    """The values that the recipe of a method is trained with: the shared ones, then its own.

    A3VSE has no pseudo captions if all pictures are annotated (share 1). Values of pseudo captions are left out for
    methods without them.
    """
    system = SYSTEMS[method]
    own = [value.replace("{tags}", json.dumps(tags)) for value in system.overrides]
    if system.recipe != "a3vse":
        return [*_without_pseudo(shared), *own]
    if _without_captions(method, share):
        return [*_without_pseudo([*shared, *own]), *system.first, *NO_PSEUDO_CAPTIONS]
    return [*shared, *own]


def _without_captions(method: str, share: float) -> bool:
    return share == 1 or set(NO_PSEUDO_CAPTIONS) <= set(SYSTEMS[method].overrides)


def _without_pseudo(values: Sequence[str]) -> list[str]:
    return [value for value in values if not value.startswith("pseudo.")]
