"""Compares what is exported into object stores with what is exported into a local directory.

Arguments: perfset, azurite-blob, a directory for files, and two recordings. The servers run on loopback.
"""

import contextlib
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request

import boto3
from azure.storage.blob import BlobServiceClient

perfset, azurite, work, first, second = sys.argv[1:]
MIB = 1 << 20
# Of azurite's documentation: every azurite has this account.
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
# No name below target or in the environment of the caller is used.
BARE = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "AZURE_", "GOOGLE_"))}


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_for(what, is_there, seconds=60):
    until = time.monotonic() + seconds
    while not is_there():
        assert time.monotonic() < until, f"{what}: not within {seconds} s"
        time.sleep(0.02)


def connects(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


class SlowWay:
    """Connections to a port, which pass few bytes a second to it."""

    def __init__(self, port, bytes_per_second):
        self.to, self.pace, self.passed = port, bytes_per_second, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            server = socket.create_connection(("127.0.0.1", self.to))
            for source, sink, is_up in ((client, server, True), (server, client, False)):
                threading.Thread(target=self.pump, args=(source, sink, is_up), daemon=True).start()

    def pump(self, source, sink, is_up):
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                if is_up:
                    self.passed += len(data)
                    time.sleep(len(data) / self.pace)
                sink.sendall(data)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


class S3:
    scheme, timeout = "s3", "AWS_TIMEOUT"

    def __init__(self):
        self.port = free_port()
        words = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self.port)]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.server = subprocess.Popen(words, env=BARE, cwd=work, **quiet)
        wait_for("moto", lambda: connects(self.port))
        keys = {"aws_access_key_id": "AKIATESTTESTTEST", "aws_secret_access_key": "a-secret-of-tests"}
        endpoint = f"http://127.0.0.1:{self.port}"
        self.client = boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1", **keys)
        self.client.create_bucket(Bucket="bucket")

    def environment(self, port=None, secret="a-secret-of-tests"):
        return BARE | {
            "AWS_ENDPOINT": f"http://127.0.0.1:{port or self.port}",
            "AWS_ALLOW_HTTP": "true",
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "AKIATESTTESTTEST",
            "AWS_SECRET_ACCESS_KEY": secret,
        }

    def names(self):
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket="bucket")
        return [found["Key"] for page in pages for found in page.get("Contents", [])]

    def read(self, name):
        return self.client.get_object(Bucket="bucket", Key=name)["Body"].read()

    def write(self, name, data):
        self.client.put_object(Bucket="bucket", Key=name, Body=data)

    def unfinished(self):
        return len(self.client.list_multipart_uploads(Bucket="bucket").get("Uploads", []))

    @contextlib.contextmanager
    def strict(self):
        """moto refuses everybody, as it knows no user."""
        self.allow("0")
        yield
        self.allow("inf")

    def allow(self, number):
        url = f"http://127.0.0.1:{self.port}/moto-api/reset-auth"
        plain = {"Content-Type": "text/plain"}
        urllib.request.urlopen(urllib.request.Request(url, number.encode(), plain, method="POST")).read()


class Azure:
    scheme, timeout = "az", "AZURE_TIMEOUT"

    def __init__(self):
        self.port = free_port()
        words = [azurite, "--blobHost", "127.0.0.1", "--blobPort", str(self.port)]
        words += ["--location", os.path.join(work, "azurite"), "--silent"]
        words += ["--skipApiVersionCheck", "--disableTelemetry"]
        self.server = subprocess.Popen(words, env=BARE, cwd=work, stdout=subprocess.DEVNULL)
        wait_for("azurite", lambda: connects(self.port))
        url = f"http://127.0.0.1:{self.port}/{ACCOUNT}"
        self.container = BlobServiceClient(url, credential=KEY).create_container("bucket")

    def environment(self, port=None, secret=KEY):
        return BARE | {
            "AZURE_STORAGE_USE_EMULATOR": "true",
            "AZURITE_BLOB_STORAGE_URL": f"http://127.0.0.1:{port or self.port}",
            "AZURE_STORAGE_ACCOUNT_NAME": ACCOUNT,
            "AZURE_STORAGE_ACCOUNT_KEY": secret,
        }

    def names(self):
        return list(self.container.list_blob_names())

    def read(self, name):
        return self.container.download_blob(name).readall()

    def write(self, name, data):
        self.container.upload_blob(name, data, overwrite=True)

    def unfinished(self):
        return len([blob for blob in self.container.list_blobs(include=["uncommittedblobs"]) if blob.size in (0, None)])

    @contextlib.contextmanager
    def strict(self):
        """azurite always checks the key."""
        yield


def run(words, environment=BARE, code=0):
    began = time.monotonic()
    done = subprocess.run([perfset, *map(str, words)], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == code, f"{words}: {done.returncode}: {done.stderr}"
    return done.stderr, time.monotonic() - began


def export(recording, output, environment=BARE, code=0):
    return run(["log", "export", recording, "--to", "parquet", "-o", output], environment, code)


def local_files(lake):
    found = {}
    for folder, folders, names in os.walk(lake):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            path = os.path.join(folder, name)
            found[os.path.relpath(path, lake)] = open(path, "rb").read()
    return found


def equal(store, prefix, lake):
    """Number of objects, which are the files of a directory byte for byte."""
    wanted = local_files(lake)
    start = prefix + "/"
    found = {name.removeprefix(start): store.read(name) for name in store.names() if name.startswith(start)}
    assert found.keys() == wanted.keys(), f"{store.scheme}: {sorted(found.keys() ^ wanted.keys())}"
    for name, data in wanted.items():
        assert found[name] == data, f"{store.scheme}: {name} differs"
    return len(found)


def write_large_log(path):
    """A log whose file is larger than three parts: values that do not compress."""
    columns, rows = 160, 25_000
    number = random.Random(1)
    with open(path, "w") as log:
        names = [f'"\\\\WEB 3\\Memory\\Value {column}"' for column in range(columns)]
        log.write(",".join(['"(PDH-CSV 4.0) (UTC)(0)"', *names]) + "\n")
        for row in range(rows):
            hour, minute, second = row // 3600, row // 60 % 60, row % 60
            values = [f'"{number.random()!r}"' for _ in range(columns)]
            log.write(",".join([f'"11/05/2026 {hour:02}:{minute:02}:{second:02}.000"', *values]) + "\n")


def check_recordings(store):
    """Two recordings, then more samples."""
    url, environment = f"{store.scheme}://bucket/lake/a b", store.environment()
    lake = os.path.join(work, f"lake-{store.scheme}")
    copy = os.path.join(work, f"copy-{store.scheme}")
    shutil.copytree(first, copy)
    for recording in (copy, second):
        export(recording, lake)
        export(recording, url, environment)
    before = equal(store, "lake/a b", lake)
    record = ["sh", "-c", 'hostname web1 && exec "$0" record --dir "$1" 200ms 5', perfset, copy]
    subprocess.run(["unshare", "--uts", *record], env=BARE, check=True, capture_output=True)
    for output, variables in ((lake, BARE), (url, environment)):
        export(copy, output, variables)
        export(copy, output, variables)
    after = equal(store, "lake/a b", lake)
    assert after > before, f"{before} objects, then {after}"
    name = sorted(name for name in store.names() if name.endswith(".parquet"))[0]
    data = store.read(name)
    # Another host's object is not looked at.
    own = copy if "host=web1" in name else second
    store.write(name, data[: len(data) // 2])
    said, _ = export(own, url, environment, 4)
    assert name in said, f"a cut object is not named: {said}"
    store.write(name, data)
    return after


def check_killed_upload(store, log):
    """An export that is killed in the middle of an upload, and repeated."""
    way = SlowWay(store.port, 4 * MIB)
    environment = store.environment(way.port)
    url = f"{store.scheme}://bucket/large"
    words = ["log", "export", log, "--to", "parquet", "-o", url]
    child = subprocess.Popen([perfset, *words], env=environment, stderr=subprocess.DEVNULL)
    # The second part is on its way.
    wait_for("the upload", lambda: way.passed > 9 * MIB, 240)
    child.send_signal(signal.SIGKILL)
    child.wait()
    found = [name for name in store.names() if name.startswith("large/")]
    assert not found, f"a killed upload left {found}"
    left = store.unfinished()
    lake = os.path.join(work, f"large-{store.scheme}")
    export(log, lake)
    export(log, url, store.environment())
    assert equal(store, "large", lake) == 1
    size = sum(map(len, local_files(lake).values()))
    assert size > 17 * MIB, f"the file has {size} bytes, which are too few for three parts"
    return left


def check_recorder(store):
    """A recorder that exports, and one that is killed: the next export has the rest."""
    recording, lake = (os.path.join(work, f"{name}-{store.scheme}") for name in ("exporting", "exported"))
    url, environment = f"{store.scheme}://bucket/recorder", store.environment()
    said, _ = run(["record", "--dir", recording, "--export", url, "mem", "cpu", "50ms", "20"], environment)
    assert "warning" not in said, said
    export(recording, lake)
    ended = equal(store, "recorder", lake)
    words = ["record", "--dir", recording, "--export", url, "mem", "cpu", "50ms"]
    child = subprocess.Popen([perfset, *words], env=environment, stderr=subprocess.DEVNULL)
    # The first export is ten seconds after the start.
    wait_for("the recorder's export", lambda: len([n for n in store.names() if n.startswith("recorder/")]) >= 2 * ended)
    time.sleep(1)
    child.send_signal(signal.SIGKILL)
    child.wait()
    export(recording, url, environment)
    export(recording, os.path.join(work, f"whole-{store.scheme}"))
    copy = os.path.join(work, f"objects-{store.scheme}")
    for name in store.names():
        if name.startswith("recorder/"):
            path = os.path.join(copy, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            open(path, "wb").write(store.read(name))
    # An export after these objects has nothing to add: no sample is missing, and none is there twice.
    before = len(local_files(copy))
    export(recording, os.path.join(copy, "recorder"))
    assert len(local_files(copy)) == before, "samples are missing after a killed recorder"


def check_failures(store):
    """Errors end soon, name the address, and have no credentials."""
    url = f"{store.scheme}://bucket/refused"
    wrong = "V3JvbmdXcm9uZ1dyb25nV3JvbmdXcm9uZw=="
    with store.strict():
        said, took = export(first, url, store.environment(secret=wrong), 4)
    assert url in said and wrong not in said and KEY not in said, said
    assert took < 30, f"{store.scheme}: wrong credentials took {took:.0f} s"
    store.server.send_signal(signal.SIGSTOP)
    said, stopped = export(first, url, store.environment() | {store.timeout: "2s"}, 4)
    store.server.send_signal(signal.SIGCONT)
    assert url in said, said
    assert stopped < 130, f"{store.scheme}: a stopped server took {stopped:.0f} s"
    said, took = export(first, url, store.environment(free_port()), 4)
    assert url in said, said
    assert took < 130, f"{store.scheme}: no server took {took:.0f} s"
    assert not [name for name in store.names() if name.startswith("refused/")]
    return max(stopped, took)


def main():
    log = os.path.join(work, "large.csv")
    write_large_log(log)
    figures = []
    for kind in (S3, Azure):
        store = kind()
        try:
            objects = check_recordings(store)
            left = check_killed_upload(store, log)
            check_recorder(store)
            took = check_failures(store)
        finally:
            store.server.kill()
            store.server.wait()
        left = f"{left} unfinished uploads after a kill"
        figures.append(f"{store.scheme}: {objects} objects, {left}, errors within {took:.0f} s")
    print("; ".join(figures))


main()
