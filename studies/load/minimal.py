"""The least that a server in Python can do: a product with the same matrix, JSON of the same size, stored thumbnails.

It detects no language, encodes no words, reads no rows, checks no token, and limits nobody.

python -m studies.load.minimal --port 8000 --workers 2, with the collection in STUDY_COLLECTION
"""

from __future__ import annotations

import argparse
import os
import socket
import zlib

import numpy as np
import uvicorn
from fastapi import FastAPI
from starlette.responses import JSONResponse, Response
from uvicorn.supervisors import Multiprocess

from lingvis.collection.collection import Collection
from lingvis.collection.stores.records import Filter
from lingvis.collection.stores.scan import VectorScan

COLLECTION = "STUDY_COLLECTION"  # the environment variable with its address
SHOWN = 1000  # pictures that all answers are about
PAGE = 1000


def make_app() -> FastAPI:
    """The handler over the collection that the environment names."""
    store = Collection.open(os.environ[COLLECTION]).store
    ids = [file.id for file in store.files()]
    stored = [store.vectors(ids[begin : begin + PAGE]) for begin in range(0, len(ids), PAGE)]
    vectors = np.stack([vector for page in stored for vector in page.values()]).astype(np.float16)
    scan = VectorScan(vectors)
    infos = store.browse(k=SHOWN, where=Filter())
    records = [info.to_json() for info in infos]
    thumbnails = {info.id: store.thumbnail(info.id) for info in infos}
    app = FastAPI()

    @app.get("/api/health")
    async def health() -> dict[str, str]:
        return {"status": "ok"}

    @app.get("/api/search")
    async def search(q: str, k: int) -> Response:
        query = vectors[zlib.crc32(q.encode()) % len(vectors)].astype(np.float32)
        rows, scores = scan.best(query, k)
        order = np.argsort(-scores)[:k]
        hits = [
            {"rank": rank, "score": round(float(scores[place]), 6), "confidence": None}
            | records[int(rows[place]) % len(records)]
            for rank, place in enumerate(order, start=1)
        ]
        return JSONResponse({"k": k, "offset": 0, "hits": hits})

    @app.get("/api/items/{id}/thumbnail")
    async def thumbnail(id: str) -> Response:
        return Response(thumbnails[id], media_type="image/jpeg")

    return app


def serve() -> None:
    """Serve with some processes on one port."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--workers", type=int, default=1)
    args = parser.parse_args()
    config = uvicorn.Config(
        "studies.load.minimal:make_app",
        factory=True,
        workers=args.workers,
        access_log=False,
        log_level="error",
    )
    server = uvicorn.Server(config)
    # A socket of several processes of uvicorn does not name its protocol; then asyncio lets the system hold back the end of
    # an answer for 40 ms.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", args.port))
        if args.workers == 1:
            server.run(sockets=[listening])
        else:
            Multiprocess(config, sockets=[listening]).run()


if __name__ == "__main__":
    serve()
