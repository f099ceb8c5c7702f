"""`lingvis features`: pictures -> stored vectors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter

app = App(name="features", help="Turn pictures into stored feature vectors, once.")


@app.command
def extract(
    dataset: Path,
    /,
    *,
    backbone: str = "efficientnet-lite0",
    kind: Literal["global", "grid", "region"] = "grid",
    regions: Literal["crop", "pooled"] = "pooled",
    skip_broken: bool = False,
    batch_size: int = 32,
    name: str | None = None,
    device: str | None = None,
    ray: Annotated[list[str] | None, Parameter(consume_multiple=(0, 1), negative="")] = None,
    json: bool = False,
) -> None:
    """Extract features of all pictures of a dataset; goes on where an interrupted extraction stopped.

    Parameters
    ----------
    dataset: Path
        The dataset folder.
    backbone: str
        efficientnet-lite0, -lite1, -lite2, timm:NAME or open_clip:ARCH/PRETRAINED.
    kind: str
        One vector a picture, one a grid cell, or one a region of the dataset's `regions`.
    regions: str
        For kind region: run each box as a picture of its own, or pool the grid cells it covers.
    skip_broken: bool
        List and leave out pictures that cannot be decoded, instead of stopping.
    batch_size: int
        Pictures that pass the backbone together.
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
    from lingvis.scale.cluster import connected
    from lingvis.scale.extraction import ClusterEncoder

    opened = Dataset.open(dataset)
    with connected(ray) as cluster:
        store = run(
            opened,
            backbone=backbone,
            kind=kind,
            regions=regions,
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
