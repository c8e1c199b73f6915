#!/usr/bin/env python3
"""stac_api.py FOLDER: a STAC API over the items of FOLDER/items.json, whose assets lie below FOLDER, on a free port of
loopback, which is printed. It ends with its standard input.

It knows item search by POST with `collections`, `bbox`, `intersects` (by the box around the area), `datetime`, CQL2 JSON of
one comparison, and `limit`, in pages of two items at most; ranges of files; and a signing service. With the environment
variable TOKEN set, everything needs it as a bearer, and files need a signature too."""

import json
import operator
import os
import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

FOLDER = os.path.abspath(sys.argv[1])
TOKEN = os.environ.get("TOKEN")
MOST = 2
COMPARISONS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq}
CONFORMS = ["https://api.stacspec.org/v1.0.0/core", "https://api.stacspec.org/v1.0.0/item-search"]


def search(body, base):
    items = json.load(open(os.path.join(FOLDER, "items.json")))["features"]
    found = [item for item in items if matches(item, body)]
    first = int(body.get("token", 0))
    page = found[first : first + min(int(body.get("limit", 10)), MOST)]
    links = []
    if first + len(page) < len(found):
        following = body | {"token": str(first + len(page))}
        links.append({"rel": "next", "method": "POST", "href": f"{base}/search", "body": following})
    text = json.dumps({"type": "FeatureCollection", "features": page, "links": links})
    return json.loads(text.replace("BASE", base))


def matches(item, body):
    properties = item["properties"]
    if "collections" in body and item["collection"] not in body["collections"]:
        return False
    box = body.get("bbox") or (box_of(body["intersects"]) if "intersects" in body else None)
    if box:
        west, south, east, north = item["bbox"]
        if west > box[2] or east < box[0] or south > box[3] or north < box[1]:
            return False
    if "datetime" in body:
        begin, end = body["datetime"].split("/")
        if (begin != ".." and properties["datetime"] < begin) or (end != ".." and properties["datetime"] > end):
            return False
    if "filter" in body:
        compare, (field, value) = COMPARISONS[body["filter"]["op"]], body["filter"]["args"]
        return compare(properties[field["property"]], value)
    return True


def box_of(area):
    numbers = [float(n) for n in re.findall(r"-?[0-9.]+", json.dumps(area["coordinates"]))]
    return min(numbers[::2]), min(numbers[1::2]), max(numbers[::2]), max(numbers[1::2])


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.may() and urlsplit(self.path).path == "/search":
            self.tell(search(body, self.base()))

    def do_GET(self):
        place = urlsplit(self.path)
        query = parse_qs(place.query)
        if not self.may():
            return
        if place.path == "/":
            links = [{"rel": "search", "method": "POST", "href": f"{self.base()}/search"}]
            self.tell({"type": "Catalog", "stac_version": "1.0.0", "id": "api", "description": "all", "links": links, "conformsTo": CONFORMS})
        elif place.path == "/sign":
            self.tell({"href": query["href"][0] + "?sig=1"})
        elif TOKEN and query.get("sig") != ["1"]:
            self.answer(403, b"not signed")
        else:
            self.file(os.path.normpath(os.path.join(FOLDER, unquote(place.path).lstrip("/"))))

    do_HEAD = do_GET

    def may(self):
        if TOKEN and self.headers.get("Authorization") != f"Bearer {TOKEN}":
            self.answer(401, b"no token")
            return False
        return True

    def file(self, path):
        if not path.startswith(FOLDER) or not os.path.isfile(path):
            return self.answer(404, b"")
        body = open(path, "rb").read()
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if not asked:
            return self.answer(200, body)
        first, last = int(asked[1]), min(int(asked[2] or len(body)), len(body) - 1)
        self.answer(206, body[first : last + 1], {"Content-Range": f"bytes {first}-{last}/{len(body)}"})

    def tell(self, document):
        self.answer(200, json.dumps(document).encode(), {"Content-Type": "application/geo+json"})

    def answer(self, status, body, headers={}):
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(body)), "Accept-Ranges": "bytes"} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def base(self):
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()
