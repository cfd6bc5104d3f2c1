"""SQL engines over exported Parquet files: DuckDB, Sail (Spark SQL) and ClickHouse (chDB)."""

import os
import socket
import subprocess
import sys
import time
import warnings

# Sail runs driver and workers as threads of one process.
SAIL = {
    "SAIL_MODE": "local-cluster",
    "SAIL_CLUSTER__WORKER_INITIAL_COUNT": "2",
    "SAIL_CLUSTER__WORKER_MAX_COUNT": "2",
}


def end(process):
    """Ends a program that this process started, in a limited time."""
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(10)


def free_port():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return unused.getsockname()[1]


def wait_for(port, process, seconds=60):
    """Waits until a program listens on a port."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if process.poll() is not None:
            raise SystemExit(f"{process.args[0]} ended with {process.returncode}")
        with socket.socket() as asked:
            asked.settimeout(1)
            if asked.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise SystemExit(f"{process.args[0]} does not listen after {seconds} s")


class DuckDb:
    name = "DuckDB"
    dialect = "duckdb"
    micros = "epoch_us(time)"

    def __init__(self, work):
        import duckdb

        self.database = duckdb.connect()
        self.database.execute("SET TimeZone = 'UTC'")
        self.database.execute("SET threads = 2")

    def views(self, sql):
        self.database.execute(sql)

    def rows(self, sql):
        return self.database.execute(sql).fetchall()

    def close(self):
        self.database.close()


class Sail:
    name = "Sail"
    dialect = "spark"
    micros = "unix_micros(time)"

    def __init__(self, work):
        warnings.filterwarnings("ignore", module="pyspark")
        from pyspark.sql import SparkSession

        port = free_port()
        program = os.path.join(os.path.dirname(sys.executable), "sail")
        self.log = open(os.path.join(work, "sail.log"), "ab")
        words = [program, "spark", "server", "--port", str(port)]
        self.server = subprocess.Popen(
            words, stdout=self.log, stderr=self.log, env=os.environ | SAIL | {"TZ": "UTC"}, cwd=work
        )
        try:
            wait_for(port, self.server)
            self.session = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").create()
            self.session.conf.set("spark.sql.session.timeZone", "UTC")
        except BaseException:
            end(self.server)
            raise

    def views(self, sql):
        for statement in sql.split(";\n"):
            if statement.strip():
                self.session.sql(statement)

    def rows(self, sql):
        table = self.session.sql(sql).toArrow()
        return list(zip(*(column.to_pylist() for column in table.columns)))

    def close(self):
        # A client whose server is gone asks it again for minutes.
        try:
            self.session.stop()
        finally:
            end(self.server)
            self.log.close()


class ClickHouse:
    name = "ClickHouse"
    dialect = "clickhouse"
    micros = "toUnixTimestamp64Micro(time)"

    def __init__(self, work):
        from chdb.session import Session

        self.session = Session()
        self.session.query("SET max_threads = 2")

    def views(self, sql):
        self.session.query(sql)

    def rows(self, sql):
        table = self.session.query(sql, "ArrowTable")
        return list(zip(*(column.to_pylist() for column in table.columns)))

    def close(self):
        self.session.close()


ALL = (DuckDb, Sail, ClickHouse)
