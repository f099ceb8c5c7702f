"""Rows of pictures and moments: of new contents, and of contents that are stored under another path."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import datetime

from lingvis.collection.stores.records import Item, PictureInfo
from lingvis.collection.writer.found import ScannedFile
from lingvis.collection.writer.workers import EncodedPicture


def new_item(file: ScannedFile, picture: EncodedPicture) -> Item:
    """Return the row of a file that was encoded; its date is when it was taken or, if unknown, when the file was changed."""
    facts = picture.facts
    info = PictureInfo(
        id=picture_id(file.path, facts.second),
        path=file.path,
        hash=facts.hash,
        size=file.size,
        mtime_ns=file.mtime_ns,
        width=facts.width,
        height=facts.height,
        format=facts.format,
        date=facts.camera.taken or _changed(file.mtime_ns),
        camera=facts.camera.camera,
        latitude=facts.camera.latitude,
        longitude=facts.camera.longitude,
        signature=facts.signature,
        second=facts.second,
        duration=facts.duration,
    )
    return Item(info, picture.embedding, facts.thumbnail)


def moved_item(item: Item, file: ScannedFile) -> Item:
    """Return the row of one file for another file with the same content: the same as if this one were encoded."""
    info = item.info
    moved = replace(
        info,
        id=picture_id(file.path, info.second),
        path=file.path,
        size=file.size,
        mtime_ns=file.mtime_ns,
        date=_changed(file.mtime_ns) if info.date == _changed(info.mtime_ns) else info.date,
    )
    return replace(item, info=moved)


def _changed(mtime_ns: int) -> datetime:
    return datetime.fromtimestamp(mtime_ns // 10**9)


def picture_id(path: str, second: float | None = None) -> str:
    """Return the id of the picture at a real path, or of the moment of a video; its first moment has the id of the path."""
    return path_key(f"{path}\0{second:.3f}" if second else path).hex()


def path_key(path: str) -> bytes:
    """Return 16 bytes that stand for a path; in hexadecimal they are the id of its picture."""
    return hashlib.blake2b(path.encode(), digest_size=16).digest()
