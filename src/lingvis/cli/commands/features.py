"""`lingvis features`: pictures -> stored vectors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from cyclopts import App

from lingvis.cli.options import DatasetFolder, Device, Json, Langs, Ray, Switch
from lingvis.printing import print_line

if TYPE_CHECKING:
    from lingvis.data.detections import DetectionsManifest

app = App(name="features", help="Turn pictures into stored feature vectors.")


@app.command
def extract(
    dataset: DatasetFolder,
    /,
    *,
    backbone: str = "efficientnet-lite0",
    kind: Literal["global", "grid", "region", "pixels", "frames"] = "grid",
    regions: Literal["crop", "pooled"] = "pooled",
    detections: str | None = None,
    every: float | None = None,
    skip_broken: Switch = False,
    batch_size: int | None = None,
    name: str | None = None,
    device: Device = None,
    ray: Ray = None,
    json: Json = False,
) -> None:
    """Extract features of all pictures of a dataset; resumes an interrupted extraction.

    Parameters
    ----------
    backbone: str
        efficientnet-lite0, efficientnet-lite1, efficientnet-lite2, timm:NAME or open_clip:ARCH/PRETRAINED.
    kind: str
        global: one vector per picture; grid: one per cell; region: one per detected region; pixels: the decoded
        picture itself, for recipes that train the backbone; frames: one vector per frame of a video.
    regions: str
        For kind region: crop encodes each box as a picture; pooled takes the mean of the grid cells that it covers.
    detections: str
        For kind region: the name of the detections to use instead of the regions of the rows.
    every: float
        For kind frames: the seconds between two frames; by default one frame per scene.
    skip_broken: bool
        Skip and list pictures that cannot be decoded, instead of stopping.
    batch_size: int
        Pictures per pass of the backbone; by default 32 on a CPU and 128 on a GPU.
    name: str
        Name of the feature folder; by default BACKBONE-KIND.
    """
    from lingvis.cli.cluster import connected
    from lingvis.cli.output import print_json
    from lingvis.data.dataset import Dataset
    from lingvis.features.extract import extract as run
    from lingvis.ray.extraction import ClusterEncoder

    opened = Dataset.open(dataset)
    with connected(ray) as cluster:
        store = run(
            opened,
            backbone=backbone,
            kind=kind,
            regions=regions,
            detections=detections,
            every=every,
            skip_broken=skip_broken,
            batch_size=batch_size,
            name=name,
            device=device if cluster is None else "cpu",
            spread=None
            if cluster is None
            else lambda encoder: ClusterEncoder(cluster, encoder, device=device),
        )
    if json:
        print_json(store.manifest.model_dump(mode="json"))
        return
    print_line(
        f"{store.path}: {len(store.names)} pictures, {store.offsets[-1]} vectors of {store.dim} dimensions"
    )
    for broken in store.manifest.broken:
        print_line(f"  broken, left out: {broken.image}: {broken.reason}")


@app.command
def detect(
    dataset: DatasetFolder,
    /,
    *,
    detector: str,
    labels: Path | None = None,
    score: float = 0.3,
    most: int = 36,
    batch_size: int = 8,
    name: str = "regions",
    force: Switch = False,
    json: Json = False,
) -> None:
    """Detect objects in all pictures of a dataset; resumes an interrupted detection.

    Parameters
    ----------
    detector: str
        tflite:FILE, onnx:FILE, torchvision:FILE, classifier:BACKBONE, coco:FILE, bottom-up:FILE or regions:FILE.
    labels: Path
        Names of the classes, if the file of the detector has none: one per line, or JSON with COCO's categories.
    score: float
        Leave out regions with a lower score.
    most: int
        Keep at most N regions per picture, those with the highest scores.
    batch_size: int
        Pictures per pass of the detector.
    name: str
        Name of the folder below detections/; features and pseudo captions use `regions` by default.
    force: bool
        Replace detections that were made with other options.
    """
    from lingvis.cli.output import print_json
    from lingvis.data.dataset import Dataset
    from lingvis.features.detect import detect as run

    manifest = run(
        Dataset.open(dataset),
        detector,
        labels=labels,
        score=score,
        most=most,
        batch_size=batch_size,
        name=name,
        force=force,
    )
    if json:
        print_json(manifest.model_dump(mode="json"))
        return
    _print_detections(dataset / "detections" / name, manifest)


@app.command
def join(
    dataset: DatasetFolder,
    /,
    *detections: str,
    name: str,
    wordnet: Path | None = None,
    most: int = 36,
    force: Switch = False,
    json: Json = False,
) -> None:
    """Join detections: the regions of the first, with additional labels from the others.

    Parameters
    ----------
    detections: str
        Names of the folders below detections/, such as `regions global`.
    name: str
        Name of the folder for the result.
    wordnet: Path
        The folder of WordNet's files: a rare label also gets a general one, as in "Saluki dog".
    most: int
        Keep at most N regions per picture, those with the highest scores.
    force: bool
        Replace detections that were made with other options.
    """
    from lingvis.cli.output import print_json
    from lingvis.data.dataset import Dataset
    from lingvis.pseudo.join import join as run

    manifest = run(Dataset.open(dataset), detections, name=name, wordnet=wordnet, most=most, force=force)
    if json:
        print_json(manifest.model_dump(mode="json"))
        return
    _print_detections(dataset / "detections" / name, manifest)


def _print_detections(folder: Path, manifest: DetectionsManifest) -> None:
    print_line(
        f"{folder}: {manifest.regions} regions in {manifest.pictures} pictures, none in {manifest.empty} of them"
    )
    frequent = [f"{label} {count}" for label, count in list(manifest.labels.items())[:10]]
    print_line(
        f"  {len(manifest.labels)} labels: {', '.join(frequent)}{' ...' if len(manifest.labels) > 10 else ''}"
    )
    for broken in manifest.broken:
        print_line(f"  broken, without regions: {broken.image}: {broken.reason}")


@app.command
def labels(
    dataset: DatasetFolder,
    /,
    *,
    dictionary: list[str] | None = None,
    languages: Langs = None,
    detections: str | None = None,
    json: Json = False,
) -> None:
    """Write labels/LANG.csv, tables that translate labels, for pseudo captions in other languages.

    Existing lines stay unchanged, so that you can correct them; new labels are added.

    Parameters
    ----------
    dictionary: list[str]
        LANG=FILE, a dictionary from English into the language, FreeDict's or MUSE's; once per language.
    detections: str
        The name of the detections whose labels to translate.
    """
    from lingvis.cli.output import print_json, print_table
    from lingvis.data.dataset import Dataset
    from lingvis.pseudo.label_tables import translate_labels

    tables = translate_labels(
        Dataset.open(dataset), dictionaries=dictionary or [], languages=languages, detections=detections
    )
    if json:
        print_json([table.as_json() for table in tables])
        return
    rows = [
        (
            table.lang,
            table.labels,
            table.labels - len(table.missing),
            f"{table.covered:.0%}",
            ", ".join(table.missing[:5]),
        )
        for table in tables
    ]
    print_table(
        f"{dataset / 'labels'}",
        ["language", "labels", "translated", "of all regions", "without, most frequent"],
        rows,
    )
