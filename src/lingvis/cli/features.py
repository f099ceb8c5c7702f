"""`lingvis features`: pictures -> stored vectors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

if TYPE_CHECKING:
    from lingvis.data.detections import DetectionsManifest

app = App(name="features", help="Turn pictures into stored features and detections, once.")


@app.command
def extract(
    dataset: Path,
    /,
    *,
    backbone: str = "efficientnet-lite0",
    kind: Literal["global", "grid", "region"] = "grid",
    regions: Literal["crop", "pooled"] = "pooled",
    detections: str | None = None,
    skip_broken: bool = False,
    batch_size: int = 32,
    name: str | None = None,
    device: str | None = None,
    ray: Annotated[list[str] | None, Parameter(consume_multiple=(0, 1), negative="")] = None,
    json: bool = False,
) -> None:
    """Extract features of all pictures of a dataset; resumes an interrupted extraction.

    Parameters
    ----------
    dataset: Path
        The dataset folder.
    backbone: str
        efficientnet-lite0, -lite1, -lite2, timm:NAME or open_clip:ARCH/PRETRAINED.
    kind: str
        global: one vector per picture; grid: one per grid cell; region: one per region of the rows or of `features detect`.
    regions: str
        For kind region. crop: encode each box as a picture; pooled: average the grid cells that it covers.
    detections: str
        For kind region: name of the detections to use instead of the regions of the rows.
    skip_broken: bool
        List and leave out pictures that cannot be decoded, instead of stopping.
    batch_size: int
        Number of pictures per pass of the backbone.
    name: str
        Name of the feature folder; BACKBONE-KIND by default.
    device: str
        cpu or cuda; a GPU is used when there is one.
    ray: list[str]
        Spread the work over a Ray cluster: this machine alone, or with an address (auto, HOST:PORT, ray://HOST:PORT).
    json: bool
        Print the manifest as JSON.
    """
    from lingvis.cli.output import print_json
    from lingvis.data.dataset import Dataset
    from lingvis.features.extract import extract as run
    from lingvis.ray.cluster import connected
    from lingvis.ray.extraction import ClusterEncoder

    opened = Dataset.open(dataset)
    with connected(ray) as cluster:
        store = run(
            opened,
            backbone=backbone,
            kind=kind,
            regions=regions,
            detections=detections,
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
    print(f"{store.path}: {len(store.names)} pictures, {store.offsets[-1]} vectors of {store.dim} dimensions")
    for broken in store.manifest.broken:
        print(f"  broken, left out: {broken.image}: {broken.reason}")


@app.command
def detect(
    dataset: Path,
    /,
    *,
    detector: str,
    labels: Path | None = None,
    score: float = 0.3,
    most: int = 36,
    batch_size: int = 8,
    name: str = "regions",
    force: bool = False,
    json: bool = False,
) -> None:
    """Detect objects in all pictures of a dataset; resumes an interrupted run.

    Parameters
    ----------
    dataset: Path
        The dataset folder.
    detector: str
        tflite:FILE, onnx:FILE, torchvision:FILE, classifier:BACKBONE, coco:FILE, bottom-up:FILE or regions:FILE.
    labels: Path
        File of class names, if the detector's file has none: one name per line, or JSON with COCO's categories.
    score: float
        Leave out regions with a lower score.
    most: int
        Number of regions to keep per picture, the best ones.
    batch_size: int
        Number of pictures per pass of the detector.
    name: str
        Name of the folder below detections/; features and pseudo captions use `regions` by default.
    force: bool
        Replace detections that were made in another way.
    json: bool
        Print the manifest as JSON.
    """
    from lingvis.cli.output import print_json
    from lingvis.data.dataset import Dataset
    from lingvis.features.detect import detect as run

    made = run(
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
        print_json(made.model_dump(mode="json"))
        return
    _print_detections(dataset / "detections" / name, made)


@app.command
def join(
    dataset: Path,
    /,
    *detections: str,
    name: str,
    wordnet: Path | None = None,
    most: int = 36,
    force: bool = False,
    json: bool = False,
) -> None:
    """Join detections: all regions of the first, and labels that only the others have.

    Parameters
    ----------
    dataset: Path
        The dataset folder.
    detections: str
        Names of the folders below detections/, such as `regions global`.
    name: str
        Name of the folder for the result.
    wordnet: Path
        Folder of WordNet's files; a label that nobody writes gets a general name as well, "Saluki dog".
    most: int
        Number of regions to keep per picture, the best ones.
    force: bool
        Replace detections that were made in another way.
    json: bool
        Print the manifest as JSON.
    """
    from lingvis.cli.output import print_json
    from lingvis.data.dataset import Dataset
    from lingvis.pseudo.join import join as run

    made = run(Dataset.open(dataset), detections, name=name, wordnet=wordnet, most=most, force=force)
    if json:
        print_json(made.model_dump(mode="json"))
        return
    _print_detections(dataset / "detections" / name, made)


def _print_detections(folder: Path, made: DetectionsManifest) -> None:
    print(f"{folder}: {made.regions} regions in {made.pictures} pictures, none in {made.empty} of them")
    frequent = [f"{label} {count}" for label, count in list(made.labels.items())[:10]]
    print(f"  {len(made.labels)} labels: {', '.join(frequent)}{' ...' if len(made.labels) > 10 else ''}")
    for broken in made.broken:
        print(f"  broken, without regions: {broken.image}: {broken.reason}")


@app.command
def labels(
    dataset: Path,
    /,
    *,
    dictionary: Annotated[list[str] | None, Parameter(negative="")] = None,
    lang: Annotated[list[str] | None, Parameter(consume_multiple=True, negative="")] = None,
    detections: str | None = None,
    json: bool = False,
) -> None:
    """Write the tables that translate labels, labels/LANG.csv, for pseudo captions in other languages.

    Existing lines of a table are kept, so that you can correct it; new labels are added.

    Parameters
    ----------
    dataset: Path
        The dataset folder.
    dictionary: list[str]
        LANG=FILE, a dictionary from English into the language, from FreeDict or MUSE; repeat it for each language.
    lang: list[str]
        The languages; all of the dataset by default.
    detections: str
        Name of the detections whose labels are translated.
    json: bool
        Print JSON.
    """
    from lingvis.cli.output import print_json, print_table
    from lingvis.data.dataset import Dataset
    from lingvis.pseudo.label_tables import translate_labels

    tables = translate_labels(
        Dataset.open(dataset), dictionaries=dictionary or [], languages=lang, detections=detections
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
