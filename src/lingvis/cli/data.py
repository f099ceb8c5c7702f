"""`lingvis data`: import and inspect datasets."""

from __future__ import annotations

from pathlib import Path

from cyclopts import App

app = App(name="data", help="Import and inspect datasets.")


@app.command(name="import")
def import_(
    format: str,
    source: Path,
    dataset: Path,
    /,
    *,
    images: Path | None = None,
    lang: str | None = None,
    split: str | None = None,
    force: bool = False,
    json: bool = False,
) -> None:
    """Import captions and pictures into a dataset folder, completely or not at all.

    Parameters
    ----------
    format: str
        karpathy, multi30k, coco, xtd10, precomp, liwe, table or sidecar.
    source: Path
        The file or folder to import.
    dataset: Path
        The dataset folder to make.
    images: Path
        Folder of the pictures, if they are not beside the source.
    lang: str
        Language of the captions, if the source does not state it.
    split: str
        train, val or test, if the source does not state it.
    force: bool
        Replace a dataset folder that was made from another source.
    json: bool
        Print JSON.
    """
    from lingvis.cli.output import print_json
    from lingvis.data.importers import import_dataset
    from lingvis.features.store import write_store

    result = import_dataset(
        format,
        source,
        dataset,
        images=images,
        language=lang,
        split=split,
        force=force,
        write_features=write_store,
    )
    if json:
        print_json({"changed": result.changed, "images": len(result.dataset.rows), "notes": result.notes})
        return
    for note in result.notes:
        print(f"note: {note}")
    state = "written" if result.changed else "up to date"
    print(
        f"{dataset}: {state}, {len(result.dataset.rows)} images, languages: {', '.join(result.dataset.languages)}"
    )


@app.command
def show(dataset: Path, /, *, sheet: Path | None = None, json: bool = False) -> None:
    """Count images, captions, words and vocabularies by language and split; draw a contact sheet.

    Parameters
    ----------
    dataset: Path
        The dataset folder.
    sheet: Path
        Write sample pictures with their captions to this PNG file.
    json: bool
        Print JSON instead of a table.
    """
    from lingvis.cli.output import print_json
    from lingvis.data.dataset import Dataset
    from lingvis.data.show import describe, to_text
    from lingvis.text.segment import words

    opened = Dataset.open(dataset)
    description = describe(opened, words)
    if json:
        print_json(description.as_json())
    else:
        print(to_text(description))
    if sheet is not None:
        from lingvis.data.sheet import contact_sheet

        contact_sheet(opened, sheet)


@app.command
def scenes(dataset: Path, /, *, count: int = 3000, seed: int = 0, json: bool = False) -> None:
    """Make the built-in demo scenes: composed pictures with captions in 14 languages, determined by a seed.

    Parameters
    ----------
    dataset: Path
        The dataset folder to make.
    count: int
        Number of scenes.
    seed: int
        Seed of the scenes; another seed gives other scenes.
    json: bool
        Print JSON.
    """
    from lingvis.cli.output import print_json
    from lingvis.data.scenes import make_scenes

    made = make_scenes(dataset, scenes=count, seed=seed)
    if json:
        print_json({"images": len(made.rows), "languages": made.languages})
    else:
        print(f"{dataset}: {len(made.rows)} scenes, languages: {', '.join(made.languages)}")
