"""Packs the files of a directory as a zip archive or a wheel: archive.py FOLDER FILE LEVEL.

The time of the files is SOURCE_DATE_EPOCH. A directory with a file WHEEL also gets the list RECORD of a wheel.
"""

import base64
import hashlib
import os
import sys
import time
import zipfile

folder, target, level = sys.argv[1:]
when = time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))[:6]


def add(archive, name, data, mode):
    entry = zipfile.ZipInfo(name, when)
    entry.external_attr = (0o100000 | mode) << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(entry, data, compresslevel=int(level))


record, own = [], None
with zipfile.ZipFile(target, "w") as archive:
    for place, folders, names in sorted(os.walk(folder)):
        for name in sorted(names):
            path = os.path.join(place, name)
            below = os.path.relpath(path, folder)
            with open(path, "rb") as file:
                data = file.read()
            add(archive, below, data, os.stat(path).st_mode & 0o777)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{below},sha256={digest},{len(data)}")
            if below.endswith(".dist-info/WHEEL"):
                own = below.replace("/WHEEL", "/RECORD")
    if own:
        record.append(f"{own},,")
        add(archive, own, "\n".join(record) + "\n", 0o644)
