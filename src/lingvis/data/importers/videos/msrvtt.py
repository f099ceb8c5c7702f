"""MSR-VTT: videos with 20 English sentences each (train_val_videodatainfo.json, MSRVTT_data.json, ...)."""

from __future__ import annotations

from lingvis.data.importers.collect import RowCollector
from lingvis.data.importers.contract import ImportedRows, ImportOptions
from lingvis.data.importers.source import Source, plain_text, split_name
from lingvis.data.importers.videos.names import VideoNames
from lingvis.errors import UserError

SHAPE = '{"videos": [{"video_id": ..., "split": ...}], "sentences": [{"video_id": ..., "caption": ...}]}'


def read(source: Source, options: ImportOptions) -> ImportedRows:
    """Rows from all files of the source: splits from videos[].split, captions from sentences[].caption."""
    files = source.files("*videodatainfo*.json", "*MSRVTT*.json", "*msrvtt*.json")
    if not files:
        raise UserError(
            f"{source.path} has no file *videodatainfo*.json or MSRVTT*.json; name the file itself"
        )
    rows, name = RowCollector(), VideoNames(source, options)
    for file in files:
        try:
            value = source.json(file)
            splits = {
                video["video_id"]: options.split or split_name(video["split"], f"{file.name}, video {number}")
                for number, video in enumerate(value["videos"], start=1)
            }
            for number, sentence in enumerate(value["sentences"], start=1):
                where = f"{file.name}, sentence {number}"
                with rows.collecting():
                    id = plain_text(sentence["video_id"], "video_id", where)
                    if id not in splits:
                        raise UserError(
                            f"{where}: its video_id {id!r} is not among the videos; add the video there"
                        )
                    rows.add(name(id), splits[id], options.language or "en", sentence["caption"], where=where)
        except (KeyError, TypeError, AttributeError) as error:
            raise UserError(
                f"{file} is not an MSR-VTT file, which looks like {SHAPE}; got {error!r}"
            ) from error
    return rows.imported()
