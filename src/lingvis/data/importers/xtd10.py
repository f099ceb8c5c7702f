"""XTD10 (Aggarwal and Kale, 2020): 1,000 COCO pictures with one sentence per language, line-aligned."""

from __future__ import annotations

from lingvis.data.importers.collect import RowCollector
from lingvis.data.importers.contract import ImportedRows, ImportOptions
from lingvis.data.importers.source import Source, bare_name, language_code
from lingvis.errors import UserError

PREFIX = "test_1kcaptions_"
# The Japanese sentences are STAIR captions, written from the picture; the others are translations.
WRITTEN_FROM_PICTURE = {"ja"}


def read(source: Source, options: ImportOptions) -> ImportedRows:
    """Rows from test_image_names.txt and test_1kcaptions_XX.txt, in the folder or its subfolders (MIC/, STAIR/, ...)."""
    if source.path.is_file():
        raise UserError(f"{source.path} is a file; xtd10 needs the folder with test_image_names.txt")
    names = source.lines(source.one_file("**/test_image_names.txt"))
    sentences: dict[str, list[str]] = {}
    for file in source.files(f"**/{PREFIX}*.txt"):
        lang = language_code(bare_name(file).removeprefix(PREFIX).removesuffix(".txt"), file.name)
        lines = source.lines(file)
        if len(lines) != len(names):
            raise UserError(f"{file} has {len(lines)} lines for {len(names)} image names; it may be cut off")
        if sentences.setdefault(lang, lines) != lines:
            raise UserError(f"{source.path} has two different files for {lang}; keep one of them")
    if not sentences:
        raise UserError(f"{source.path} has no {PREFIX}XX.txt; name the XTD10 folder")
    rows = RowCollector()
    split = options.split or "test"
    for number, name in enumerate(names):
        where = f"line {number + 1}"
        translations = {
            lang: lines[number] for lang, lines in sentences.items() if lang not in WRITTEN_FROM_PICTURE
        }
        with rows.collecting():
            rows.add_parallel(name, split, translations, where=where)
            for lang in sentences.keys() & WRITTEN_FROM_PICTURE:
                rows.add(name, split, lang, sentences[lang][number], where=where)
    return rows.imported()
