"""The variants of VSE-infinity that its supplement compares on retrieval, and the rows of its tables.

The paper's numbers are R@1 and R@5, image to text and text to image, on the 5-fold 1K test of COCO. Its rows with BERT
are left out, except in Table 1, which has no others: there a BiGRU takes the place of BERT.
"""

from __future__ import annotations

from dataclasses import dataclass

from studies.method import Method

REGION, GRID = "vse_infinity_region", "vse_infinity_grid"


def _both(*values: str) -> tuple[str, ...]:
    """Options of pooling gpo for both sides."""
    return tuple(f"{side}.pooling.{value}" for side in ("image", "text") for value in values)


def _pools(image: str, text: str) -> tuple[str, ...]:
    return f"image.pooling.name={image}", f"text.pooling.name={text}"


NO_DROP, NO_WORDS = "image.augment.name=none", "text.augment.name=none"

# Trained once each, whatever the number of tables that show them.
VARIANTS = {
    "region": Method("GPO on both sides", REGION),
    "mean-last": Method("mean and last state", REGION, _pools("mean", "last")),
    "mean-mean": Method("mean on both sides", REGION, _pools("mean", "mean")),
    "max-max": Method("maximum on both sides", REGION, _pools("max", "max")),
    "kmax-kmax": Method("5-max on both sides", REGION, _pools("kmax", "kmax")),
    "mean-gpo": Method("GPO on sentences", REGION, ("image.pooling.name=mean",)),
    "gpo-last": Method("GPO on pictures, last state", REGION, ("text.pooling.name=last",)),
    "gpo-mean": Method("GPO on pictures, mean", REGION, ("text.pooling.name=mean",)),
    "no-drop": Method("no size augmentation", REGION, (NO_DROP, NO_WORDS)),
    "drop-pictures": Method("size augmentation of pictures", REGION, (NO_WORDS,)),
    "drop-sentences": Method("size augmentation of sentences", REGION, (NO_DROP,)),
    "mean-no-drop": Method(
        "mean, no size augmentation", REGION, (*_pools("mean", "mean"), NO_DROP, NO_WORDS)
    ),
    "transformer": Method("transformer", REGION, _both("decoder=transformer")),
    "mlp": Method("MLP", REGION, _both("decoder=mlp")),
    "interpolate": Method("interpolated", REGION, _both("position=index", "decoder=interpolate")),
    "grid": Method("grid", GRID),
    "grid-transformer": Method("grid, transformer", GRID, _both("decoder=transformer")),
    "per-dimension": Method("weights per dimension", REGION, _both("per_dimension=true")),
    "features": Method("weights from features", REGION, _both("feature_conditioned=true")),
    "random-start": Method("random start", REGION, _both("start=random")),
}

Recalls = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table: its words, its variant, the variant that it is compared with, and the paper's recalls."""

    words: tuple[str, ...]
    variant: str
    against: str = ""
    paper: Recalls | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the supplement; columns: heads of the words of its rows."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]

    def paper_difference(self, row: Row) -> float | None:
        """The paper's sum of recalls minus that of the row that `row` is compared with; None if it has none."""
        other = next((each.paper for each in self.rows if each.variant == row.against), None)
        return None if row.paper is None or other is None else sum(row.paper) - sum(other)


TABLES = {
    1: Table(
        ("pictures", "sentences"),
        (
            Row(("mean", "last state (paper: CLS)"), "mean-last", "region", (67.7, 92.6, 54.8, 85.1)),
            Row(("mean", "mean"), "mean-mean", "region"),
            Row(("maximum", "maximum"), "max-max", "region"),
            Row(("5-max", "5-max"), "kmax-kmax", "region"),
            Row(("mean", "GPO"), "mean-gpo", "region", (71.7, 93.8, 57.5, 87.6)),
            Row(("GPO", "last state (paper: CLS)"), "gpo-last", "region", (73.8, 94.8, 59.2, 88.0)),
            Row(("GPO", "mean"), "gpo-mean", "region"),
            Row(("GPO", "GPO"), "region", paper=(79.7, 96.4, 64.8, 91.4)),
        ),
    ),
    2: Table(
        ("pooling", "size augmentation"),
        (
            Row(("GPO", "none"), "no-drop", "region", (74.6, 95.0, 60.6, 89.1)),
            Row(("GPO", "pictures"), "drop-pictures", "region", (75.4, 95.5, 61.4, 89.5)),
            Row(("GPO", "sentences"), "drop-sentences", "region"),
            Row(("GPO", "both"), "region", paper=(78.5, 96.0, 61.7, 90.3)),
            Row(("mean", "none"), "mean-no-drop", "mean-mean"),
            Row(("mean", "both"), "mean-mean"),
        ),
    ),
    3: Table(
        ("features", "sequence model"),
        (
            Row(("region", "transformer"), "transformer", "region", (77.4, 95.4, 61.4, 90.1)),
            Row(("region", "MLP, each rank alone"), "mlp", "region"),
            Row(("region", "interpolated curve"), "interpolate", "region"),
            Row(("region", "BiGRU"), "region", paper=(78.5, 96.0, 61.7, 90.3)),
            Row(("grid", "transformer"), "grid-transformer", "grid", (76.6, 95.7, 62.7, 90.7)),
            Row(("grid", "BiGRU"), "grid", paper=(78.0, 95.8, 62.6, 90.6)),
        ),
    ),
    7: Table(
        ("weights per dimension",),
        (
            Row(("yes",), "per-dimension", "region", (76.5, 95.9, 61.2, 89.6)),
            Row(("no",), "region", paper=(78.5, 96.0, 61.7, 90.3)),
        ),
    ),
    8: Table(
        ("features to the generator", "start of the weights"),
        (
            Row(("yes", "random"), "features", "random-start", (78.0, 96.2, 61.8, 90.2)),
            Row(("no", "random"), "random-start", paper=(78.5, 96.0, 61.7, 90.3)),
            Row(("no", "leaning to the larger values"), "region", "random-start"),
        ),
    ),
}
