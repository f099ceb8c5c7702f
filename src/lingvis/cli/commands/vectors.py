"""`lingvis vectors`: word vectors for recipes that start from them."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter
from cyclopts.validators import Number

from lingvis.cli.options import Count, DatasetFolder, Json, Langs, Seed
from lingvis.printing import print_line

if TYPE_CHECKING:
    from lingvis.text.vectors.run import VectorsResult

app = App(name="vectors", help="Train word vectors on the captions, or import published ones.")

Size = Annotated[int, Parameter(validator=Number(gte=1, lte=4096))]


@app.command
def train(
    dataset: DatasetFolder,
    /,
    *,
    name: str = "captions",
    dim: Size = 300,
    epochs: Count | None = None,
    languages: Langs = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Train subword vectors on the training captions and the text-only sentences, once.

    Parameters
    ----------
    name: str
        Name of the folder below DATASET/vectors.
    dim: int
        Size of a vector.
    epochs: int
        Passes over the sentences; by default 3 to 15, fewer for more sentences.
    seed: int
        Seed of the training.
    """
    from lingvis.text.vectors.run import train as run

    _print(run(dataset, name=name, dim=dim, epochs=epochs, languages=languages or [], seed=seed), json)


@app.command
def align(
    dataset: DatasetFolder,
    /,
    *,
    source: str = "captions",
    name: str = "aligned",
    space: str = "en",
    json: Json = False,
) -> None:
    """Rotate the vectors of all languages into the space of one, by dictionaries induced from the captions.

    Parameters
    ----------
    source: str
        Name of the word vectors to rotate, below DATASET/vectors.
    name: str
        Name of the folder for the rotated ones.
    space: str
        The language whose space the others are rotated into.
    """
    from lingvis.cli.output import print_json
    from lingvis.text.alignment.common_space import align_vectors

    found = align_vectors(dataset, source=source, name=name, space=space)
    if json:
        rotations = {lang: asdict(each) for lang, each in found.rotations.items()}
        print_json({**_as_json(found.result), "rotations": rotations})
        return
    _print(found.result, False)
    for lang, each in found.rotations.items():
        print_line(
            f"  {lang}: rotated by {each.pairs} pairs of words; {each.accuracy:.1f} % of held-out ones are right"
        )


@app.command(name="import")
def import_(
    dataset: DatasetFolder,
    name: str,
    /,
    *files: str,
    dim: Size | None = None,
    json: Json = False,
) -> None:
    """Import the vectors of the dataset's words from published files: fastText .vec and .bin, word2vec text, .gz.

    Parameters
    ----------
    name: str
        Name of the folder below DATASET/vectors.
    files: str
        LANG=FILE per language, such as de=cc.de.300.vec.gz fr=cc.fr.300.bin.
    dim: int
        Reduce the vectors of each language to this size by PCA.
    """
    from lingvis.text.vectors.run import import_ as run

    _print(run(dataset, name=name, files=_pairs(files), dim=dim), json)


@app.command
def show(dataset: DatasetFolder, /, *, json: Json = False) -> None:
    """List the stored word vectors of a dataset.

    Parameters
    ----------
    """
    from lingvis.cli.output import print_json, print_table
    from lingvis.data.dataset import captions_file
    from lingvis.text.vectors.store import VECTORS, WordVectors, names

    captions_file(dataset)  # raises if this is not a dataset
    stored = [WordVectors.open(dataset / VECTORS / name) for name in names(dataset)]
    if json:
        print_json({vectors.path.name: vectors.manifest.model_dump(mode="json") for vectors in stored})
        return
    if not stored:
        print_line(f"{dataset} has no word vectors; make some with: lingvis vectors train {dataset}")
    for vectors in stored:
        print_table(
            f"{vectors.path.name}: {vectors.dim} dimensions",
            ["language", "words", "without a vector", "source"],
            [
                (lang, entry.words, entry.missing, entry.origin.source)
                for lang, entry in vectors.manifest.languages.items()
            ],
        )


def _pairs(files: tuple[str, ...]) -> dict[str, Path]:
    from lingvis.errors import UserError

    pairs: dict[str, Path] = {}
    for text in files:
        lang, sign, file = text.partition("=")
        if not (lang and sign and file) or lang in pairs:
            raise UserError(
                f"got {text!r}; name each language once, as LANG=FILE, such as de=cc.de.300.vec.gz"
            )
        pairs[lang] = Path(file)
    if not pairs:
        raise UserError("no files to import; name them as LANG=FILE, such as de=cc.de.300.vec.gz")
    return pairs


def _as_json(result: VectorsResult) -> dict[str, Any]:
    manifest = result.vectors.manifest
    return {"changed": result.changed, **manifest.model_dump(mode="json", exclude_none=True)}


def _print(result: VectorsResult, json: bool) -> None:
    from lingvis.cli.output import print_json

    manifest = result.vectors.manifest
    if json:
        print_json(_as_json(result))
        return
    state = "written" if result.changed else "up to date; delete the folder to make it again"
    print_line(f"{result.vectors.path}: {state}; {manifest.dim} dimensions")
    for lang, entry in manifest.languages.items():
        without = f", {entry.missing} without a vector" if entry.missing else ""
        print_line(f"  {lang}: {entry.words} words{without}")
